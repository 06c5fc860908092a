import type { ExtensionPermissions } from "../../../../pkg/api/extensionPermissions.ts";
import type { JudgedRule } from "../../../../pkg/permissions/judgePermissions.ts";
import { hasApproval } from "../../../../pkg/rollout/changes.ts";
import { readExtensionPermissions, writeApproval } from "../../../../pkg/rollout/extensionPermissions.ts";
import { findApprovedRules } from "../../../../pkg/rollout/permissionsView.ts";
import { placeJudgedRules } from "../../../../pkg/rollout/placedRules.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import type { ReleaseOptions } from "../../cli/options.ts";
import { confirm, suggestNext, type Terminal } from "../../cli/terminal.ts";
import { formatPlacedRules } from "../grantedPermissions.ts";
import { MANAGE_NOTE, toLines, wrapLine } from "../permissionsText.ts";

/** Options of `olmv1 permissions revoke`. */
export interface RevokePermissionsOptions extends ReleaseOptions {
  yes?: boolean;
}

/** Runs `olmv1 permissions revoke`. */
export async function revokePermissions(terminal: Terminal, name: string, options: RevokePermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const permissions = await readExtensionPermissions(client, name);
    if (!hasApproval(permissions)) {
      terminal.err(`no permissions of ClusterExtension ${name} are approved\n`);
      return terminal.exit(EXIT.no);
    }
    const approved = await findApprovedRules(client, permissions, options.systemNamespace);
    terminal.err(formatRevocation(terminal, permissions, approved));
    if (!(await confirm(terminal, "Revoke the approval?", options.yes))) return (terminal.err("not revoked\n"), terminal.exit(EXIT.no));
    await writeApproval(client, permissions, null);
    terminal.out(`ExtensionPermissions ${name}: approval revoked\n`);
    return suggestNext(terminal, `olmv1 permissions show ${name} shows its permissions`);
  });
}

/** Formats what a revocation takes away. @param approved undefined if it is unknown */
export function formatRevocation(
  screen: Pick<Terminal, "width">,
  { metadata: { name } }: ExtensionPermissions,
  approved: readonly JudgedRule[] | undefined,
): string {
  const loss =
    approved === undefined
      ? "the extension loses the permissions that it only has by approval"
      : approved.length === 0
        ? "the extension has no permissions by approval"
        : `the extension loses these permissions, which the policy does not grant (${MANAGE_NOTE}):`;
  const head = wrapLine(screen, `ExtensionPermissions ${name}: ${loss}`);
  const rules = approved && approved.length > 0 ? toLines(formatPlacedRules(screen, placeJudgedRules(approved))) : [];
  const warning =
    "Warning: operator-controller can then no longer change the extension. The operator keeps its own permissions. Approve the permissions again before you uninstall the extension.";
  return `${[...head, ...rules, ...wrapLine(screen, warning)].join("\n")}\n`;
}
