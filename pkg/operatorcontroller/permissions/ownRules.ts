import { createHash } from "node:crypto";
import type { KubeObject } from "../../api/k8s.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import type { Client } from "../../kube/client.ts";
import type { Grant, PolicyRule } from "../../rbac/policyRule.ts";
import type { Resource, ResourceOf } from "../../rbac/resources.ts";
import { findMissingPolicyRules, type GrantedRules } from "../../rbac/ruleSets.ts";
import type { StreamSpec } from "../watches/metadataStream.ts";

/** The rules of an identity in one scope that the API server can list. */
export interface ScopeRules {
  rules: PolicyRule[];
  /** Whether some authorizers cannot list their rules. */
  incomplete: boolean;
  /** The error that occurred when the API server collected the rules, such as a binding to a missing role; empty without an error. */
  error: string;
}

/** The rules of an identity in all requested scopes. */
export interface OwnRules {
  granted: GrantedRules;
  incomplete: boolean;
  error: string;
}

type RawClient = Pick<Client, "raw">;

const AUTHORIZATION = "/apis/authorization.k8s.io/v1";
/** Not a valid namespace name. A review in such a namespace returns only cluster-wide rules. */
const NO_NAMESPACE = "-";
const MAX_ERROR = 300;

/**
 * Lists the rules of the client's identity in the cluster and in these namespaces, with one SelfSubjectRulesReview each.
 * @throws KubeError if a review fails or is denied.
 */
export async function listOwnRules(client: RawClient, namespaces: readonly string[], signal: AbortSignal): Promise<OwnRules> {
  const scopes = ["", ...namespaces];
  const results = await Promise.all(scopes.map((scope) => listScopeRules(client, scope, signal)));
  const byScope = scopes.map((scope, i) => [scope, results[i]?.rules ?? []] as const);
  return {
    granted: { clusterRules: byScope[0]?.[1] ?? [], namespaceRules: new Map(byScope.slice(1)) },
    incomplete: results.some(({ incomplete }) => incomplete),
    error: results.find(({ error }) => error !== "")?.error ?? "",
  };
}

/** Lists the rules of the client's identity in one scope; "" is the cluster. @throws KubeError if the review fails or is denied. */
export async function listScopeRules(client: RawClient, namespace: string, signal: AbortSignal): Promise<ScopeRules> {
  const body = newReview("SelfSubjectRulesReview", { namespace: namespace || NO_NAMESPACE });
  const { status } = (await client.raw("POST", `${AUTHORIZATION}/selfsubjectrulesreviews`, body, { signal })) as RulesReview;
  return {
    rules: [...(status?.resourceRules ?? []), ...(status?.nonResourceRules ?? [])],
    incomplete: status?.incomplete ?? false,
    error: (status?.evaluationError ?? "").slice(0, MAX_ERROR),
  };
}

/** Reports whether the client's identity has one permission, according to all authorizers. */
export async function isAllowed(client: RawClient, namespace: string, grant: Grant, signal: AbortSignal): Promise<boolean> {
  const { group, resource, name, verb } = grant;
  const [plural, subresource] = resource.split("/");
  const resourceAttributes = { namespace, group, resource: plural, subresource, name, verb };
  const body = newReview("SelfSubjectAccessReview", { resourceAttributes });
  const { status } = (await client.raw("POST", `${AUTHORIZATION}/selfsubjectaccessreviews`, body, { signal })) as AccessReview;
  return status?.allowed ?? false;
}

/** Computes a hash of rules that does not depend on their order. */
export function hashRules(rules: readonly PolicyRule[]): string {
  return createHash("sha256")
    .update(encodeCanonicalJson(rules.map((rule) => encodeCanonicalJson(rule)).sort()))
    .digest("hex");
}

interface RulesReview {
  status?: { resourceRules?: PolicyRule[]; nonResourceRules?: PolicyRule[]; incomplete?: boolean; evaluationError?: string };
}

interface AccessReview {
  status?: { allowed?: boolean };
}

function newReview(kind: string, spec: Record<string, unknown>): Record<string, unknown> {
  return { apiVersion: "authorization.k8s.io/v1", kind, spec };
}

/** Reports whether the identity has permission to watch all objects of a kind with one watch by label. */
export type MayWatchAll = (spec: StreamSpec) => boolean;

/**
 * Looks up the kinds of which the client's identity may list and watch all objects, with one request for each scope. Avoids watches that would be
 * denied.
 * @returns undefined if this cannot be determined.
 */
export async function findWatchPermissions(
  client: Pick<Client, "raw">,
  objects: readonly KubeObject[],
  resourceOf: ResourceOf,
  signal: AbortSignal,
): Promise<MayWatchAll | undefined> {
  const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  const own = await listOwnRules(client, [...namespaces], signal).catch(() => undefined);
  signal.throwIfAborted();
  if (!own || own.incomplete) return undefined;
  const { clusterRules, namespaceRules } = own.granted;
  const allowed = new Map<string, boolean>();
  for (const { apiVersion, kind, metadata } of objects) {
    const found = resourceOf({ apiVersion, kind });
    const held = [...clusterRules, ...(namespaceRules.get(metadata.namespace ?? "") ?? [])];
    const key = kindKey({ apiVersion, kind, namespace: metadata.namespace });
    if (!allowed.has(key)) allowed.set(key, found !== undefined && findMissingPolicyRules([newWatchRule(found)], held).length === 0);
  }
  return (spec) => allowed.get(kindKey(spec)) ?? false;
}

function kindKey({ apiVersion, kind, namespace }: StreamSpec): string {
  return JSON.stringify([apiVersion, kind, namespace ?? ""]);
}

function newWatchRule({ group, resource }: Resource): PolicyRule {
  return { apiGroups: [group], resources: [resource], verbs: ["list", "watch"] };
}
