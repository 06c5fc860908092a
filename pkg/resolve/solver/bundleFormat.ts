import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import { compareVersionRelease, formatVersionRelease } from "../../version/version.ts";
import type { SolverBundle } from "./problem.ts";

/** Maximum length of a name before it is truncated. */
const MAX_NAME = 64;
/** Maximum number of listed versions or version runs, packages, and catalogs. */
const MAX_LISTED = 4;

/** Formats a package name; quoted only if it contains unusual characters. */
export function formatPackageName(name: string): string {
  const short = truncate(name.trim(), MAX_NAME);
  return /^[-.0-9A-Za-z]+\u2026?$/.test(short) ? short : goQuote(short);
}

/** Formats a list such as `a, b and c`: at most four items, followed by the number of omitted items. */
export function formatConjunction(items: readonly string[], conjunction: "and" | "or" = "and"): string {
  const more = items.length - MAX_LISTED;
  const shownItems = more > 0 ? [...items.slice(0, MAX_LISTED), `${more} more`] : items;
  return shownItems.length < 2 ? shownItems.join("") : `${shownItems.slice(0, -1).join(", ")} ${conjunction} ${shownItems.at(-1)}`;
}

function compareBundles(a: SolverBundle, b: SolverBundle): number {
  const byVersion =
    a.version && b.version
      ? compareVersionRelease(a.version, b.version)
      : Number(a.version !== undefined) - Number(b.version !== undefined);
  return byVersion || compareText(a.name, b.name);
}

/** Returns the bundle's version, or its name if it has none. */
export function formatBundleVersion({ version, name }: SolverBundle): string {
  return truncate(version ? formatVersionRelease(version) : goQuote(name), MAX_NAME);
}

function sortVersions(bundles: readonly SolverBundle[]): string[] {
  return [...new Set(bundles.toSorted(compareBundles).map(formatBundleVersion))];
}

/**
 * Formats the versions of bundles of one package: `1.0.0, 1.1.0 and 1.3.0`. Three or more that are consecutive in `all` become `1.0.0 to 1.2.0`.
 */
export function formatBundleVersions(
  bundles: readonly SolverBundle[],
  all: readonly SolverBundle[],
  conjunction: "and" | "or" = "and",
): string {
  const shownItems = new Set(sortVersions(bundles));
  const runs: string[][] = [];
  let isOpen = false;
  for (const version of sortVersions(all)) {
    if (shownItems.has(version) && isOpen) runs.at(-1)?.push(version);
    else if (shownItems.has(version)) runs.push([version]);
    isOpen = shownItems.has(version);
  }
  return formatConjunction(
    runs.flatMap((run) => (run.length > 2 ? [`${run[0]} to ${run.at(-1)}`] : run)),
    conjunction,
  );
}

/** Formats bundles of several packages: `b 1.0.0 to 1.5.0 and d 2.0.0`. */
export function formatBundles(bundles: readonly SolverBundle[], candidatesOf: (packageName: string) => readonly SolverBundle[]): string {
  const byPackage = Map.groupBy(bundles, ({ packageName }) => packageName);
  return formatConjunction(
    [...byPackage.keys()]
      .sort(compareText)
      .map((name) => `${formatPackageName(name)} ${formatBundleVersions(byPackage.get(name) ?? [], candidatesOf(name))}`),
  );
}

/** Reports whether the formatted bundles are a single version. Several catalogs may offer the same version of a package. */
export function isOneInText(bundles: readonly SolverBundle[]): boolean {
  return new Set(bundles.map((bundle) => `${bundle.packageName} ${formatBundleVersion(bundle)}`)).size === 1;
}
