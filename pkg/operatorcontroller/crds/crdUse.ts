import { createHash } from "node:crypto";
import { type GroupVersionKind, getGroup, getVersion, type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { readCrdVersions } from "../../crdsafety/crdParts.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import type { Client } from "../../kube/client.ts";
import { formatGroupVersionPath } from "../../kube/discovery.ts";
import { isForbidden, isNotFound, isPassing, KindNotServed, KubeError } from "../../kube/errors.ts";
import { isAllowed } from "../permissions/ownRules.ts";

/** Length in bytes of a storage version hash in discovery. */
const HASH_BYTES = 8;

/**
 * Finds out whether another API server serves a group version of a CustomResourceDefinition. An APIService with a Service redirects requests to the
 * other server. The custom resources of the CRD are still stored, but a list request does not return them.
 *
 * | APIService of the group version | is served by                                                                     |
 * | without a Service, or absent    | the CRD                                                                          |
 * | with a Service                  | another API server                                                               |
 * | reading it is forbidden         | the CRD, if discovery has the hash of its storage version for the resource       |
 *
 * Few ServiceAccounts have permission to read APIServices, because no bundle needs it. A denied read must therefore not keep every CRD. Every client
 * may read discovery, but its hash is a weaker proof: another API server that stores the same group, version and kind has the same hash. An API
 * server without a hash, or with a different storage version, is detected.
 * @returns undefined if the API server serves the CRD; otherwise a sentence about the other server.
 * @throws KubeError if a request fails.
 */
export async function findOtherServer(
  client: Pick<Client, "get" | "raw">,
  crd: KubeObject,
  { apiVersion, kind }: GroupVersionKind,
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = `${getVersion(apiVersion)}.${getGroup(apiVersion)}`;
  try {
    if (await mayRead(client, name, signal)) {
      const service = getService(await client.get(apiServiceRef(name), { signal }));
      return service && `APIService ${name} forwards requests for ${apiVersion} to Service ${service}`;
    }
  } catch (err) {
    if (err instanceof KindNotServed) return undefined; // an API server without an aggregation layer
    if (!isForbidden(err)) throw err;
  }
  const response = await client.raw("GET", formatGroupVersionPath(apiVersion), undefined, { signal }).catch((cause: unknown) => {
    if (isForbidden(cause) || isNotFound(cause)) return cause;
    throw cause;
  });
  if (response instanceof Error)
    return `discovery of ${apiVersion} failed (${getErrorMessage(response)}), and reading APIService ${name} is forbidden`;
  if (findHash(response, kind) === computeStorageHash(crd, getGroup(apiVersion), kind)) return undefined;
  return `discovery of ${apiVersion} does not report the storage version of the CRD, and reading APIService ${name} is forbidden`;
}

/** Checks the permission with an access review first, because a denied request looks like an attack in an audit log. */
function mayRead(client: Pick<Client, "raw">, name: string, signal: AbortSignal): Promise<boolean> {
  return isAllowed(client, "", { group: "apiregistration.k8s.io", resource: "apiservices", name, verb: "get" }, signal);
}

function apiServiceRef(name: string): ObjectRef {
  return { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", name };
}

/** Returns the Service of an APIService, such as "ns/name"; undefined for a local APIService. */
function getService(apiService: KubeObject | undefined): string | undefined {
  const spec = apiService?.["spec"];
  if (!isObject(spec) || !isObject(spec["service"])) return undefined;
  const { namespace, name } = spec["service"];
  return `${String(namespace)}/${String(name)}`;
}

function findHash(resourceList: unknown, kind: string): string | undefined {
  const resources = isObject(resourceList) && Array.isArray(resourceList["resources"]) ? resourceList["resources"] : [];
  // Subresources, such as things/status, have the same kind but no hash.
  const found = resources.find((one) => isObject(one) && one["kind"] === kind && !String(one["name"]).includes("/")) as unknown;
  return isObject(found) && typeof found["storageVersionHash"] === "string" ? found["storageVersionHash"] : undefined;
}

/**
 * Computes the hash in discovery for the storage version. Kubernetes may change the algorithm, but has not since 1.14. A CRD with an unknown hash is
 * kept.
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.0/staging/src/k8s.io/apiserver/pkg/endpoints/discovery/storageversionhash.go
 */
function computeStorageHash(crd: KubeObject, group: string, kind: string): string | undefined {
  const version = readCrdVersions(crd).find(({ storage }) => storage)?.name;
  if (version === undefined) return undefined;
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, HASH_BYTES).toString("base64");
}

/** Why a CustomResourceDefinition counts as in use. */
type CrdUseReason =
  | "CustomResourcesExist"
  /** The CRD is already being deleted. */
  | "BeingDeleted"
  | "NamesNotAccepted"
  | "NotEstablished"
  | "NoServedVersion"
  /** The API server does not serve a version of the CRD, for example shortly after a restart. */
  | "NotServed"
  /** Another API server serves the versions of the CRD, see `findOtherServer`. */
  | "ServedElsewhere"
  | "ListDenied"
  | "ListFailed"
  /** Other clients changed the CRD during every check. */
  | "KeepsChanging";

/** Whether custom resources of a CustomResourceDefinition exist. `crd` is the checked version of the CRD. */
export type CrdUse =
  | { readonly kind: "gone" }
  | { readonly kind: "unused"; readonly crd: KubeObject }
  | {
      readonly kind: "in use";
      readonly crd: KubeObject;
      readonly reason: CrdUseReason;
      /** The reason as a sentence for Events and messages. */
      readonly text: string;
      /** Set if a retry may succeed because the API server was busy or unreachable. */
      readonly retry?: { readonly cause: unknown };
    };

/** The API version and kind of custom resources. */
export interface CustomResourceKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * Decides whether a CustomResourceDefinition is in use. A CRD is unused only if the API server can currently list its custom resources through a
 * version that the CRD itself serves, and the complete list is empty. In all other cases it counts as in use, because deleting the CRD deletes all of
 * its custom resources, including those that no version serves.
 * @throws KubeError if reading the CRD fails.
 */
export async function checkCrdUse(client: Pick<Client, "get" | "list" | "raw">, crd: KubeObject, signal: AbortSignal): Promise<CrdUse> {
  const live = await client.get(toObjectRef(crd), { signal });
  if (!live || (crd.metadata.uid !== undefined && live.metadata.uid !== crd.metadata.uid)) return { kind: "gone" };
  const inUse = (reason: CrdUseReason, text: string): CrdUse => ({ kind: "in use", crd: live, reason, text });
  if (live.metadata.deletionTimestamp !== undefined || getConditionStatus(live, "Terminating") === "True")
    return inUse("BeingDeleted", "already being deleted");
  if (getConditionStatus(live, "NamesAccepted") !== "True")
    return inUse("NamesNotAccepted", "treated as in use: the API server has not accepted its names");
  if (getConditionStatus(live, "Established") !== "True")
    return inUse("NotEstablished", "treated as in use: the API server has not established the CRD");
  const kinds = listServedKinds(live);
  if (kinds.length === 0)
    return inUse("NoServedVersion", "treated as in use: no version is served, so its custom resources cannot be listed");
  let last: unknown;
  let elsewhere: string | undefined;
  for (const kind of kinds) {
    try {
      const { items } = await client.list(kind, { limit: 1, maxItems: 1, metadataOnly: true, signal });
      if (items.length > 0) return inUse("CustomResourcesExist", "custom resources exist");
      const other = await findOtherServer(client, live, kind, signal);
      if (other === undefined) return { kind: "unused", crd: live };
      elsewhere ??= other;
    } catch (err) {
      signal.throwIfAborted();
      if (isForbidden(err))
        return inUse("ListDenied", `treated as in use: listing its custom resources is forbidden (${getErrorMessage(err)})`);
      last = err;
    }
  }
  if (elsewhere !== undefined) return inUse("ServedElsewhere", `treated as in use: cannot list its custom resources: ${elsewhere}`);
  if (last instanceof KindNotServed)
    return inUse("NotServed", `treated as in use: the API server does not currently serve its custom resources (${getErrorMessage(last)})`);
  const text = `treated as in use: cannot list its custom resources (${getErrorMessage(last)})`;
  // A failing conversion webhook causes status 500 until its operator works again, so a retry does not help.
  const isTransient = isPassing(last) && !(last instanceof KubeError && last.status === 500);
  return { kind: "in use", crd: live, reason: "ListFailed", text, ...(isTransient ? { retry: { cause: last } } : {}) };
}

/** Lists the served versions of a CRD. The storage version is first, because it needs no conversion. */
export function listServedKinds(crd: KubeObject): CustomResourceKind[] {
  const {
    group,
    names,
    versions = [],
  } = (crd["spec"] ?? {}) as {
    group?: string;
    names?: { kind?: string };
    versions?: { name: string; served?: boolean; storage?: boolean }[];
  };
  const kind = names?.kind;
  if (!group || !kind) return [];
  const served = versions.filter((version) => version.served === true);
  return [...served.filter(({ storage }) => storage), ...served.filter(({ storage }) => !storage)].map(({ name }) => ({
    apiVersion: `${group}/${name}`,
    kind,
  }));
}

/** Returns the first of `listServedKinds`; undefined if no version is served. */
export function getServedKind(crd: KubeObject): CustomResourceKind | undefined {
  return listServedKinds(crd)[0];
}

function getConditionStatus(crd: KubeObject, type: string): string | undefined {
  const { conditions = [] } = (crd["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.find((condition) => condition.type === type)?.status;
}
