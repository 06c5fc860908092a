import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { compareText } from "../text/compare.ts";

/** An object to be created, with the resource name of its kind. */
export interface CountedObject {
  readonly object: KubeObject;
  /** API group; empty for the core one. */
  readonly group: string;
  /** Such as "configmaps". */
  readonly resource: string;
}

/** A ResourceQuota that the objects exceed in total. */
export interface ExceededQuota {
  readonly namespace: string;
  readonly name: string;
  /** The exceeded resources, sorted, with their counts. */
  readonly limits: readonly { readonly key: string; readonly requested: number; readonly used: number; readonly limited: number }[];
  /** The counted objects. */
  readonly objects: readonly KubeObject[];
}

/** Core resources that a quota may also count without the prefix `count/`. */
const BARE: ReadonlySet<string> = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);
const SUFFIXES: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/**
 * Returns the quotas that creating all of `created` would exceed, even if each object alone fits: a dry run checks a quota, but does not count
 * toward it. Counts objects only, because Pods do not exist yet. Ignores quotas with scopes, which do not count objects.
 * @param quotas ResourceQuotas of any namespace
 * @see k8s.io/apiserver v0.36.3 pkg/admission/plugin/resourcequota/controller.go
 * @see k8s.io/kubernetes v1.36.0 pkg/quota/v1/evaluator/core/services.go
 */
export function findExceededQuotas(quotas: readonly KubeObject[], created: readonly CountedObject[]): ExceededQuota[] {
  return quotas.flatMap((quota) => {
    const { name, namespace = "" } = quota.metadata;
    if (isScoped(quota)) return [];
    const here = created.filter(({ object }) => object.metadata.namespace === namespace);
    const [hard, used] = [parseAmounts(quota, "hard"), parseAmounts(quota, "used")];
    const limits = [...hard].flatMap(([key, limited]) => {
      const requested = here.reduce((sum, object) => sum + (computeUsage(object).get(key) ?? 0), 0);
      const before = used.get(key) ?? 0;
      return requested > 0 && before + requested > limited ? [{ key, requested, used: before, limited }] : [];
    });
    if (limits.length === 0) return [];
    const counting = here.filter((object) => limits.some(({ key }) => computeUsage(object).has(key)));
    return [{ namespace, name, limits: limits.sort((a, b) => compareText(a.key, b.key)), objects: counting.map(({ object }) => object) }];
  });
}

/** Formats the error as the API server does: `exceeded quota: q, requested: configmaps=3, used: configmaps=1, limited: configmaps=3`. */
export function formatExceededQuota({ name, limits }: ExceededQuota): string {
  const values = (of: (limit: ExceededQuota["limits"][number]) => number): string =>
    limits.map((limit) => `${limit.key}=${of(limit)}`).join(",");
  return (
    `exceeded quota: ${name}, requested: ${values(({ requested }) => requested)}, ` +
    `used: ${values(({ used }) => used)}, limited: ${values(({ limited }) => limited)}`
  );
}

/** Returns the quota resources that one object counts toward, with the amounts. */
function computeUsage({ object, group, resource }: CountedObject): ReadonlyMap<string, number> {
  const usage = new Map([[`count/${group === "" ? resource : `${resource}.${group}`}`, 1]]);
  if (group !== "" || !BARE.has(resource)) return usage;
  usage.set(resource, 1);
  if (resource === "services") for (const [key, count] of serviceUsage(object)) if (count > 0) usage.set(key, count);
  return usage;
}

function serviceUsage(service: KubeObject): [string, number][] {
  const spec = (service["spec"] ?? {}) as { type?: unknown; ports?: unknown; allocateLoadBalancerNodePorts?: unknown };
  const ports: readonly JsonObject[] = Array.isArray(spec.ports) ? (spec.ports as JsonObject[]) : [];
  if (spec.type === "NodePort") return [["services.nodeports", ports.length]];
  if (spec.type !== "LoadBalancer") return [];
  const nodePorts = spec.allocateLoadBalancerNodePorts === false ? ports.filter((port) => Number(port["nodePort"] ?? 0) !== 0) : ports;
  return [
    ["services.nodeports", nodePorts.length],
    ["services.loadbalancers", 1],
  ];
}

function isScoped({ spec }: KubeObject & { spec?: unknown }): boolean {
  const { scopes, scopeSelector } = (spec ?? {}) as { scopes?: unknown; scopeSelector?: unknown };
  return (Array.isArray(scopes) && scopes.length > 0) || (scopeSelector !== undefined && scopeSelector !== null);
}

/** Returns the quantities that can be parsed as numbers. A quota without a status denies each object anyway. */
function parseAmounts(quota: KubeObject, member: "hard" | "used"): Map<string, number> {
  const given = ((quota["status"] ?? {}) as Record<string, unknown>)[member] ?? {};
  return new Map(
    Object.entries(given as Record<string, unknown>).flatMap(([key, value]) => {
      const [, digits, suffix = ""] = /^(\d+)([kMGT]i?|Ki)?$/.exec(String(value)) ?? [];
      const factor = SUFFIXES[suffix];
      return digits === undefined || factor === undefined ? [] : [[key, Number(digits) * factor] as const];
    }),
  );
}
