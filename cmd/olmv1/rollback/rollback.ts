import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO, API_VERSION, CLUSTER_EXTENSION, LABEL_BUNDLE_NAME } from "../../../pkg/api/constants.ts";
import type { ObjectRef } from "../../../pkg/api/k8s.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import { printable } from "../../../pkg/errors/printable.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ReleaseStore } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import { parseRevision, previousRevision, requireRevision } from "../../../pkg/release/rollbackTarget.ts";
import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";

/** How `olmv1 rollback` can be asked. */
export interface RollbackOptions extends ReleaseOptions {
  cancel?: boolean;
}

/** `olmv1 rollback`. */
export async function rollback(terminal: Terminal, name: string, revision: string | undefined, options: RollbackOptions): Promise<void> {
  if (options.cancel && revision !== undefined) throw new Error("--cancel goes with no revision");
  const text = await withCluster(options, (client) =>
    options.cancel ? cancel(client, name) : rollBack(client, name, revision, options.systemNamespace),
  );
  terminal.out(`${printable(text)}\n`);
}

async function rollBack(client: Client, name: string, given: string | undefined, systemNamespace: string): Promise<string> {
  const wanted = given === undefined ? undefined : parseRevision(given);
  const extension = await extensionNamed(client, name);
  const { uid = "" } = extension.metadata;
  const store = new ReleaseStore(client, systemNamespace);
  const { current, older } = await store.history({ name, uid });
  const releases = [...current, ...older];
  const revision = wanted ?? previousRevision(releases);
  requireRevision(releases, revision);
  const record = current.find(({ version }) => version === revision) ?? (await store.read(name, revision));
  await annotate(client, extension, String(revision));
  const bundle = record?.labels[LABEL_BUNDLE_NAME];
  return [
    `ClusterExtension ${goQuote(name)} goes back to revision ${revision}${bundle ? ` (bundle ${goQuote(bundle)})` : ""} and stays there`,
    `see how it goes:           kubectl wait clusterextension/${name} --for=condition=Ready`,
    `follow the catalogs again: olmv1 rollback ${name} --cancel`,
  ].join("\n");
}

async function cancel(client: Client, name: string): Promise<string> {
  const extension = await extensionNamed(client, name);
  if (extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO] === undefined)
    return `ClusterExtension ${goQuote(name)} is not kept at any revision`;
  await annotate(client, extension, null);
  return `ClusterExtension ${goQuote(name)} follows its catalogs again`;
}

async function extensionNamed(client: Client, name: string): Promise<ClusterExtension> {
  const extension = await client.get<ClusterExtension>(refTo(name));
  if (!extension) throw new Error(`ClusterExtension ${goQuote(name)} does not exist`);
  return extension;
}

/** An extension that was made anew under its name meanwhile is refused by the API server. */
async function annotate(client: Client, { metadata: { name, uid } }: ClusterExtension, value: string | null): Promise<void> {
  await client.patch(refTo(name), { metadata: { uid, annotations: { [ANNOTATION_ROLLBACK_TO]: value } } }, { type: "merge" });
}

function refTo(name: string): ObjectRef {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
}
