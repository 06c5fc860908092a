import { getErrorMessage } from "../../errors/errors.ts";
import { Schema, selectPackage } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";

/**
 * Lists the images of an olm.bundle object: the bundle image, then the related images.
 * @returns an empty list for other schemas.
 * @throws Error with the bundle name if the images cannot be read.
 */
export function listImages(meta: Meta): string[] {
  if (meta.schema !== Schema.bundle) return [];
  try {
    return selectPackage([meta], meta.package)
      .bundles.flatMap(({ image, relatedImages = [] }) => [image, ...relatedImages.map((related) => related.image)])
      .filter((image) => image !== "");
  } catch (err) {
    throw new Error(`images of bundle ${goQuote(meta.name)}: ${getErrorMessage(err)}`, { cause: err });
  }
}

/** Lists the distinct packages that an olm.bundle object requires by name. Ignores required APIs and olm.constraint properties. */
export function listRequiredPackages(meta: Meta): string[] {
  if (meta.schema !== Schema.bundle) return [];
  const properties = selectPackage([meta], meta.package).bundles.flatMap((bundle) => bundle.properties);
  const required = properties.filter(({ type }) => type === "olm.package.required").map(({ value }) => value);
  const names = required.flatMap((value) => (isObject(value) && typeof value["packageName"] === "string" ? [value["packageName"]] : []));
  return [...new Set(names)];
}

/** Lists the distinct APIs that an olm.bundle requires, such as "db.example.com/v1 Database". */
export function listRequiredApis(meta: Meta): string[] {
  return listApis(meta, "olm.gvk.required");
}

/** Lists the distinct APIs that an olm.bundle provides. */
export function listProvidedApis(meta: Meta): string[] {
  return listApis(meta, "olm.gvk");
}

function listApis(meta: Meta, propertyType: string): string[] {
  if (meta.schema !== Schema.bundle) return [];
  const properties = selectPackage([meta], meta.package).bundles.flatMap((bundle) => bundle.properties);
  const apis = properties.flatMap(({ type, value }) => {
    if (type !== propertyType || !isObject(value)) return [];
    const [group, version, kind] = ["group", "version", "kind"].map((key) => value[key]);
    return typeof group === "string" && typeof version === "string" && typeof kind === "string" ? [`${group}/${version} ${kind}`] : [];
  });
  return [...new Set(apis)];
}
