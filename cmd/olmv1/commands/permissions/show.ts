import type { ExtensionPermissions, PermissionChange } from "../../../../pkg/api/extensionPermissions.ts";
import { formatAge } from "../../../../pkg/golang/time.ts";
import { readExtensionPermissions } from "../../../../pkg/rollout/extensionPermissions.ts";
import {
  describeApproval,
  describePermissionsState,
  judgeGranted,
  type PermissionsView,
  readPermissionsView,
} from "../../../../pkg/rollout/permissionsView.ts";
import { placeJudgedRules, placeStatusRules } from "../../../../pkg/rollout/placedRules.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { withCluster } from "../../cli/cluster.ts";
import type { ReleaseOptions } from "../../cli/options.ts";
import { type ObjectOutputOptions, print, toPrintableObject } from "../../cli/output.ts";
import { type Detail, formatDetails, formatTableLines } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { formatPlacedRules } from "../grantedPermissions.ts";
import { formatRisks, MANAGE_NOTE, toLines, withTitle } from "../permissionsText.ts";

/** Options of `olmv1 permissions show`. */
export interface ShowPermissionsOptions extends ReleaseOptions, ObjectOutputOptions {}

/** Runs `olmv1 permissions show`. */
export async function showPermissions(terminal: Terminal, name: string, options: ShowPermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const permissions = await readExtensionPermissions(client, name);
    const isText = options.output === "text";
    const view = isText ? await readPermissionsView(client, permissions) : undefined;
    await print(terminal, options.output, {
      data: toPrintableObject(permissions, options),
      text: () => (view ? formatPermissions(terminal, view, options.systemNamespace, Date.now()) : ""),
    });
  });
}

/** Formats permissions: their state, the rules by outcome, and how they changed. @param now milliseconds since the epoch */
export function formatPermissions(
  terminal: Pick<Terminal, "width" | "colour">,
  view: PermissionsView,
  systemNamespace: string,
  now: number,
): string {
  const { permissions } = view;
  const { pending = [], denied = [], history = [] } = permissions.status ?? {};
  const granted = judgeGranted(view, systemNamespace);
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

function listDetails(permissions: ExtensionPermissions, now: number): Detail[] {
  const { metadata, spec, status = {} } = permissions;
  const { name } = metadata;
  const { state, conditions, policy, namespace, serviceAccount, access, bundle, ruleCount = 0, broadCount = 0 } = status;
  const requested = spec?.bundle;
  const message = conditions?.[0]?.message;
  const isOther = requested !== undefined && requested.name !== bundle?.name;
  return [
    ["Name", name],
    ["State", describePermissionsState(status)],
    ["Message", message],
    ["Policy", policy],
    ["Namespace", namespace],
    ["Service account", serviceAccount],
    ["Access", access === "ReadOnly" ? "ReadOnly: write permissions only while something is changed" : access],
    ["Bundle", bundle && `${bundle.name} (version ${bundle.version}) of catalog ${bundle.catalog}`],
    ["Requested", isOther ? `${requested.name} (version ${requested.version}) of catalog ${requested.catalog}` : undefined],
    ["Rules", `${formatCount(ruleCount, "rule")}, ${broadCount} of them with a risk class`],
    ["Approval", describeApproval(permissions)],
    ["Approve", state === "Pending" ? `olmv1 permissions approve ${name}` : undefined],
    ["Revoke", status.approvedDigest === undefined ? undefined : `olmv1 permissions revoke ${name}`],
    ["Age", formatAge(metadata.creationTimestamp, now)],
  ];
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
