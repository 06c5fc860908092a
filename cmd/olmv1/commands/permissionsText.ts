import type { JudgedRuleStatus } from "../../../pkg/api/extensionPermissions.ts";
import type { JudgedRule, PermissionOutcome } from "../../../pkg/permissions/judgePermissions.ts";
import type { PermissionDecision } from "../../../pkg/permissions/permissionDecision.ts";
import type { RiskLevel } from "../../../pkg/permissions/riskClasses.ts";
import type { PermissionPreview } from "../../../pkg/preview/permissionPreview.ts";
import type { PolicyRule } from "../../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { isEmptyRules } from "../../../pkg/rbac/ruleSets.ts";
import type { FoundPolicy } from "../../../pkg/rollout/extensionPermissions.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { wrapText } from "../cli/columns.ts";
import type { Terminal } from "../cli/terminal.ts";
import { formatGrants, formatPlacedRules, type PlacedRule } from "./grantedPermissions.ts";

type Screen = Pick<Terminal, "width">;

/** Explains the verb that stands for several ones in formatted rules. */
export const MANAGE_NOTE = '"manage" means create, get, list, watch, patch and delete';

const LEVELS: Readonly<Record<RiskLevel, string>> = { RootEquivalent: "root-equivalent", Broad: "broad" };

/** Returns rules in a status with their risk class and reason as notes. */
export function placeStatusRules(rules: readonly JudgedRuleStatus[]): PlacedRule[] {
  return rules.map(({ namespace = "", risk, reason, ...rule }) => ({
    namespace,
    rule: rule as PolicyRule,
    note: risk === undefined ? reason : `${risk}: ${reason}`,
  }));
}

/** Returns decided rules with their risk class as note, and optionally the field of the policy that decides. */
export function placeJudgedRules(judged: readonly JudgedRule[], withField = false): PlacedRule[] {
  return judged.map(({ namespace, rule, risk, field }) => {
    const notes = [...(withField ? [field] : []), ...(risk ? [risk.name] : [])];
    return { namespace, rule, ...(notes.length > 0 ? { note: notes.join(", ") } : {}) };
  });
}

/** Formats the risk classes of rules, one line each; none without risk classes. */
export function formatRisks(screen: Screen, judged: readonly JudgedRule[]): string[] {
  const risks = new Map(judged.flatMap(({ risk }) => (risk ? [[risk.name, risk] as const] : [])));
  return [...risks.values()].flatMap(({ name, level, reason }) => wrapLine(screen, `${name} (${LEVELS[level]}): a holder ${reason}`, "  "));
}

/** Wraps untrusted text. */
export function wrapLine(screen: Screen, text: string, indent = ""): string[] {
  return wrapText(escapeControlCharacters(text), screen.width, indent);
}

/** Formats a note about policy default if it does not exist; none otherwise. */
export function listPolicyNotes({ name, exists }: Pick<FoundPolicy, "name" | "exists">): string[] {
  if (exists) return [];
  return [`PermissionPolicy ${name} does not exist; permission-manager then uses its flag --default-grant, which is Guarded by default`];
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
    ...[...listPolicyNotes(policy), ...describeDecision(decision)].flatMap((text) => wrapLine(screen, text)),
    // Commands are not wrapped, so that users can copy them.
    ...(decision.state === "Pending" ? [`  approve after the request: olmv1 permissions approve ${name}`] : []),
  ];
}

function formatRemoved(screen: Screen, rules: RequiredRules): string[] {
  return toLines(formatGrants(screen, rules, "olmv1 rbac prints all"));
}

/** Describes what permission-manager would do. */
function describeDecision({ state, problem, pending, denied, added }: PermissionDecision): string[] {
  if (problem !== undefined) return [`The policy denies the bundle: ${problem}`];
  if (state === "Denied") return [`The policy denies ${formatCount(denied.length, "rule")}, so nothing would be granted`];
  if (state === "Granted") return added.length === 0 ? [] : ["permission-manager would grant them without approval"];
  return [`${formatCount(pending.length, "rule")} would wait for approval, and the installed bundle would keep its permissions`];
}

/** Returns lines with a title; none without lines. */
export function withTitle(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** Splits text that ends with a line end into lines. */
export function toLines(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
