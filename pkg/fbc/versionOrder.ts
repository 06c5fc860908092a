import { compareVersionRelease, type VersionRelease } from "../version/version.ts";

/** A bundle among those of its package. */
export interface Orderable {
  readonly bundle: { readonly name: string };
  /** Undefined where it cannot be read. */
  readonly version: VersionRelease | undefined;
  readonly deprecated: boolean;
  /** Place of the first channel that has the bundle, as `channelRanks` counts. */
  rank(): number;
}

/** Returns the place of each bundle's first channel: the default channel comes first, then channels by name. */
export function channelRanks(
  defaultChannel: string | undefined,
  channels: readonly { readonly name: string; readonly entries: readonly string[] }[],
): (bundle: string) => number {
  let ranks: Map<string, number> | undefined;
  return (bundle) => (ranks ??= ranksOf(defaultChannel, channels)).get(bundle) ?? Number.POSITIVE_INFINITY;
}

function ranksOf(
  defaultChannel: string | undefined,
  channels: readonly { readonly name: string; readonly entries: readonly string[] }[],
): Map<string, number> {
  const ranks = new Map<string, number>();
  const ordered = channels.toSorted(
    (a, b) => Number(b.name === defaultChannel) - Number(a.name === defaultChannel) || (a.name < b.name ? -1 : 1),
  );
  ordered.forEach(({ entries }, rank) => {
    for (const name of entries) if (!ranks.has(name)) ranks.set(name, rank);
  });
  return ranks;
}

/**
 * Orders bundles: highest version, then highest release first; without a version last. Of equal ones that of the default channel comes first, then
 * that of the channel whose name comes first; the bundle's name decides what is left.
 */
export function compareNewestFirst(a: Orderable, b: Orderable): number {
  const byVersion = a.version && b.version ? compareVersionRelease(b.version, a.version) : Number(!a.version) - Number(!b.version);
  if (byVersion !== 0 || a.bundle.name === b.bundle.name) return byVersion;
  const [rankA, rankB] = [a.rank(), b.rank()];
  if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  return a.bundle.name < b.bundle.name ? -1 : 1;
}

/** Returns the latest version: the first in the order of `compareNewestFirst`, deprecated or not. */
export function latestOf<T extends Orderable>(bundles: readonly T[]): T | undefined {
  return firstOf(bundles, compareNewestFirst);
}

/**
 * Returns the default version to install, which resolution chooses where nothing limits it: not deprecated before deprecated, then the first in the
 * order of `compareNewestFirst`. Channels do not limit it.
 */
export function defaultOf<T extends Orderable>(bundles: readonly T[]): T | undefined {
  return firstOf(bundles, (a, b) => Number(a.deprecated) - Number(b.deprecated) || compareNewestFirst(a, b));
}

function firstOf<T>(all: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  return all.reduce<T | undefined>((best, next) => (best === undefined || compare(best, next) > 0 ? next : best), undefined);
}
