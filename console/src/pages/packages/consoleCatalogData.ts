import { PackageDetails, PackageIcon, PackagePage, PackagePicture } from "../../../../pkg/consoleapi/packages.ts";
import { getJson } from "../../api/request.ts";
import type { CatalogData } from "./catalogData.tsx";

/** The catalogs of the cluster, from the console. */
export const consoleCatalogData: CatalogData = {
  hasCluster: true,
  search: (filters, after, signal) => getJson(`/api/packages${formatQuery({ ...filters, after })}`, PackagePage, signal),
  describe: ({ package: name, ...query }, signal) => getJson(getPath(name, "", query), PackageDetails, signal),
  readIcon: async (catalog, name, signal) => (await getJson(getPath(name, "/icon", { catalog }), PackageIcon, signal)).icon,
  readGraph: async (catalog, name, signal) => (await getJson(getPath(name, "/graph", { catalog }), PackagePicture, signal)).picture,
};

function getPath(name: string, part: string, query: Readonly<Record<string, string | undefined>>): string {
  return `/api/packages/${encodeURIComponent(name)}${part}${formatQuery(query)}`;
}

/** Formats parameters with their question mark; omits undefined ones. */
export function formatQuery(query: Readonly<Record<string, string | undefined>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, value);
  return params.size > 0 ? `?${params}` : "";
}
