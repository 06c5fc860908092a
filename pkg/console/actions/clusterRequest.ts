import { CONSOLE_MANAGER } from "../../api/constants.ts";
import { type GroupVersionKind, getGroup, type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { writeExactJson } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { CONTENT_TYPE, formatResourcePath } from "../../kube/request.ts";
import { parseWarnings, readResponse } from "../../kube/response.ts";
import { describeObject } from "../../release/identity.ts";
import type { ObjectPatch } from "../../rollout/changes.ts";
import type { NeededPermission } from "../cluster/accessChecks.ts";

/** Time for one request, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** One write of an object: the bytes that the console shows and sends. */
export interface ClusterRequest {
  readonly method: "PATCH" | "DELETE";
  /** With the query. */
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
  /** Such as `patch ClusterExtension argocd`. */
  readonly description: string;
  /** What the user must be allowed to do. */
  readonly permissions: readonly NeededPermission[];
  /** resourceVersion of the object before the request; undefined if it does not exist or may not be read. */
  readonly before: string | undefined;
  /** Whether the request creates the object. */
  readonly isNew: boolean;
}

type RequestClient = Pick<Client, "get" | "resourceFor">;

/** Returns the request of a change of one object, with the field manager of the console. */
export async function buildPatchRequest(
  client: RequestClient,
  { ref, body, type }: ObjectPatch,
  before?: KubeObject,
): Promise<ClusterRequest> {
  return {
    method: "PATCH",
    path: await formatPath(client, ref, { fieldManager: CONSOLE_MANAGER }),
    contentType: { merge: CONTENT_TYPE.mergePatch }[type],
    body: writeExactJson(body),
    description: `patch ${describeObject(ref)}`,
    permissions: [await findPermission(client, "patch", ref)],
    before: before?.metadata.resourceVersion,
    isNew: false,
  };
}

/** Returns the request that applies an object server-side. @param options `force`: overwrites fields of other field managers */
export async function buildApplyRequest(
  client: RequestClient,
  object: KubeObject,
  { signal, force = false }: { readonly signal?: AbortSignal; readonly force?: boolean } = {},
): Promise<ClusterRequest> {
  const ref = toObjectRef(object);
  const live = await client.get(ref, { metadataOnly: true, ...(signal ? { signal } : {}) }).catch((err: unknown) => {
    if (isForbidden(err)) return "unknown" as const;
    throw err;
  });
  const isNew = live === undefined;
  const verbs = isNew ? ["create", "patch"] : ["patch"];
  return {
    method: "PATCH",
    path: await formatPath(client, ref, { fieldManager: CONSOLE_MANAGER, ...(force ? { force: "true" } : {}) }),
    contentType: CONTENT_TYPE.applyPatch,
    body: writeExactJson(object),
    description: `${isNew ? "create" : "apply"} ${describeObject(ref)}`,
    permissions: await Promise.all(verbs.map((verb) => findPermission(client, verb, ref))),
    before: live === "unknown" ? undefined : live?.metadata.resourceVersion,
    isNew,
  };
}

/** Returns the request that deletes an object, unless it was recreated. */
export async function buildDeleteRequest(client: RequestClient, { metadata, ...object }: KubeObject): Promise<ClusterRequest> {
  const ref = toObjectRef({ ...object, metadata });
  const { uid } = metadata;
  const body = { apiVersion: "v1", kind: "DeleteOptions", ...(uid === undefined ? {} : { preconditions: { uid } }) };
  return {
    method: "DELETE",
    path: await formatPath(client, ref, {}),
    contentType: CONTENT_TYPE.json,
    body: writeExactJson(body),
    description: `delete ${describeObject(ref)}`,
    permissions: [await findPermission(client, "delete", ref)],
    before: metadata.resourceVersion,
    isNew: false,
  };
}

async function formatPath(client: RequestClient, ref: ObjectRef, query: Readonly<Record<string, string>>): Promise<string> {
  return formatResourcePath(ref, await client.resourceFor(ref), ref, query);
}

/** Returns the permission for a verb on an object. A permission to create cannot name the object. */
async function findPermission(client: RequestClient, verb: string, ref: ObjectRef): Promise<NeededPermission> {
  return { ...(await findResource(client, verb, ref)), ...(verb === "create" ? {} : { name: ref.name }) };
}

async function findResource(client: RequestClient, verb: string, ref: GroupVersionKind & { namespace?: string | undefined }) {
  const { resource, namespaced } = await client.resourceFor(ref);
  return { verb, group: getGroup(ref.apiVersion), resource, ...(namespaced && ref.namespace ? { namespace: ref.namespace } : {}) };
}

/** The response to a request that succeeded. */
export interface SentRequest {
  /** Whether the object has the same resourceVersion as before. Unknown in a dry run, which never changes it. */
  readonly isUnchanged: boolean;
  readonly warnings: readonly string[];
}

/**
 * Sends a request with exactly its bytes.
 * @param options `dryRun`: the API server checks the request and stores nothing; this adds only the option for it
 * @throws KubeError if the API server rejects it
 */
export async function sendClusterRequest(
  client: Pick<Client, "request">,
  given: ClusterRequest,
  { dryRun = false, signal }: { readonly dryRun?: boolean; readonly signal?: AbortSignal } = {},
): Promise<SentRequest> {
  const { method, path, contentType, body, before } = dryRun ? toDryRun(given) : given;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const response = await client.request(method, path, {
    body,
    headers: { "content-type": contentType },
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  });
  const warnings = parseWarnings(response.headers["warning"]);
  const object = await readResponse(response, (text) => text);
  const after = isObject(object) && isObject(object["metadata"]) ? object["metadata"]["resourceVersion"] : undefined;
  return { isUnchanged: method === "PATCH" && before !== undefined && before === after, warnings };
}

/** A DELETE with a body ignores the query, so its dry run is also an option in the body. The query shows it in audit logs. */
function toDryRun(request: ClusterRequest): ClusterRequest {
  const { method, path, body } = request;
  const tried = { ...request, path: `${path}${path.includes("?") ? "&" : "?"}dryRun=All` };
  return method === "DELETE" ? { ...tried, body: writeExactJson({ ...(JSON.parse(body) as object), dryRun: ["All"] }) } : tried;
}
