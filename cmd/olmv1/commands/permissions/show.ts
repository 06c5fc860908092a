import type { ClusterExtension } from "../../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE } from "../../../../pkg/api/constants.ts";
import type { ExtensionPermissions, PermissionChange } from "../../../../pkg/api/extensionPermissions.ts";
import { formatAge } from "../../../../pkg/golang/time.ts";
import { rulesFromDetails } from "../../../../pkg/operatorcontroller/permissions/permissions.ts";
import { type JudgedRule, judgePermissions } from "../../../../pkg/permissions/judgePermissions.ts";
import { describeInstalledSubject } from "../../../../pkg/permissions/riskSubject.ts";
import type { RequiredRules } from "../../../../pkg/rbac/requiredRules.ts";
import { readCurrentRules, readExtensionPermissions } from "../../../../pkg/rollout/extensionPermissions.ts";
import { buildExtensionRef } from "../../../../pkg/rollout/extensions.ts";
import { parseInventoryRef } from "../../../../pkg/rollout/inventory.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { withCluster } from "../../cli/cluster.ts";
import type { ReleaseOptions } from "../../cli/options.ts";
import { type ObjectOutputOptions, print, toPrintableObject } from "../../cli/output.ts";
import { type Detail, formatDetails, formatTableLines } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { formatPlacedRules } from "../grantedPermissions.ts";
import { formatRisks, MANAGE_NOTE, placeJudgedRules, placeStatusRules, toLines, withTitle } from "../permissionsText.ts";
import { formatState } from "./list.ts";

/** Options of `olmv1 permissions show`. */
export interface ShowPermissionsOptions extends ReleaseOptions, ObjectOutputOptions {}

/** Permissions with the rules that the extension has. */
export interface PermissionsView {
  readonly permissions: ExtensionPermissions;
  /** The extension; undefined if it does not exist. Its inventory determines the risk of the rules. */
  readonly extension: ClusterExtension | undefined;
  readonly rules: RequiredRules;
}

/** Runs `olmv1 permissions show`. */
export async function showPermissions(terminal: Terminal, name: string, options: ShowPermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const permissions = await readExtensionPermissions(client, name);
    const isText = options.output === "text";
    const extension = isText ? await client.get<ClusterExtension>(buildExtensionRef(name)) : undefined;
    const rules = isText ? await readCurrentRules(client, permissions) : rulesFromDetails([]);
    await print(terminal, options.output, {
      data: toPrintableObject(permissions, options),
      text: () => formatPermissions(terminal, { permissions, extension, rules }, options.systemNamespace, Date.now()),
    });
  });
}

/** Formats permissions: their state, the rules by outcome, and how they changed. @param now milliseconds since the epoch */
export function formatPermissions(
  terminal: Pick<Terminal, "width" | "colour">,
  { permissions, extension, rules }: PermissionsView,
  systemNamespace: string,
  now: number,
): string {
  const { pending = [], denied = [], history = [] } = permissions.status ?? {};
  const granted = judgeGranted(permissions, extension, rules, systemNamespace);
  const parts = [
    toLines(formatDetails(terminal, listDetails(permissions, now))),
    [`Granted rules (${MANAGE_NOTE}):`, ...toLines(formatPlacedRules(terminal, placeJudgedRules(granted)))],
    withTitle("Risks:", formatRisks(terminal, granted)),
    pending.length === 0 ? [] : ["Rules that wait for approval:", ...toLines(formatPlacedRules(terminal, placeStatusRules(pending)))],
    denied.length === 0 ? [] : ["Rules that the policy denies:", ...toLines(formatPlacedRules(terminal, placeStatusRules(denied)))],
    formatHistory(terminal, history, now),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

/** Returns the granted rules with their risk classes. */
function judgeGranted(
  { status }: ExtensionPermissions,
  extension: ClusterExtension | undefined,
  rules: RequiredRules,
  systemNamespace: string,
): JudgedRule[] {
  const objects = extension?.status?.inventory?.objects ?? [];
  const place = { installNamespace: status?.namespace ?? "", systemNamespace };
  return judgePermissions(rules, { grant: "Automatic" }, describeInstalledSubject(objects.map(parseInventoryRef), place));
}

function listDetails({ metadata, spec, status = {} }: ExtensionPermissions, now: number): Detail[] {
  const { name } = metadata;
  const { state, conditions, policy, namespace, serviceAccount, access, bundle, ruleCount = 0, broadCount = 0 } = status;
  const requested = spec?.bundle;
  const message = conditions?.[0]?.message;
  const isOther = requested !== undefined && requested.name !== bundle?.name;
  return [
    ["Name", name],
    ["State", formatState(status)],
    ["Message", message],
    ["Policy", policy],
    ["Namespace", namespace],
    ["Service account", serviceAccount],
    ["Access", access === "ReadOnly" ? "ReadOnly: write permissions only while something is changed" : access],
    ["Bundle", bundle && `${bundle.name} (version ${bundle.version}) of catalog ${bundle.catalog}`],
    ["Requested", isOther ? `${requested.name} (version ${requested.version}) of catalog ${requested.catalog}` : undefined],
    ["Rules", `${formatCount(ruleCount, "rule")}, ${broadCount} of them with a risk class`],
    ["Approval", describeApproval(metadata.annotations?.[ANNOTATION_APPROVE], status)],
    ["Approve", state === "Pending" ? `olmv1 permissions approve ${name}` : undefined],
    ["Revoke", status.approvedDigest === undefined ? undefined : `olmv1 permissions revoke ${name}`],
    ["Age", formatAge(metadata.creationTimestamp, now)],
  ];
}

function describeApproval(
  approval: string | undefined,
  { state, pendingDigest, approvedDigest }: NonNullable<ExtensionPermissions["status"]>,
): string | undefined {
  if (!approval) return undefined;
  if (state === "Pending" && approval !== pendingDigest) return `${approval}: lapsed, because the rules changed`;
  return approval === approvedDigest ? approval : `${approval}: permission-manager has not used it`;
}

function formatHistory(screen: Pick<Terminal, "width">, history: readonly PermissionChange[], now: number): string[] {
  if (history.length === 0) return [];
  const rows = history.map(({ time, reason, bundle = "", added, removed }) => [
    `${formatAge(time, now)} ago`,
    reason,
    bundle,
    `+${added} -${removed}`,
  ]);
  return ["History:", ...formatTableLines([["WHEN", "CHANGE", "BUNDLE", "RULES"], ...rows], screen.width - 2).map((line) => `  ${line}`)];
}
