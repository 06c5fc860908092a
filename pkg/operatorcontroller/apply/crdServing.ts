import { createHash } from "node:crypto";
import { isObject } from "../../api/jsonObject.ts";
import { type GroupVersionKind, groupOf, type KubeObject, type ObjectRef, versionOf } from "../../api/k8s.ts";
import { versionsOf } from "../../crdsafety/crdParts.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { groupVersionPath } from "../../kube/discovery.ts";
import { isForbidden, isNotFound, KindNotServed } from "../../kube/errors.ts";
import { isAllowed } from "../rights/ownRules.ts";

/** Bytes of a hash that discovery shows. */
const HASH_BYTES = 8;

/**
 * Finds out whether another API server answers for a group version of a CustomResourceDefinition: an APIService with a Service takes the
 * requests away from the definition, whose custom resources stay stored and are not listed.
 *
 * | APIService of the group version | answers                                                                            |
 * | without a Service, or absent    | the definition                                                                     |
 * | with a Service                  | another API server                                                                 |
 * | may not be read                 | the definition, if discovery has the storage version's hash of it for the resource |
 *
 * Few ServiceAccounts may read APIServices, because no bundle needs that, so a denial must not keep every definition. Everyone may read discovery. Its hash proves less: an API server that stores the same group, version and kind has the same one. An API server without a
 * hash, or that stores another version, is found.
 * @returns undefined if the definition answers; otherwise who does, as a sentence.
 * @throws what the requests throw.
 */
export async function otherServer(
  client: Pick<Client, "get" | "raw">,
  crd: KubeObject,
  { apiVersion, kind }: GroupVersionKind,
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = `${versionOf(apiVersion)}.${groupOf(apiVersion)}`;
  try {
    if (await mayRead(client, name, signal)) {
      const service = serviceOf(await client.get(apiServiceRef(name), { signal }));
      return service && `APIService ${name} has Service ${service} answer for ${apiVersion}`;
    }
  } catch (err) {
    if (err instanceof KindNotServed) return undefined; // an API server without an aggregation layer
    if (!isForbidden(err)) throw err;
  }
  const answer = await client.raw("GET", groupVersionPath(apiVersion), undefined, { signal }).catch((fault: unknown) => {
    if (isForbidden(fault) || isNotFound(fault)) return fault;
    throw fault;
  });
  if (answer instanceof Error) return `discovery of ${apiVersion} failed (${messageOf(answer)}), and APIService ${name} may not be read`;
  if (hashIn(answer, kind) === storageHash(crd, groupOf(apiVersion), kind)) return undefined;
  return `discovery of ${apiVersion} does not show the storage version of the definition, and APIService ${name} may not be read`;
}

/** Asks first, because a denied request looks like an attack in an audit log. */
function mayRead(client: Pick<Client, "raw">, name: string, signal: AbortSignal): Promise<boolean> {
  return isAllowed(client, "", { group: "apiregistration.k8s.io", resource: "apiservices", name, verb: "get" }, signal);
}

function apiServiceRef(name: string): ObjectRef {
  return { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", name };
}

/** Such as "ns/name"; undefined for an APIService that is local. */
function serviceOf(apiService: KubeObject | undefined): string | undefined {
  const spec = apiService?.["spec"];
  if (!isObject(spec) || !isObject(spec["service"])) return undefined;
  const { namespace, name } = spec["service"];
  return `${String(namespace)}/${String(name)}`;
}

function hashIn(resourceList: unknown, kind: string): string | undefined {
  const resources = isObject(resourceList) && Array.isArray(resourceList["resources"]) ? resourceList["resources"] : [];
  // Subresources, such as things/status, have the kind too, and no hash.
  const found = resources.find((one) => isObject(one) && one["kind"] === kind && !String(one["name"]).includes("/")) as unknown;
  return isObject(found) && typeof found["storageVersionHash"] === "string" ? found["storageVersionHash"] : undefined;
}

/**
 * What discovery shows for the version in which custom resources are stored. Kubernetes may change it, and has not since 1.14; a definition whose
 * hash is not recognized is kept.
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.0/staging/src/k8s.io/apiserver/pkg/endpoints/discovery/storageversionhash.go
 */
function storageHash(crd: KubeObject, group: string, kind: string): string | undefined {
  const version = versionsOf(crd).find(({ storage }) => storage)?.name;
  if (version === undefined) return undefined;
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, HASH_BYTES).toString("base64");
}
