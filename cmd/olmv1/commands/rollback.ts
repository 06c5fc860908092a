import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { type AppliedObject, applyObjects, formatApplied } from "../../../pkg/installer/applyObjects.ts";
import { buildInstallerObjects } from "../../../pkg/installer/installerObjects.ts";
import { isInstallerOurs, type NewPermissions } from "../../../pkg/installer/installerPermissions.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { parseRevision } from "../../../pkg/release/record.ts";
import { buildPinChange, findPin, sendPatch } from "../../../pkg/rollout/changes.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { readRollbackTarget } from "../../../pkg/rollout/rollbackTarget.ts";
import type { Awaited } from "../../../pkg/rollout/rolloutVerdict.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { withCluster } from "../cli/cluster.ts";
import type { RegistryOptions, ReleaseOptions, WaitOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";
import { formatNewPermissions, readNewPermissions } from "./grantedPermissions.ts";
import { awaitRollout, reportRollout } from "./rollout.ts";

/**
 * Grants a ServiceAccount that `olmv1 install` created the permissions for the bundle to roll back to, because `olmv1 upgrade` removed permissions
 * that only older bundles need. Prints the changes without asking, because the user accepted these permissions before. Does not change other
 * ServiceAccounts. A failed pull or a denied grant is only a warning, because the rollback may succeed anyway.
 * @param image of the bundle to roll back to
 */
async function grantBack(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  image: string,
  options: RegistryOptions & { systemNamespace: string },
): Promise<void> {
  if (!(await isInstallerOurs(client, extension))) return;
  try {
    const permissions = await readNewPermissions(terminal, client, extension, image, options);
    if (permissions) await grant(terminal, client, extension, permissions, options.systemNamespace);
  } catch (err) {
    terminal.signal.throwIfAborted();
    terminal.err(
      `olmv1: cannot grant the permissions that the rollback needs; it succeeds only if the ServiceAccount already has them: ${getErrorMessage(err)}\n`,
    );
  }
}

async function grant(
  terminal: Terminal,
  client: Client,
  { metadata }: ClusterExtension,
  permissions: NewPermissions,
  system: string,
): Promise<void> {
  const objects = buildInstallerObjects(metadata.name, permissions.installer, permissions.rules, system);
  const report = (applied: AppliedObject): void => {
    if (applied.verb !== "unchanged") terminal.out(`${formatApplied(applied)}\n`);
  };
  const done = await applyObjects(client, objects, { report });
  if (done.some(({ verb }) => verb !== "unchanged")) terminal.err(formatNewPermissions(terminal, permissions, { lacking: undefined }));
}

/** Options of `olmv1 rollback`. */
export interface RollbackOptions extends ReleaseOptions, RegistryOptions, WaitOptions {
  cancel?: boolean;
}

/** Runs `olmv1 rollback`. */
export async function rollback(terminal: Terminal, name: string, revision: string | undefined, options: RollbackOptions): Promise<void> {
  if (options.cancel && revision !== undefined) throw new Error("use either --cancel or a revision");
  const desired = revision === undefined ? undefined : parseRevision(revision);
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const awaited = options.cancel
      ? await cancel(terminal, client, extension)
      : await rollBack(terminal, client, extension, desired, options);
    if (!awaited) return;
    if (options.wait) reportRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, options.timeout));
    else terminal.out(`follow the rollback: olmv1 describe ${name}\n`);
  });
}

async function rollBack(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  desired: number | undefined,
  options: RollbackOptions,
): Promise<Awaited> {
  const { name } = extension.metadata;
  const { revision, bundle, image } = await readRollbackTarget(client, extension, options.systemNamespace, desired);
  if (image !== undefined) await grantBack(terminal, client, extension, image, options);
  const awaited = await changePin(client, extension, revision);
  terminal.out(`${escapeControlCharacters(`ClusterExtension ${goQuote(name)} is being rolled back to revision ${revision}${bundle ? ` (bundle ${goQuote(bundle)})` : ""} and pinned to it`)}
remove the pin: olmv1 rollback ${name} --cancel
`);
  return { ...awaited, bundle };
}

/** Removes the pin. @returns undefined if the extension is not pinned. */
async function cancel(terminal: Terminal, client: Client, extension: ClusterExtension): Promise<Awaited | undefined> {
  const { name } = extension.metadata;
  if (findPin(extension) === undefined) {
    terminal.out(`ClusterExtension ${goQuote(name)} is not pinned\n`);
    return undefined;
  }
  const awaited = await changePin(client, extension, null);
  terminal.out(`ClusterExtension ${goQuote(name)} follows its catalogs again\n`);
  return awaited;
}

/** Sets or removes the pin. The result identifies the reconcile that follows it. */
async function changePin(client: Client, extension: ClusterExtension, revision: number | null): Promise<Awaited> {
  const request = new Date().toISOString();
  const patched = await sendPatch(client, buildPinChange(extension, revision, request));
  return { generation: patched.metadata.generation ?? 0, request };
}
