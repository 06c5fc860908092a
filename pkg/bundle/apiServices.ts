import { ANNOTATION_API_KINDS } from "../api/constants.ts";
import { type GroupVersionKind, groupOf, type KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import type { Csv } from "./types.ts";

/** A group version that an operator serves itself: what becomes one APIService. */
export interface OwnedApiService {
  /** "version.group", as the APIService is called. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly deploymentName: string;
  /** Of the Service and of the container. */
  readonly port: number;
  /** In the order of the ClusterServiceVersion, each once. */
  readonly kinds: readonly ApiKind[];
}

/** A kind that a group version serves. */
interface ApiKind {
  readonly kind: string;
  /** Plural name in paths. */
  readonly name: string;
}

const DEFAULT_PORT = 443;

/**
 * What the ClusterServiceVersion says that the operator serves, a group version each, in the order in which they are first named.
 * Where its entries disagree about deployment or port the first counts; validators say so.
 */
export function ownedApiServices({ spec }: Pick<Csv, "spec">): OwnedApiService[] {
  const found = new Map<string, OwnedApiService & { kinds: ApiKind[] }>();
  for (const { group, version, kind, name: plural, deploymentName = "", containerPort } of spec.apiservicedefinitions.owned ?? []) {
    const name = `${version}.${group}`;
    const service = found.get(name) ?? { name, group, version, deploymentName, port: portOf(containerPort), kinds: [] };
    if (!service.kinds.some((other) => other.kind === kind && other.name === plural)) service.kinds.push({ kind, name: plural });
    found.set(name, service);
  }
  return [...found.values()];
}

/** The port of an API service whose description says `containerPort`. */
export function portOf(containerPort: number | undefined): number {
  return containerPort !== undefined && containerPort > 0 ? containerPort : DEFAULT_PORT;
}

/** Names of the Deployments that the API server calls, for webhooks or for APIs: each needs a serving certificate. */
export function servingDeployments({ spec }: Pick<Csv, "spec">): Set<string> {
  const described = [...(spec.webhookdefinitions ?? []), ...(spec.apiservicedefinitions.owned ?? [])];
  return new Set(described.map(({ deploymentName = "" }) => deploymentName));
}

/** A kind that an API server of an operator serves behind an APIService. */
export interface AggregatedApi extends ApiKind {
  readonly group: string;
  readonly version: string;
}

/** Kinds of one APIService at most. */
const MAX_KINDS = 200;

/** True for an APIService of the API server's aggregation layer. */
export function isApiService({ apiVersion, kind }: GroupVersionKind): boolean {
  return kind === "APIService" && groupOf(apiVersion) === "apiregistration.k8s.io";
}

/** The annotation that notes the kinds of an APIService on it. */
export function apiKindsAnnotation(kinds: readonly ApiKind[]): Record<string, string> {
  return { [ANNOTATION_API_KINDS]: JSON.stringify(kinds.map(({ kind, name }) => ({ kind, name }))) };
}

/** The kinds that the APIServices among `objects` serve, as they are noted on them, in their order; none where nothing legible is. */
export function aggregatedApis(objects: readonly KubeObject[]): AggregatedApi[] {
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
