import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { ANNOTATION_DROP_CONVERSION, LABEL_CREATED_FOR } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { readConversionService } from "../crdsafety/crdParts.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { checkCrdUse, getServedKind } from "../operatorcontroller/crds/crdUse.ts";
import { findNeededConversions } from "../operatorcontroller/crds/lostConversions.ts";
import type { Installer } from "../rbac/installerManifests.ts";
import { isCrd } from "../release/identity.ts";
import { determineOwnership } from "../release/ownership.ts";
import type { CrdPolicy } from "../release/plan.ts";

/** What an uninstall deletes or keeps. */
interface RemovedContent {
  readonly policy: CrdPolicy;
  /** CustomResourceDefinitions of the extension, as returned by the API server. */
  readonly crds: readonly KubeObject[];
  readonly installed: readonly ObjectRef[];
}

/**
 * Predicts whether operator-controller will block an uninstall with reason ConversionNeeded, with the controller's own function.
 * @returns a sentence for each CustomResourceDefinition that blocks the uninstall
 */
export async function findBlockingDefinitions(
  client: Pick<Client, "get" | "list" | "raw">,
  extension: ClusterExtension,
  { policy, crds, installed }: RemovedContent,
  signal: AbortSignal,
): Promise<string[]> {
  const isForced = extension.metadata.annotations?.[ANNOTATION_DROP_CONVERSION] === "true";
  const recorded = [...installed, ...(await listOwnServices(client, extension, crds, signal))];
  return (await findNeededConversions(client, { crds, policy, recorded, isForced }, signal)).map(({ text }) => text);
}

/**
 * Returns the extension's Services that the conversion webhooks of the CustomResourceDefinitions use. Reads them from the cluster, because
 * status.inventory of a large bundle does not contain all objects.
 */
async function listOwnServices(
  client: Pick<Client, "get">,
  extension: ClusterExtension,
  crds: readonly KubeObject[],
  signal: AbortSignal,
): Promise<ObjectRef[]> {
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: getNamespace(extension) };
  const own: ObjectRef[] = [];
  for (const service of crds.flatMap((crd) => readConversionService(crd) ?? [])) {
    try {
      const live = await client.get(service, { metadataOnly: true, signal });
      if (live && determineOwnership(live, owner).kind === "ours") own.push(service);
    } catch (err) {
      if (!isForbidden(err)) throw err;
    }
  }
  return own;
}

/** A CustomResourceDefinition of an extension with its custom resources. */
export interface CustomResources {
  readonly crd: KubeObject;
  readonly kind: string;
  /** Names of the custom resources that were read, as "namespace/name" or "name". */
  readonly names: readonly string[];
  /** Whether more custom resources exist than were read. */
  readonly isMore: boolean;
  /** Why the custom resources could not be counted. */
  readonly unknown?: string;
}

/** The effect on a CustomResourceDefinition and its custom resources. */
export type DefinitionOutcome = "deleted" | "kept";

const CRD_API_VERSION = "apiextensions.k8s.io/v1";
const PARALLEL = 4;
/** Maximum number of custom resources to count per kind. */
const COUNTED_MAX = 1_000;

/**
 * Returns the CustomResourceDefinitions of an extension, including those kept from earlier releases, with the custom resources that the user may
 * list.
 * @param installed the objects of the installed bundle
 */
export async function countCustomResources(
  client: Pick<Client, "get" | "list" | "raw">,
  { status }: ClusterExtension,
  installed: readonly ObjectRef[],
): Promise<CustomResources[]> {
  const kept = (status?.keptCRDs ?? []).map(({ name }) => ({ apiVersion: CRD_API_VERSION, kind: "CustomResourceDefinition", name }));
  const refs = [...installed.filter(isCrd), ...kept];
  const found = await mapInParallel(refs, PARALLEL, async (ref) => {
    const crd = await client.get(ref);
    return crd && countIn(client, crd);
  });
  return found.filter((one) => one !== undefined);
}

async function countIn(client: Pick<Client, "get" | "list" | "raw">, crd: KubeObject): Promise<CustomResources> {
  const use = await checkCrdUse(client, crd, new AbortController().signal);
  const served = getServedKind(crd);
  const none = { crd, kind: served?.kind ?? crd.metadata.name, names: [], isMore: false };
  if (use.kind !== "in use") return none;
  if (use.reason !== "CustomResourcesExist") return use.reason === "BeingDeleted" ? none : { ...none, unknown: use.text };
  if (!served) return none;
  const { items } = await client.list(served, { metadataOnly: true, maxItems: COUNTED_MAX + 1 });
  const names = items
    .slice(0, COUNTED_MAX)
    .map(({ metadata: { namespace, name } }) => (namespace === undefined ? name : `${namespace}/${name}`));
  return { ...none, names, isMore: items.length > COUNTED_MAX };
}

/**
 * Returns the effect of a policy on a CustomResourceDefinition. With DeleteIfUnused, the controller keeps a CustomResourceDefinition whose custom
 * resources cannot be counted.
 */
export function getDefinitionOutcome({ names, unknown }: CustomResources, policy: CrdPolicy): DefinitionOutcome {
  if (policy === "Delete") return "deleted";
  if (policy === "Retain") return "kept";
  return names.length > 0 || unknown !== undefined ? "kept" : "deleted";
}

const RBAC_GROUP = "rbac.authorization.k8s.io";

/**
 * Returns roles and bindings, labelled for the extension, that let the installer delete CustomResourceDefinitions with their custom resources, as
 * crdPolicy Delete requires. They also list the CustomResourceDefinitions by name, because the roles for the installed bundle do not include those
 * kept from earlier releases.
 */
export function buildDeletionPermissions(
  extension: string,
  { namespace, name }: Installer,
  customResources: readonly CustomResources[],
): KubeObject[] {
  const metadata = { name: `${namespace}-${name}-delete`, labels: { [LABEL_CREATED_FOR]: extension } };
  const rules = customResources.map(({ crd }) => {
    const { group = "", names } = (crd["spec"] ?? {}) as { group?: string; names?: { plural?: string } };
    return { apiGroups: [group], resources: [names?.plural ?? ""], verbs: ["get", "list", "delete"] };
  });
  const definitions = {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: customResources.map(({ crd }) => crd.metadata.name),
    verbs: ["get", "delete"],
  };
  const apiVersion = `${RBAC_GROUP}/v1`;
  return [
    { apiVersion, kind: "ClusterRole", metadata, rules: [definitions, ...rules] },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
  ];
}
