import { ANNOTATION_API_KINDS } from "../api/constants.ts";
import { type GroupVersionKind, getGroup, type KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import type { Csv } from "./types.ts";

/** An API group and version that an operator serves with one APIService. */
export interface OwnedApiService {
  /** Name of the APIService: "version.group". */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly deploymentName: string;
  /** Port of the Service and of the container. */
  readonly port: number;
  /** Distinct kinds in the order in which the ClusterServiceVersion lists them. */
  readonly kinds: readonly ApiKind[];
}

/** A kind of an API group and version. */
interface ApiKind {
  readonly kind: string;
  /** Plural name in paths. */
  readonly name: string;
}

const DEFAULT_PORT = 443;

/**
 * Returns the API groups and versions that the operator serves, in order of first occurrence in the ClusterServiceVersion. If entries for one group
 * and version have different deployments or ports, uses the first entry; validators report the conflict.
 */
export function listOwnedApiServices({ spec }: Pick<Csv, "spec">): OwnedApiService[] {
  const found = new Map<string, OwnedApiService & { kinds: ApiKind[] }>();
  for (const { group, version, kind, name: plural, deploymentName = "", containerPort } of spec.apiservicedefinitions.owned ?? []) {
    const name = `${version}.${group}`;
    const service = found.get(name) ?? { name, group, version, deploymentName, port: getEffectivePort(containerPort), kinds: [] };
    if (!service.kinds.some((other) => other.kind === kind && other.name === plural)) service.kinds.push({ kind, name: plural });
    found.set(name, service);
  }
  return [...found.values()];
}

/** Returns the port of an API service with the given `containerPort`. */
export function getEffectivePort(containerPort: number | undefined): number {
  return containerPort !== undefined && containerPort > 0 ? containerPort : DEFAULT_PORT;
}

/** Returns the names of Deployments that serve webhooks or APIs. Each needs a serving certificate. */
export function listServingDeployments({ spec }: Pick<Csv, "spec">): Set<string> {
  const described = [...(spec.webhookdefinitions ?? []), ...(spec.apiservicedefinitions.owned ?? [])];
  return new Set(described.map(({ deploymentName = "" }) => deploymentName));
}

/** A kind that an operator serves through an APIService. */
export interface AggregatedApi extends ApiKind {
  readonly group: string;
  readonly version: string;
}

/** Maximum kinds of one APIService. */
const MAX_KINDS = 200;

/** Reports whether an object is an APIService of the aggregation layer. */
export function isApiService({ apiVersion, kind }: GroupVersionKind): boolean {
  return kind === "APIService" && getGroup(apiVersion) === "apiregistration.k8s.io";
}

/** Returns the annotation with the kinds of an APIService. */
export function buildApiKindsAnnotation(kinds: readonly ApiKind[]): Record<string, string> {
  return { [ANNOTATION_API_KINDS]: JSON.stringify(kinds.map(({ kind, name }) => ({ kind, name }))) };
}

/** Returns the kinds in the annotations of all APIServices in `objects`, in order. Ignores invalid annotations. */
export function listAggregatedApis(objects: readonly KubeObject[]): AggregatedApi[] {
  return objects.filter(isApiService).flatMap((object) => {
    const { group, version } = (object["spec"] ?? {}) as { group?: unknown; version?: unknown };
    if (typeof group !== "string" || typeof version !== "string") return [];
    return kindsIn(object.metadata.annotations?.[ANNOTATION_API_KINDS]).map(({ kind, name }) => ({ group, version, kind, name }));
  });
}

function kindsIn(text: string | undefined): ApiKind[] {
  try {
    const listed: unknown = JSON.parse(text ?? "[]");
    return (Array.isArray(listed) ? listed : []).filter(isApiKind).slice(0, MAX_KINDS);
  } catch {
    return [];
  }
}

function isApiKind(value: unknown): value is ApiKind {
  return isObject(value) && typeof value["kind"] === "string" && value["kind"] !== "" && typeof value["name"] === "string";
}
