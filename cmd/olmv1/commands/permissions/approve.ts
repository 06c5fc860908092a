import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionPermissions, JudgedRuleStatus } from "../../../../pkg/api/extensionPermissions.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { isPassing } from "../../../../pkg/kube/errors.ts";
import { rulesFromDetails } from "../../../../pkg/operatorcontroller/permissions/permissions.ts";
import { computeRulesDigest } from "../../../../pkg/permissions/grantPlan.ts";
import type { PolicyRule } from "../../../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../../../pkg/rbac/requiredRules.ts";
import { findMissingRules, isEmptyRules } from "../../../../pkg/rbac/ruleSets.ts";
import {
  buildPermissionsRef,
  readCurrentRules,
  readExtensionPermissions,
  writeApproval,
} from "../../../../pkg/rollout/extensionPermissions.ts";
import { readExtension } from "../../../../pkg/rollout/extensions.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import type { ClusterOptions, WaitOptions } from "../../cli/options.ts";
import { withProgress } from "../../cli/progress.ts";
import { confirm, type Terminal } from "../../cli/terminal.ts";
import { formatPlacedRules, type PlacedRule } from "../grantedPermissions.ts";
import { MANAGE_NOTE, placeStatusRules, wrapLine } from "../permissionsText.ts";
import { awaitRollout, reportRollout } from "../rollout.ts";

/** Options of `olmv1 permissions approve`. */
export interface ApprovePermissionsOptions extends ClusterOptions, WaitOptions {
  digest?: string;
  yes?: boolean;
}

const POLL_MS = 200;

/** Runs `olmv1 permissions approve`. */
export async function approvePermissions(terminal: Terminal, name: string, options: ApprovePermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const permissions = await readExtensionPermissions(client, name);
    const { pendingDigest: digest, pending = [] } = permissions.status ?? {};
    if (digest === undefined) {
      terminal.err(`${nothingWaits(permissions)}\n`);
      return terminal.exit(EXIT.no);
    }
    if (options.digest !== undefined && options.digest !== digest)
      throw new Error(`the rules that wait have digest ${digest}, not ${options.digest}: see olmv1 permissions show ${name}`);
    if (options.digest === undefined && !isComplete(pending, digest))
      throw new Error(
        `the status does not list all rules that wait for approval: print them with olmv1 permissions policy test, then use --digest ${digest}`,
      );
    terminal.out(formatPendingRules(terminal, permissions, await readCurrentRules(client, permissions)));
    if (!(await confirm(terminal, "Approve these permissions?", options.yes || options.digest !== undefined)))
      return (terminal.err("not approved\n"), terminal.exit(EXIT.no));
    await writeApproval(client, permissions, digest);
    terminal.out(`ExtensionPermissions ${name}: permissions approved\n`);
    return options.wait ? awaitGrant(terminal, client, permissions, digest, options.timeout) : undefined;
  });
}

/** Formats the rules that wait for approval, each with its risk and whether the extension has it now. */
export function formatPendingRules(
  screen: Pick<Terminal, "width">,
  { metadata, status = {} }: ExtensionPermissions,
  current: RequiredRules,
): string {
  const { bundle, pending = [], pendingDigest = "" } = status;
  const what = bundle ? `bundle ${bundle.name} (version ${bundle.version})` : "reading spec.config.valuesFrom";
  const rules = placeStatusRules(pending).map((one): PlacedRule => {
    if (!isHeld(one, current)) return one;
    return { ...one, note: `${one.note ?? ""}; the extension has it now` };
  });
  return [
    ...wrapLine(screen, `ExtensionPermissions ${metadata.name}: ${what} needs these permissions (${MANAGE_NOTE}):`),
    `${formatPlacedRules(screen, rules)}digest: ${pendingDigest}\n`,
  ].join("\n");
}

function isHeld({ namespace, rule }: PlacedRule, current: RequiredRules): boolean {
  return isEmptyRules(findMissingRules(place(namespace, rule), current));
}

function place(namespace: string, rule: PolicyRule): RequiredRules {
  if (namespace === "") return { clusterRules: [rule], namespaceRules: new Map(), unknownKinds: [] };
  return { clusterRules: [], namespaceRules: new Map([[namespace, [rule]]]), unknownKinds: [] };
}

/** Reports whether the status lists all rules that the digest identifies. Otherwise, the user would approve rules that are not shown. */
function isComplete(pending: readonly JudgedRuleStatus[], digest: string): boolean {
  return computeRulesDigest(rulesFromDetails([...pending])) === digest;
}

function nothingWaits({ metadata: { name }, status }: ExtensionPermissions): string {
  const head = `no permissions of ClusterExtension ${goQuote(name)} wait for approval`;
  if (status?.state === "Denied") return `${head}: the policy denies the request, see olmv1 permissions show ${name}`;
  return status?.state === "Failed" ? `${head}: the request cannot be verified, see olmv1 permissions show ${name}` : head;
}

/** Waits until permission-manager grants the approved permissions, and until the bundle is installed with them. */
async function awaitGrant(
  terminal: Terminal,
  client: Client,
  { metadata: { name }, status }: ExtensionPermissions,
  digest: string,
  timeoutMs: number,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  const after = await withProgress(terminal, "waiting for permission-manager", async () => {
    for (;;) {
      const found = await client.get<ExtensionPermissions>(buildPermissionsRef(name), { signal: terminal.signal }).catch((err: unknown) => {
        terminal.signal.throwIfAborted();
        if (isPassing(err) && Date.now() < end) return undefined;
        throw err;
      });
      const isWaiting = !found || (found.status?.state === "Pending" && found.status.pendingDigest === digest);
      if (!isWaiting || Date.now() >= end) return found?.status;
      await sleep(POLL_MS, undefined, { signal: terminal.signal });
    }
  });
  if (after?.state !== "Granted") {
    const why = after?.conditions?.[0]?.message ?? "permission-manager has not decided";
    terminal.err(`${name}: the permissions are not granted: ${why}\n  olmv1 permissions show ${name}\n`);
    return terminal.exit(EXIT.no);
  }
  const { metadata } = await readExtension(client, name);
  const awaited = { generation: metadata.generation ?? 0, bundle: status?.bundle?.name, hasApprovedPermissions: true };
  return reportRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, Math.max(end - Date.now(), 0)));
}
