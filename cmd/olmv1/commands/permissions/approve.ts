import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionPermissions } from "../../../../pkg/api/extensionPermissions.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { isPassing } from "../../../../pkg/kube/errors.ts";
import type { RequiredRules } from "../../../../pkg/rbac/requiredRules.ts";
import { checkPermissionsApproval, type WaitingPermissions } from "../../../../pkg/rollout/changes.ts";
import {
  listPlanPermissions,
  readCurrentRules,
  readExtensionPermissions,
  writeApproval,
} from "../../../../pkg/rollout/extensionPermissions.ts";
import { buildPermissionsRef, readExtension } from "../../../../pkg/rollout/extensions.ts";
import { listPendingRules } from "../../../../pkg/rollout/permissionsView.ts";
import type { PlacedRule } from "../../../../pkg/rollout/placedRules.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import type { ClusterOptions, WaitOptions } from "../../cli/options.ts";
import { withProgress } from "../../cli/progress.ts";
import { confirm, type Terminal } from "../../cli/terminal.ts";
import { formatPlacedRules } from "../grantedPermissions.ts";
import { MANAGE_NOTE, wrapLine } from "../permissionsText.ts";
import { awaitRollout, reportRollout } from "../rollout.ts";

/** Options of `olmv1 permissions approve`. */
export interface ApprovePermissionsOptions extends ClusterOptions, WaitOptions {
  digest?: string;
  /** Also approves the permissions of the other extensions in the plan. */
  withDependencies?: boolean;
  yes?: boolean;
}

const POLL_MS = 200;

/** Runs `olmv1 permissions approve`. */
export async function approvePermissions(terminal: Terminal, name: string, options: ApprovePermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const all = options.withDependencies ? await readPlanPermissions(client, name) : [await readExtensionPermissions(client, name)];
    const checks = all.map((permissions) => checkPermissionsApproval(permissions, options.digest));
    if (checks.every(({ kind }) => kind === "nothingWaits")) {
      terminal.err(`${checks.flatMap((check) => (check.kind === "nothingWaits" ? check.message : [])).join("\n")}\n`);
      return terminal.exit(EXIT.no);
    }
    const waiting: WaitingPermissions[] = [];
    for (const check of checks) {
      if (check.kind === "nothingWaits") continue;
      if (check.kind !== "waiting") throw new Error(check.message);
      const { permissions } = check;
      waiting.push(permissions);
      terminal.out(formatPendingRules(terminal, permissions, await readCurrentRules(client, permissions)));
    }
    const question = waiting.length === 1 ? "Approve these permissions?" : `Approve these permissions of ${waiting.length} extensions?`;
    if (!(await confirm(terminal, question, options.yes || options.digest !== undefined)))
      return (terminal.err("not approved\n"), terminal.exit(EXIT.no));
    for (const permissions of waiting) {
      await writeApproval(client, permissions, permissions.status.pendingDigest);
      terminal.out(`ExtensionPermissions ${permissions.metadata.name}: permissions approved\n`);
    }
    return options.wait ? awaitGrants(terminal, client, name, waiting, options.timeout) : undefined;
  });
}

/**
 * Returns the ExtensionPermissions of an extension and of the other extensions in its plan, by wave.
 * @throws Error if the extension does not exist, or none of them has ExtensionPermissions
 */
async function readPlanPermissions(client: Client, name: string): Promise<ExtensionPermissions[]> {
  const found = await listPlanPermissions(client, await readExtension(client, name));
  return found.length > 0 ? found : [await readExtensionPermissions(client, name)];
}

/** Formats the rules that wait for approval, each with its risk and whether the extension has it now. */
export function formatPendingRules(screen: Pick<Terminal, "width">, permissions: ExtensionPermissions, current: RequiredRules): string {
  const { metadata, status = {} } = permissions;
  const { bundle, pendingDigest = "" } = status;
  const what = bundle ? `bundle ${bundle.name} (version ${bundle.version})` : "reading spec.config.valuesFrom";
  const rules = listPendingRules(permissions, current).map((one): PlacedRule => {
    return one.isHeld ? { ...one, note: `${one.note ?? ""}; the extension has it now` } : one;
  });
  return [
    ...wrapLine(screen, `ExtensionPermissions ${metadata.name}: ${what} needs these permissions (${MANAGE_NOTE}):`),
    `${formatPlacedRules(screen, rules)}digest: ${pendingDigest}\n`,
  ].join("\n");
}

/** Waits until permission-manager grants the approved permissions, and until the bundle of extension `name` is installed with them. */
async function awaitGrants(
  terminal: Terminal,
  client: Client,
  name: string,
  approved: readonly WaitingPermissions[],
  timeoutMs: number,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (const permissions of approved) {
    const after = await awaitGrant(terminal, client, permissions, end);
    if (after?.state === "Granted") continue;
    const why = after?.conditions?.[0]?.message ?? "permission-manager has not decided";
    const { name: of } = permissions.metadata;
    terminal.err(`${of}: the permissions are not granted: ${why}\n  olmv1 permissions show ${of}\n`);
    return terminal.exit(EXIT.no);
  }
  const { metadata } = await readExtension(client, name);
  const own = approved.find((permissions) => permissions.metadata.name === name);
  const awaited = { generation: metadata.generation ?? 0, bundle: own?.status.bundle?.name, hasApprovedPermissions: own !== undefined };
  return reportRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, Math.max(end - Date.now(), 0)));
}

/** Waits until permission-manager has handled an approval. @param end milliseconds since the epoch @returns the status after that */
async function awaitGrant(
  terminal: Terminal,
  client: Client,
  { metadata: { name }, status: { pendingDigest } }: WaitingPermissions,
  end: number,
): Promise<ExtensionPermissions["status"]> {
  return withProgress(terminal, "waiting for permission-manager", async () => {
    for (;;) {
      const found = await client.get<ExtensionPermissions>(buildPermissionsRef(name), { signal: terminal.signal }).catch((err: unknown) => {
        terminal.signal.throwIfAborted();
        if (isPassing(err) && Date.now() < end) return undefined;
        throw err;
      });
      const isPending = !found || (found.status?.state === "Pending" && found.status.pendingDigest === pendingDigest);
      if (!isPending || Date.now() >= end) return found?.status;
      await sleep(POLL_MS, undefined, { signal: terminal.signal });
    }
  });
}
