import { messageOf } from "../../errors/errors.ts";
import { packageContent, Schema } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";

/**
 * The images that a bundle's meta names: its own first, then the related ones.
 * @returns none for a meta of another schema. @throws Error that names a bundle that cannot be read.
 */
export function imagesOf(meta: Meta): string[] {
  if (meta.schema !== Schema.bundle) return [];
  try {
    return packageContent([meta], meta.package)
      .bundles.flatMap(({ image, relatedImages = [] }) => [image, ...relatedImages.map((related) => related.image)])
      .filter((image) => image !== "");
  } catch (err) {
    throw new Error(`images of bundle ${goQuote(meta.name)}: ${messageOf(err)}`, { cause: err });
  }
}

/** The packages that a bundle's meta says it needs by their names, each once; what it needs by an API, or as a choice, is not among them. */
export function neededPackages(meta: Meta): string[] {
  if (meta.schema !== Schema.bundle) return [];
  const properties = packageContent([meta], meta.package).bundles.flatMap((bundle) => bundle.properties);
  const required = properties.filter(({ type }) => type === "olm.package.required").map(({ value }) => value);
  const names = required.flatMap((value) => (isObject(value) && typeof value["packageName"] === "string" ? [value["packageName"]] : []));
  return [...new Set(names)];
}

/** The APIs that a bundle's meta says it needs, each once, such as "db.example.com/v1 Database". */
export function neededApis(meta: Meta): string[] {
  return apisOf(meta, "olm.gvk.required");
}

/** The APIs that it says it provides. */
export function listProvidedApis(meta: Meta): string[] {
  return apisOf(meta, "olm.gvk");
}

function apisOf(meta: Meta, wanted: string): string[] {
  if (meta.schema !== Schema.bundle) return [];
  const properties = packageContent([meta], meta.package).bundles.flatMap((bundle) => bundle.properties);
  const apis = properties.flatMap(({ type, value }) => {
    if (type !== wanted || !isObject(value)) return [];
    const [group, version, kind] = ["group", "version", "kind"].map((key) => value[key]);
    return typeof group === "string" && typeof version === "string" && typeof kind === "string" ? [`${group}/${version} ${kind}`] : [];
  });
  return [...new Set(apis)];
}
