import { isObject } from "../api/jsonObject.ts";
import { packageContent, Schema } from "../fbc/content.ts";
import type { Meta } from "../fbc/types.ts";

/** The packages that a bundle's meta says it needs by their names, each once; what it needs by an API, or as a choice, is not among them. */
export function neededPackages(meta: Meta): string[] {
  if (meta.schema !== Schema.bundle) return [];
  const properties = packageContent([meta], meta.package).bundles.flatMap((bundle) => bundle.properties);
  const required = properties.filter(({ type }) => type === "olm.package.required").map(({ value }) => value);
  const names = required.flatMap((value) => (isObject(value) && typeof value["packageName"] === "string" ? [value["packageName"]] : []));
  return [...new Set(names)];
}
