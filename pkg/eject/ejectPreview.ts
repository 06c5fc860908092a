import { X509Certificate } from "node:crypto";
import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { FINALIZER_ORPHAN, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { listCertificateSecrets } from "../certificates/desiredCertificates.ts";
import { readStoredCertificates } from "../certificates/storedCertificates.ts";
import { goQuote } from "../golang/quote.ts";
import { listInstallObjects } from "../installer/installerObjects.ts";
import type { Client } from "../kube/client.ts";
import { dependentLabel } from "../operatorcontroller/dependencies/dependencyLabels.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { type ReleaseHistory, requireReadable } from "../operatorcontroller/releases/releaseStore.ts";
import { readDependents } from "../preview/installedDependents.ts";
import { describeObject, getObjectKey } from "../release/identity.ts";
import { findLastDeployed, isPending, type ReleaseRecord } from "../release/record.ts";
import type { Dependent } from "../resolve/dependencies/dependents.ts";
import { hasForeignStatus } from "../rollout/extensionState.ts";
import { listClusterExtensions, readExtension } from "../rollout/extensions.ts";
import type { ExportedBundle } from "./exportedManifests.ts";

/** What an eject changes and keeps. */
export interface EjectPreview {
  readonly extension: ClusterExtension;
  readonly namespace: string;
  readonly history: ReleaseHistory;
  /** The installed bundle. */
  readonly bundle: ExportedBundle & { readonly name: string };
  /** The objects of the installed bundle as applied, in apply order. */
  readonly objects: readonly KubeObject[];
  /** All objects that may have marks of the extension. */
  readonly marked: readonly ObjectRef[];
  /** Objects that `olmv1 install` created for the extension, except its namespace; deleted afterwards. */
  readonly created: readonly KubeObject[];
  /** Extensions that depend on the installed bundle. */
  readonly dependents: readonly Dependent[];
  /** Extensions that were created as dependencies; they stay, as extensions of their own. */
  readonly dependencies: readonly ClusterExtension[];
  /** One sentence for each thing that needs attention afterwards. */
  readonly warnings: readonly string[];
}

/**
 * Reads what an eject changes and keeps; writes nothing.
 * @param systemNamespace the namespace of the releases
 * @throws Error if nothing is installed, a rollout is in progress, a release is unreadable, or the Go implementation manages the extension
 */
export async function previewEject(client: Client, name: string, systemNamespace: string, signal: AbortSignal): Promise<EjectPreview> {
  const extension = await readExtension(client, name);
  const reject = (why: string): Error => new Error(`cannot eject ClusterExtension ${goQuote(name)}: ${why} (no changes were made)`);
  if (hasForeignStatus(extension))
    throw reject("the OLM of this cluster is not olmv1. Delete it with kubectl delete --cascade=orphan instead");
  const { deletionTimestamp, finalizers = [] } = extension.metadata;
  if (deletionTimestamp !== undefined && !finalizers.includes(FINALIZER_ORPHAN)) throw reject("it is being deleted");
  const history = await new ReadOnlyReleases(client, systemNamespace).history(extension, { signal });
  requireReadable(history, "cannot eject: ");
  const release = findLastDeployed(history.current);
  if (!release) throw reject("no bundle is installed. Use olmv1 uninstall");
  if (release.objectSet !== undefined)
    throw reject(
      "the objects still belong to ClusterObjectSets of the Go operator-controller. Resume the extension, and wait until operator-controller has taken them over",
    );
  if (history.current.some(isPending)) throw reject(`a rollout is in progress. Wait until it completes: olmv1 describe ${name}`);
  const extensions = await listClusterExtensions(client);
  const secrets = listCertificateSecrets(release.objects);
  const { labels } = release;
  return {
    extension,
    namespace: getNamespace(extension),
    history,
    bundle: {
      name: extension.status?.install?.bundle.name ?? "",
      packageName: labels[LABEL_PACKAGE_NAME] ?? "",
      version: labels[LABEL_BUNDLE_VERSION] ?? "",
    },
    objects: release.objects,
    marked: listMarked(history.current),
    created: (await listInstallObjects(client, name)).filter(({ kind }) => kind !== "Namespace"),
    dependents: await readDependents(client, name, extensions, systemNamespace, signal),
    dependencies: extensions.filter(({ metadata }) => metadata.labels?.[dependentLabel(extension)] !== undefined),
    warnings: await Promise.all(secrets.map((secret) => describeCertificate(client, toObjectRef(secret), signal))),
  };
}

/** Returns the objects of all releases that may be on the cluster, with those that earlier releases left and the Secrets of certificates. */
function listMarked(releases: readonly ReleaseRecord[]): ObjectRef[] {
  const refs = releases.flatMap(({ objects, left = [] }) => [
    ...objects.map(toObjectRef),
    ...left,
    ...listCertificateSecrets(objects).map(toObjectRef),
  ]);
  return [...new Map(refs.map((ref) => [getObjectKey(ref), ref])).values()];
}

async function describeCertificate(client: Client, ref: ObjectRef, signal: AbortSignal): Promise<string> {
  const secret = await client.get(ref, { signal });
  const end = secret && findCertificateEnd(secret);
  const until = end === undefined ? "" : ` before ${end.toISOString().slice(0, 10)}`;
  return `${describeObject(ref)} contains a webhook certificate that operator-controller no longer renews: replace it and the caBundle of its webhooks${until}`;
}

function findCertificateEnd(secret: KubeObject): Date | undefined {
  try {
    return new X509Certificate(readStoredCertificates(secret).serving.certificate).validToDate;
  } catch {
    // Not a certificate.
    return undefined;
  }
}
