import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_RECONCILE_REQUESTED_AT,
  ANNOTATION_ROLLBACK_TO,
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_REFERENCE,
} from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { type AppliedObject, appliedLine, applyObjects, CLI_MANAGER } from "../../../pkg/installer/applyObjects.ts";
import { installerObjects } from "../../../pkg/installer/installerObjects.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { getRecord, ReleaseStore, requireReadable } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import { parseRevision, previousRevision, requireRevision } from "../../../pkg/release/record.ts";
import { extensionRef, readExtension } from "../../../pkg/rollout/extensions.ts";
import type { Awaited } from "../../../pkg/rollout/rolloutVerdict.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { withCluster } from "../cli/cluster.ts";
import type { RegistryOptions, ReleaseOptions, WaitOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";
import { isInstallerOurs, type NewRights, newRights, newRightsText } from "./grantedPermissions.ts";
import { awaitRollout, tellRollout } from "./rollout.ts";

/**
 * Gives a ServiceAccount that `olmv1 install` made what the bundle that an extension goes back to needs: `olmv1 upgrade` has withdrawn what
 * only older bundles needed. Nothing is asked, as all of it was agreed to before; what changes is told. Another ServiceAccount is left
 * alone. Where the bundles cannot be pulled, or you may not grant, that is told, and no error: going back may need nothing more.
 * @param image of the bundle to go back to
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
    const rights = await newRights(terminal, client, extension, image, options);
    if (rights) await grant(terminal, client, extension, rights, options.systemNamespace);
  } catch (err) {
    terminal.signal.throwIfAborted();
    terminal.err(`olmv1: rights that only that bundle needs were not granted; it goes back if it has them: ${messageOf(err)}\n`);
  }
}

async function grant(terminal: Terminal, client: Client, { metadata }: ClusterExtension, rights: NewRights, system: string): Promise<void> {
  const objects = installerObjects(metadata.name, rights.installer, rights.rules, system);
  const tell = (applied: AppliedObject): void => {
    if (applied.verb !== "unchanged") terminal.out(`${appliedLine(applied)}\n`);
  };
  const done = await applyObjects(client, objects, { tell });
  if (done.some(({ verb }) => verb !== "unchanged")) terminal.err(newRightsText(terminal, rights, { lacking: undefined }));
}

/** How `olmv1 rollback` can be asked. */
export interface RollbackOptions extends ReleaseOptions, RegistryOptions, WaitOptions {
  cancel?: boolean;
}

/** `olmv1 rollback`. */
export async function rollback(terminal: Terminal, name: string, revision: string | undefined, options: RollbackOptions): Promise<void> {
  if (options.cancel && revision !== undefined) throw new Error("--cancel goes with no revision");
  const wanted = revision === undefined ? undefined : parseRevision(revision);
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const awaited = options.cancel
      ? await cancel(terminal, client, extension)
      : await rollBack(terminal, client, extension, wanted, options);
    if (!awaited) return;
    if (options.wait) tellRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, options.timeout));
    else terminal.out(`see how it goes: olmv1 describe ${name}\n`);
  });
}

async function rollBack(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  wanted: number | undefined,
  options: RollbackOptions,
): Promise<Awaited> {
  const { name, uid = "" } = extension.metadata;
  const store = new ReleaseStore(client, options.systemNamespace);
  const history = await store.history({ name, uid });
  requireReadable(history, "cannot roll back: ");
  const { current, older } = history;
  const releases = [...current, ...older];
  const revision = wanted ?? previousRevision(releases);
  requireRevision(releases, revision);
  const record = current.find(({ version }) => version === revision) ?? getRecord(await store.read(name, revision));
  const { [LABEL_BUNDLE_NAME]: bundle, [LABEL_BUNDLE_REFERENCE]: image } = record?.labels ?? {};
  if (image !== undefined) await grantBack(terminal, client, extension, image, options);
  const awaited = await annotate(client, extension, String(revision));
  terminal.out(`${escapeControlCharacters(`ClusterExtension ${goQuote(name)} goes back to revision ${revision}${bundle ? ` (bundle ${goQuote(bundle)})` : ""} and stays there`)}
follow the catalogs again: olmv1 rollback ${name} --cancel
`);
  return { ...awaited, bundle };
}

/** @returns undefined where there was nothing to do. */
async function cancel(terminal: Terminal, client: Client, extension: ClusterExtension): Promise<Awaited | undefined> {
  const { name, annotations } = extension.metadata;
  if (annotations?.[ANNOTATION_ROLLBACK_TO] === undefined) {
    terminal.out(`ClusterExtension ${goQuote(name)} is not kept at any revision\n`);
    return undefined;
  }
  const awaited = await annotate(client, extension, null);
  terminal.out(`ClusterExtension ${goQuote(name)} follows its catalogs again\n`);
  return awaited;
}

/**
 * Annotations have no generation: the request to look at everything, which is made with it, tells whether the status is about the one before or after.
 * An extension that was made anew under its name meanwhile is refused by the API server.
 */
async function annotate(client: Client, { metadata: { name, uid } }: ClusterExtension, value: string | null): Promise<Awaited> {
  const request = new Date().toISOString();
  const annotations = { [ANNOTATION_ROLLBACK_TO]: value, [ANNOTATION_RECONCILE_REQUESTED_AT]: request };
  const patched = await client.patch(extensionRef(name), { metadata: { uid, annotations } }, { type: "merge", fieldManager: CLI_MANAGER });
  return { generation: patched.metadata.generation ?? 0, request };
}
