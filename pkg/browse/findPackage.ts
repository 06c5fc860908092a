import { wrapError } from "../errors/errors.ts";
import { selectPackage } from "../fbc/content.ts";
import { PackageData, sortBundlesByVersion } from "../fbc/summary/packageData.ts";
import { findSimilarNames } from "../fbc/summary/search.ts";
import { goQuote } from "../golang/quote.ts";
import type { OpenCatalog, OpenCatalogs } from "../sources/openCatalogs.ts";
import type { PackageInCatalog } from "./packageView.ts";

const NO_HASH = Buffer.alloc(0);

/**
 * Returns the package from each catalog that contains it, by descending priority, then by catalog name; at least one.
 * @throws Error that suggests similar names if no catalog contains the package, or if its metas are invalid
 */
export async function findPackage(
  name: string,
  { catalogs }: Pick<OpenCatalogs, "catalogs">,
): Promise<readonly [PackageInCatalog, ...PackageInCatalog[]]> {
  const all = await Promise.all(catalogs.map((catalog) => readPackageIn(catalog, name)));
  const [first, ...others] = all.flatMap((one) => one ?? []);
  if (!first) throw new Error(formatMissingPackage(name, catalogs));
  return [first, ...others];
}

async function readPackageIn({ name: catalog, priority, book }: OpenCatalog, name: string): Promise<PackageInCatalog | undefined> {
  const metas = await book.metasOf(name);
  if (metas.length === 0) return undefined;
  const facts = new PackageData(name);
  for (const meta of metas) facts.add(meta, NO_HASH);
  try {
    return { catalog, priority, name, metas, content: selectPackage(metas, name), facts, bundles: sortBundlesByVersion(facts.bundles) };
  } catch (err) {
    throw wrapError(`catalog ${goQuote(catalog)}: `, err);
  }
}

function formatMissingPackage(name: string, catalogs: readonly OpenCatalog[]): string {
  const where = catalogs.length === 1 ? `catalog ${catalogs[0]?.name}` : `catalogs ${catalogs.map((one) => one.name).join(", ")}`;
  const near = findSimilarNames(name, [...new Set(catalogs.flatMap(({ book }) => book.names()))]);
  const hint = near.length > 0 ? `did you mean ${near.join(" or ")}?` : "run olmv1 search to find packages";
  return `package ${goQuote(name)} not found in ${where}; ${hint}`;
}
