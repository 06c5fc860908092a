import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_DROP_CONVERSION } from "../../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import { conversionServiceOf } from "../../../pkg/crdsafety/crdParts.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { neededConversions } from "../../../pkg/operatorcontroller/apply/lostConversions.ts";
import { ownershipOf } from "../../../pkg/release/ownership.ts";
import type { CrdPolicy } from "../../../pkg/release/plan.ts";
import { refFrom } from "../tree/extensionTree.ts";

/**
 * Predicts that operator-controller will stop an uninstall with reason ConversionNeeded, with its own function.
 * @param crds the definitions of the extension, as the API server returned them.
 * @returns a sentence for each definition that stops it.
 */
export async function blockedUninstall(
  client: Pick<Client, "get" | "list" | "raw">,
  extension: ClusterExtension,
  policy: CrdPolicy,
  crds: readonly KubeObject[],
  signal: AbortSignal,
): Promise<string[]> {
  const isForced = extension.metadata.annotations?.[ANNOTATION_DROP_CONVERSION] === "true";
  const inventory = (extension.status?.inventory?.objects ?? []).map(refFrom);
  const recorded = [...inventory, ...(await ownServices(client, extension, crds, signal))];
  return (await neededConversions(client, { crds, policy, recorded, isForced }, signal)).map(({ text }) => text);
}

/** The Services that convert for the definitions and belong to the extension: of a large bundle status.inventory does not name all objects. */
async function ownServices(
  client: Pick<Client, "get">,
  { metadata: { name, uid = "" }, spec }: ClusterExtension,
  crds: readonly KubeObject[],
  signal: AbortSignal,
): Promise<ObjectRef[]> {
  const owner = { name, uid, installNamespace: spec.namespace };
  const own: ObjectRef[] = [];
  for (const service of crds.flatMap((crd) => conversionServiceOf(crd) ?? [])) {
    try {
      const live = await client.get(service, { metadataOnly: true, signal });
      if (live && ownershipOf(live, owner).kind === "ours") own.push(service);
    } catch (err) {
      if (!isForbidden(err)) throw err;
    }
  }
  return own;
}
