import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import type { BundleData, PackageData } from "../fbc/summary/packageData.ts";
import { findRepresentative } from "../fbc/summary/packageSummary.ts";
import type { Meta, PackageContent } from "../fbc/types.ts";
import type { SupportQuery } from "../fbc/versionSupport.ts";
import { goQuote } from "../golang/quote.ts";
import { listCandidates } from "../resolve/candidates.ts";
import { type BundleMetadata, findDestinations, SearchBudget } from "../resolve/successors.ts";
import { findCandidates } from "../resolve/whyNot.ts";
import { compareText } from "../text/compare.ts";
import { formatList } from "../text/lists.ts";
import { formatVersionRelease } from "../version/version.ts";
import { buildPackageView, type PackageView, VersionSummaries, type VersionSummary } from "./details/packageView.ts";

/** A package in one catalog. */
export interface PackageInCatalog {
  readonly catalog: string;
  readonly priority: number;
  readonly name: string;
  readonly metas: readonly Meta[];
  readonly content: PackageContent;
  readonly facts: PackageData;
  /** Highest version first. */
  readonly bundles: readonly BundleData[];
}

/** Maximum number of versions listed in an error. */
const MAX_SHOWN = 5;

/** Finds a bundle by version (with or without release) or by name. @throws Error that lists available versions */
export function findBundleByText({ name, bundles, content, catalog }: PackageInCatalog, text: string): BundleData {
  const [meant] = findCandidates(listCandidates(content, new Set()), text).sort(compareNewestFirst);
  const found = bundles.find((bundle) => bundle.name === meant?.bundle.name);
  if (found) return found;
  const newest = formatList(
    bundles.map(({ name: own, version }) => version ?? own),
    { max: MAX_SHOWN, rest: () => "…" },
  );
  throw new Error(`package ${goQuote(name)} has no version ${goQuote(text)} in catalog ${catalog}; the newest are ${newest}`);
}

/** Returns the head of a channel, or the newest of several heads. @throws Error that lists the available channels if the channel does not exist */
function findHead({ name, facts, bundles }: PackageInCatalog, channel: string): BundleData | undefined {
  const found = facts.channels.find((one) => one.name === channel);
  if (!found)
    throw new Error(
      formatMissingChannel(
        name,
        channel,
        facts.channels.map((one) => one.name),
      ),
    );
  const heads = new Set(found.heads);
  return bundles.find((bundle) => heads.has(bundle.name));
}

/** Formats the error for a channel that does not exist. */
export function formatMissingChannel(packageName: string, channel: string, channels: readonly string[]): string {
  return `package ${goQuote(packageName)} has no channel ${goQuote(channel)}; available: ${channels.toSorted(compareText).join(", ")}`;
}

/** Returns the result of the first catalog for which `ask` does not throw. @throws the error of the first catalog if `ask` throws for all catalogs */
export function findFirst<T>(
  all: readonly [PackageInCatalog, ...PackageInCatalog[]],
  ask: (one: PackageInCatalog) => T,
): { found: PackageInCatalog; requested: T } {
  for (const found of all) {
    try {
      return { found, requested: ask(found) };
    } catch {
      // another catalog may contain it
    }
  }
  return { found: all[0], requested: ask(all[0]) };
}

/** The requested version of a package; if no field is set, the head of the package. */
export interface RequestedVersion {
  readonly version?: string | undefined;
  readonly channel?: string | undefined;
}

/** Returns the requested bundle with its meta. @throws Error if the bundle does not exist */
export function findRequestedBundle(found: PackageInCatalog, { version, channel }: RequestedVersion): BundleData {
  const bundle =
    version !== undefined
      ? findBundleByText(found, version)
      : channel !== undefined
        ? findHead(found, channel)
        : findRepresentative(found.facts)?.bundle;
  if (!bundle)
    throw new Error(
      `package "${found.name}" has no ${channel === undefined ? "bundles" : `head in channel "${channel}"`} in catalog ${found.catalog}`,
    );
  return bundle;
}

/** Returns the description of a package and one of its versions. @param others the package in other catalogs */
export function describeFoundPackage(
  found: PackageInCatalog,
  bundle: BundleData,
  others: readonly PackageInCatalog[],
  when: SupportQuery,
): PackageView {
  const { catalog, facts, content, metas } = found;
  const meta = metas.find(({ schema, name }) => schema === "olm.bundle" && name === bundle.name);
  const stated = content.bundles.find(({ name }) => name === bundle.name);
  const alsoIn = others.map((other) => ({ catalog: other.catalog, version: findRepresentative(other.facts)?.bundle.version }));
  return buildPackageView({ when, catalog, facts, bundle, meta, stated }, alsoIn);
}

/** The upgrade path to a version from an installed one. */
interface Reached {
  /** The ClusterExtension; absent if an option set the installed version. */
  readonly extension?: string;
  readonly from: string;
  /** Intermediate versions, in the order of the upgrades; empty for a direct upgrade. */
  readonly through: readonly string[];
}

/** One version of a package in one catalog. */
export interface VersionRow extends VersionSummary {
  /** Extensions with this installed version; "" if an option set the installed version. */
  readonly installedBy: readonly string[];
  readonly reached: readonly Reached[];
}

/** An installed version to upgrade from. */
export interface InstalledStart {
  readonly extension?: string;
  readonly bundle: BundleMetadata;
}

/** Lists the versions of a package in its catalogs, highest first. @param channels channels to include; empty for all. @param when if absent, rows have no support */
export function listVersionRows(
  all: readonly PackageInCatalog[],
  channels: readonly string[],
  starts: readonly InstalledStart[],
  when?: SupportQuery,
): VersionRow[] {
  const maps = all.map(({ catalog, content }) => ({
    catalog,
    channels: content.channels.filter(({ name }) => channels.length === 0 || channels.includes(name)),
    candidates: listCandidates(content, new Set()),
  }));
  const budget = new SearchBudget();
  const ways = starts.map((start) => ({
    start,
    to: new Map(findDestinations(maps, start.bundle, budget).map((way) => [way.candidate.bundle.name, way])),
  }));
  const rows = all.flatMap((found, at) => {
    const byName = new Map(found.bundles.toReversed().map((bundle) => [bundle.name, bundle]));
    const summaries = new VersionSummaries(found, { channels, when });
    return (maps[at]?.candidates ?? []).flatMap((candidate) => {
      const facts = byName.get(candidate.bundle.name);
      if (!facts) return [];
      const row = summaries.summarize(facts);
      if (channels.length > 0 && row.channels.length === 0) return [];
      const reached = ways.flatMap(({ start, to }): Reached[] => {
        const way = to.get(facts.name);
        const through = way?.through.map(({ bundle, version }) => (version ? formatVersionRelease(version) : bundle.name));
        const { extension } = start;
        return through ? [{ ...(extension === undefined ? {} : { extension }), from: start.bundle.version, through }] : [];
      });
      const installedBy = starts.flatMap(({ bundle, extension }) => (bundle.name === facts.name ? [extension ?? ""] : []));
      return [{ candidate, row: { ...row, installedBy, reached } }];
    });
  });
  return rows
    .sort((a, b) => compareNewestFirst(a.candidate, b.candidate) || compareText(a.row.catalog, b.row.catalog))
    .map(({ row }) => row);
}
