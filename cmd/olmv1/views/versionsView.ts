import { compareNewestFirst } from "../../../pkg/fbc/bundleOrder.ts";
import type { BundleFacts } from "../../../pkg/fbc/summary/packageFacts.ts";
import { messageFor } from "../../../pkg/fbc/summary/packageSummary.ts";
import { candidatesFrom } from "../../../pkg/resolve/candidates.ts";
import { type InstalledBundle, SearchBudget, destinationsFrom } from "../../../pkg/resolve/successors.ts";
import { compareText } from "../../../pkg/text/compare.ts";
import { formatVersionRelease } from "../../../pkg/version/version.ts";
import type { PackageIn } from "./packageIn.ts";

/** How a version can be reached from what is installed. */
export interface Reached {
  /** The ClusterExtension; absent where the version was named. */
  readonly extension?: string;
  readonly from: string;
  /** Versions in between, in the order of the upgrades; none for a direct upgrade. */
  readonly through: readonly string[];
}

/** One version of a package in one catalog. */
export interface VersionRow {
  readonly catalog: string;
  readonly bundle: string;
  readonly version?: string | undefined;
  readonly release?: string | undefined;
  readonly channels: readonly string[];
  /** Those of the channels that it is the head of. */
  readonly headOf: readonly string[];
  readonly createdAt?: string | undefined;
  /** Why the bundle, the package, or all of its channels are deprecated. */
  readonly deprecated?: string | undefined;
  /** Extensions that have it installed; "" where it was named as installed. */
  readonly installedBy: readonly string[];
  readonly reached: readonly Reached[];
}

/** What counts as installed. */
export interface Start {
  readonly extension?: string;
  readonly bundle: InstalledBundle;
}

/** The versions of a package in its catalogs, highest first. @param channels only those in any of them; all without. */
export function versionRows(all: readonly PackageIn[], channels: readonly string[], starts: readonly Start[]): VersionRow[] {
  const maps = all.map(({ catalog, content }) => ({
    catalog,
    channels: content.channels.filter(({ name }) => channels.length === 0 || channels.includes(name)),
    candidates: candidatesFrom(content, new Set()),
  }));
  const budget = new SearchBudget();
  const ways = starts.map((start) => ({
    start,
    to: new Map(destinationsFrom(maps, start.bundle, budget).map((way) => [way.candidate.bundle.name, way])),
  }));
  const rows = all.flatMap((found, at) =>
    (maps[at]?.candidates ?? []).flatMap((candidate) => {
      const facts = found.bundles.find(({ name }) => name === candidate.bundle.name);
      if (!facts) return [];
      const row = rowOf(found, facts, channels);
      if (channels.length > 0 && row.channels.length === 0) return [];
      const reached = ways.flatMap(({ start, to }): Reached[] => {
        const way = to.get(facts.name);
        const through = way?.through.map(({ bundle, version }) => (version ? formatVersionRelease(version) : bundle.name));
        const { extension } = start;
        return through ? [{ ...(extension === undefined ? {} : { extension }), from: start.bundle.version, through }] : [];
      });
      const installedBy = starts.flatMap(({ bundle, extension }) => (bundle.name === facts.name ? [extension ?? ""] : []));
      return [{ candidate, row: { ...row, installedBy, reached } }];
    }),
  );
  return rows
    .sort((a, b) => compareNewestFirst(a.candidate, b.candidate) || compareText(a.row.catalog, b.row.catalog))
    .map(({ row }) => row);
}

function rowOf({ catalog, facts }: PackageIn, bundle: BundleFacts, wanted: readonly string[]): Omit<VersionRow, "installedBy" | "reached"> {
  const own = facts.channels.filter(({ entries }) => entries.includes(bundle.name));
  const shown = own.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  const byChannel = own.map(({ name }) => messageFor(facts, "olm.channel", name));
  return {
    catalog,
    bundle: bundle.name,
    version: bundle.version,
    release: bundle.release,
    channels: shown.map(({ name }) => name),
    headOf: shown.filter(({ heads }) => heads.includes(bundle.name)).map(({ name }) => name),
    createdAt: bundle.createdAt,
    deprecated:
      messageFor(facts, "olm.bundle", bundle.name) ??
      messageFor(facts, "olm.package") ??
      (byChannel.every((message) => message !== undefined) ? byChannel[0] : undefined),
  };
}
