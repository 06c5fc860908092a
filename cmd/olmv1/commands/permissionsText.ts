import type { JudgedRule, PermissionOutcome } from "../../../pkg/permissions/judgePermissions.ts";
import { describePermissionDecision } from "../../../pkg/permissions/permissionDecision.ts";
import type { PermissionPreview } from "../../../pkg/preview/permissionPreview.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { isEmptyRules } from "../../../pkg/rbac/ruleSets.ts";
import { describePolicyGap } from "../../../pkg/rollout/extensionPermissions.ts";
import { describeRisk, listRisks, placeJudgedRules } from "../../../pkg/rollout/placedRules.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { wrapText } from "../cli/columns.ts";
import type { Terminal } from "../cli/terminal.ts";
import { formatGrants, formatPlacedRules } from "./grantedPermissions.ts";

type Screen = Pick<Terminal, "width">;

/** Explains the verb that stands for several ones in formatted rules. */
export const MANAGE_NOTE = '"manage" means create, get, list, watch, patch and delete';

/** Formats the risk classes of rules, one line each; none without risk classes. */
export function formatRisks(screen: Screen, judged: readonly JudgedRule[]): string[] {
  return listRisks(judged).flatMap((risk) => wrapLine(screen, describeRisk(risk), "  "));
}

/** Wraps untrusted text. */
export function wrapLine(screen: Screen, text: string, indent = ""): string[] {
  return wrapText(escapeControlCharacters(text), screen.width, indent);
}

const ADDED: readonly (readonly [PermissionOutcome, string])[] = [
  ["Granted", "Added, without approval:"],
  ["Pending", "Added, after approval:"],
  ["Denied", "Added, but the policy denies it:"],
];

/** Formats how the permissions of an extension change with a bundle. Ends with what permission-manager would do. */
export function formatPreview(screen: Screen, { policy, account, ...decision }: PermissionPreview, name: string): string[] {
  const { added, removed } = decision;
  const isSame = added.length === 0 && isEmptyRules(removed);
  const head = `Permissions of ServiceAccount ${account.namespace}/${account.name} with PermissionPolicy ${policy.name}`;
  return [
    ...wrapLine(screen, isSame ? `${head}: no change` : `${head} (${MANAGE_NOTE}):`),
    ...ADDED.flatMap(([outcome, title]) => {
      const rules = added.filter((one) => one.outcome === outcome);
      return rules.length === 0 ? [] : [title, ...toLines(formatPlacedRules(screen, placeJudgedRules(rules, outcome === "Denied")))];
    }),
    ...(isEmptyRules(removed) ? [] : ["Removed when the new bundle is healthy:", ...formatRemoved(screen, removed)]),
    ...withTitle("Risks:", formatRisks(screen, added)),
    ...[...describePolicyGap(policy), ...describePermissionDecision(decision)].flatMap((text) => wrapLine(screen, text)),
    // Commands are not wrapped, so that users can copy them.
    ...(decision.state === "Pending" ? [`  approve after the request: olmv1 permissions approve ${name}`] : []),
  ];
}

function formatRemoved(screen: Screen, rules: RequiredRules): string[] {
  return toLines(formatGrants(screen, rules, "olmv1 rbac prints all"));
}

/** Returns lines with a title; none without lines. */
export function withTitle(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** Splits text that ends with a line end into lines. */
export function toLines(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
