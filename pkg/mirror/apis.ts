import { isObject } from "../api/jsonObject.ts";
import { packageContent, Schema } from "../fbc/content.ts";
import type { Meta } from "../fbc/types.ts";

/** The APIs that a bundle's meta says it needs, each once, such as "db.example.com/v1 Database". */
export function neededApis(meta: Meta): string[] {
  return apisOf(meta, "olm.gvk.required");
}

/** The APIs that it says it provides. */
export function providedApis(meta: Meta): string[] {
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
