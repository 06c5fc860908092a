import type { Meta } from "../fbc/types.ts";

/** Properties of a bundle that resolution reads; the rest, above all the ClusterServiceVersion's metadata, is most of a catalog. */
const KEPT_PROPERTIES: ReadonlySet<unknown> = new Set([
  "olm.package",
  "olm.package.required",
  "olm.gvk",
  "olm.gvk.required",
  "olm.constraint",
  "olm.maxOpenShiftVersion",
]);

/** `meta` with only what resolution reads: no icons, descriptions, related images and big properties; channels and deprecations as they are. */
export function slim(meta: Meta): Meta {
  if (meta.schema === "olm.package") {
    const { schema, name, defaultChannel } = meta.blob;
    return { ...meta, blob: { schema, name, ...(defaultChannel === undefined ? {} : { defaultChannel }) } };
  }
  if (meta.schema !== "olm.bundle") return meta;
  const { relatedImages: _related, properties, ...rest } = meta.blob;
  if (!Array.isArray(properties)) return meta;
  const kept = properties.filter((p: unknown) => typeof p === "object" && p !== null && "type" in p && KEPT_PROPERTIES.has(p.type));
  return { ...meta, blob: { ...rest, properties: kept } };
}
