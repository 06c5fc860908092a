import { isObject } from "../api/jsonObject.ts";
import type { RawObject } from "./decodeSchema.ts";

/** A version of a CRD; a schema that is not there is undefined. */
export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema: unknown;
}

/** The versions of a CRD in its order; none where there are none. */
export function versionsOf(crd: unknown): CrdVersion[] {
  const { versions } = specOf(crd);
  if (!Array.isArray(versions)) return [];
  return versions.filter(isObject).map(({ name, served, storage, schema }) => ({
    name: textOf(name),
    served: served === true,
    storage: storage === true,
    schema: isObject(schema) ? schema["openAPIV3Schema"] : undefined,
  }));
}

/** Versions that the API server has stored objects in, or may have. */
export function storedVersionsOf(crd: unknown): string[] {
  const status = isObject(crd) ? crd["status"] : undefined;
  const stored = isObject(status) ? status["storedVersions"] : undefined;
  return Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : [];
}

/** "Namespaced" or "Cluster"; empty where a CRD does not say. */
export function scopeOf(crd: unknown): string {
  return textOf(specOf(crd)["scope"]);
}

/** Group and kind of the custom resources of a CRD. */
export function kindOf(crd: unknown): { group: string; kind: string } {
  const { group, names } = specOf(crd);
  return { group: textOf(group), kind: isObject(names) ? textOf(names["kind"]) : "" };
}

/** Whether objects are converted between versions by a webhook, instead of by another apiVersion alone. */
export function hasWebhook(crd: unknown): boolean {
  const { conversion } = specOf(crd);
  return isObject(conversion) && conversion["strategy"] === "Webhook";
}

function specOf(crd: unknown): RawObject {
  const spec = isObject(crd) ? crd["spec"] : undefined;
  return isObject(spec) ? spec : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
