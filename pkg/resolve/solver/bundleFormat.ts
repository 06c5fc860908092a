import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import { compareVersionRelease, formatVersionRelease } from "../../version/version.ts";
import type { SolverBundle } from "./problem.ts";

/** Maximum length of a name before it is truncated. */
const MAX_NAME = 64;
/** Maximum number of listed versions or version runs, packages, and catalogs. */
const MAX_LISTED = 4;

/** The parts of a bundle that a text shows. */
export type NamedBundle = Pick<SolverBundle, "packageName" | "name" | "version" | "catalog">;

/** All bundles that a text must tell apart. */
export interface BundleDirectory {
  /** Returns all bundles of a package, including those that cannot be chosen. */
  bundlesOf(packageName: string): readonly NamedBundle[];
  isInstalled(bundle: NamedBundle): boolean;
}

/** Formats a package name; quoted only if it contains unusual characters. */
export function formatPackageName(name: string): string {
  const short = truncate(name.trim(), MAX_NAME);
  return /^[-.0-9A-Za-z]+\u2026?$/.test(short) ? short : goQuote(short);
}

/** Formats the name of a catalog. */
export function formatSourceCatalog(name: string): string {
  return `catalog ${goQuote(truncate(name.trim(), MAX_NAME))}`;
}

/** Formats a list such as `a, b and c`: at most four items, followed by the number of omitted ones, such as `and 2 more packages`. */
export function formatConjunction(items: readonly string[], conjunction: "and" | "or" = "and", noun = ""): string {
  const more = items.length - MAX_LISTED;
  const rest = `${more} more${noun === "" ? "" : ` ${noun}${more === 1 ? "" : "s"}`}`;
  const shownItems = more > 0 ? [...items.slice(0, MAX_LISTED), rest] : items;
  return shownItems.length < 2 ? shownItems.join("") : `${shownItems.slice(0, -1).join(", ")} ${conjunction} ${shownItems.at(-1)}`;
}

function compareBundles(a: NamedBundle, b: NamedBundle): number {
  const byVersion =
    a.version && b.version
      ? compareVersionRelease(a.version, b.version)
      : Number(a.version !== undefined) - Number(b.version !== undefined);
  return byVersion || compareText(a.name, b.name) || compareText(a.catalog ?? "", b.catalog ?? "");
}

/** Returns the bundle's version, or its name if it has none. */
export function formatBundleVersion({ version, name }: NamedBundle): string {
  return truncate(version ? formatVersionRelease(version) : goQuote(name), MAX_NAME);
}

/** Formats a bundle whose version `others` have too: `1.0.0 (installed)`, `1.0.0 (catalog "x")` or `1.0.0 (bundle "b.v1.0.0")`. */
function formatAmbiguous(bundle: NamedBundle, others: readonly NamedBundle[], directory: BundleDirectory): string {
  const version = formatBundleVersion(bundle);
  if (directory.isInstalled(bundle)) return `${version} (installed)`;
  const from = bundle.catalog === undefined ? undefined : formatSourceCatalog(bundle.catalog);
  if (from !== undefined && others.every(({ catalog }) => catalog !== bundle.catalog)) return `${version} (${from})`;
  const isNamed = from === undefined || others.every(({ name }) => name !== bundle.name);
  return `${version} (bundle ${goQuote(truncate(bundle.name, MAX_NAME))}${isNamed ? "" : ` of ${from}`})`;
}

/**
 * Lists the versions of bundles of one package, lowest first. Three or more that are consecutive in `all` become a run such as `1.0.0 to 1.2.0`. Tells
 * apart bundles whose version other bundles in `all` have too.
 */
function listVersions(bundles: Iterable<NamedBundle>, all: readonly NamedBundle[], directory: BundleDirectory): string[][] {
  const shown = new Set(bundles);
  const runs: string[][] = [];
  let isOpen = false;
  for (const [version, same] of Map.groupBy(all.toSorted(compareBundles), formatBundleVersion)) {
    const others = same.filter((bundle) => !shown.has(bundle));
    const isWhole = others.length === 0;
    if (isWhole && isOpen) runs.at(-1)?.push(version);
    else if (isWhole) runs.push([version]);
    else runs.push(...same.filter((bundle) => shown.has(bundle)).map((bundle) => [formatAmbiguous(bundle, others, directory)]));
    isOpen = isWhole && same[0]?.version !== undefined;
  }
  return runs;
}

/**
 * Formats the versions of bundles of one package, such as `1.0.0, 1.2.0 to 1.4.0 and 1.6.0 (catalog "x")`.
 * @param all bundles of the package that must be told apart
 */
export function formatBundleVersions(
  bundles: Iterable<NamedBundle>,
  all: readonly NamedBundle[],
  directory: BundleDirectory,
  conjunction: "and" | "or" = "and",
): string {
  const runs = listVersions(bundles, all, directory);
  return formatConjunction(
    runs.flatMap((run) => (run.length > 2 ? [`${run[0]} to ${run.at(-1)}`] : run)),
    conjunction,
  );
}

/** Formats bundles of several packages: `b 1.0.0 to 1.5.0 and d 2.0.0`. */
export function formatBundles(bundles: Iterable<NamedBundle>, directory: BundleDirectory): string {
  const byPackage = Map.groupBy(bundles, ({ packageName }) => packageName);
  const items = [...byPackage.keys()].sort(compareText).map((name) => {
    const versions = formatBundleVersions(byPackage.get(name) ?? [], directory.bundlesOf(name), directory);
    return `${formatPackageName(name)} ${versions}`;
  });
  return formatConjunction(items, "and", "package");
}

/** Reports whether the formatted bundles are a single version. Several catalogs may offer the same version of a package. */
export function isOneInText(bundles: Iterable<NamedBundle>, directory: BundleDirectory): boolean {
  const byPackage = Map.groupBy(bundles, ({ packageName }) => packageName);
  const [name = ""] = byPackage.keys();
  return byPackage.size === 1 && listVersions(byPackage.get(name) ?? [], directory.bundlesOf(name), directory).flat().length === 1;
}
