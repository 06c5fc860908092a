import { ANNOTATION_API_KINDS } from "../api/constants.ts";
import { isObject } from "../api/jsonObject.ts";
import { type GroupVersionKind, groupOf, type KubeObject } from "../api/k8s.ts";
import type { ApiKind } from "./apiServices.ts";

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
