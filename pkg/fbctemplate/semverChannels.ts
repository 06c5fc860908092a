import { compareText } from "../text/compare.ts";
import type { ChannelEntry } from "../fbc/types.ts";
import { compareVersions, type Version } from "../version/version.ts";
import { ARCHETYPES, type Archetype, type ChannelKind, type ChannelKinds } from "./semverTemplate.ts";

/** A bundle as channels are made of it. */
export interface VersionedBundle {
  readonly name: string;
  readonly version: Version;
}

/** A channel with its entries by rising version. */
export interface SemverChannel {
  readonly name: string;
  readonly entries: ChannelEntry[];
}

/** Channels by name, and which of them is the default one; empty where there is none. */
export interface SemverChannels {
  readonly channels: readonly SemverChannel[];
  readonly defaultChannel: string;
}

/** The channel that is the best so far, by the version that it began with. */
interface HighWater {
  readonly archetype: number;
  readonly version: Version;
  readonly kind: ChannelKind | undefined;
  readonly name: string;
}

const KINDS = ["major", "minor"] as const;
const NOTHING: Version = { major: 0, minor: 0, patch: 0, prerelease: [], build: [] };

/**
 * The channels of a package, such as `stable-v1` and `stable-v1.2`. Only the highest patch of each minor version has edges: it replaces the highest one of
 * the minor version before, within the same major version, and skips every earlier version of that major version.
 * @param bundles of each archetype, no two of one version.
 * @see catalog-and-resolution.md 5.9, appendix J
 */
export function semverChannels(bundles: ReadonlyMap<Archetype, readonly VersionedBundle[]>, kinds: ChannelKinds): SemverChannels {
  const channels = new Map<string, SemverChannel>();
  let best: HighWater = { archetype: 0, version: NOTHING, kind: undefined, name: "" };
  for (const [rank, archetype] of ARCHETYPES.entries()) {
    const rising = (bundles.get(archetype) ?? []).toSorted((a, b) => compareVersions(a.version, b.version));
    for (const kind of KINDS.filter((one) => kinds[one])) {
      const edges = edgesOf(rising);
      for (const { name, version } of rising) {
        const channelName = nameOf(archetype, kind, version);
        let channel = channels.get(channelName);
        if (!channel) {
          channels.set(channelName, (channel = { name: channelName, entries: [] }));
          const candidate = { archetype: rank, version, kind, name: channelName };
          if (isBetter(candidate, best, kinds.preference)) best = candidate;
        }
        channel.entries.push({ name, ...edges.get(name) });
      }
    }
  }
  return { channels: [...channels.values()].sort((a, b) => compareText(a.name, b.name)), defaultChannel: best.name };
}

function nameOf(archetype: Archetype, kind: ChannelKind, { major, minor }: Version): string {
  return kind === "major" ? `${archetype}-v${major}` : `${archetype}-v${major}.${minor}`;
}

/** The edges of those bundles that have any. @param rising by version. */
function edgesOf(rising: readonly VersionedBundle[]): Map<string, Omit<ChannelEntry, "name">> {
  const edges = new Map<string, Omit<ChannelEntry, "name">>();
  let earlier = new Set<string>();
  let replaced: string | undefined;
  for (const [i, { name, version }] of rising.entries()) {
    const next = rising[i + 1]?.version;
    const endsMajor = next === undefined || next.major !== version.major;
    const endsMinor = endsMajor || next.minor !== version.minor;
    if (endsMinor) {
      const skips = [...earlier].filter((skipped) => skipped !== replaced).sort(compareText);
      edges.set(name, { ...(replaced === undefined ? {} : { replaces: replaced }), ...(skips.length === 0 ? {} : { skips }) });
      replaced = name;
    }
    earlier.add(name);
    if (!endsMajor) continue;
    earlier = new Set();
    replaced = undefined;
  }
  return edges;
}

function isBetter(one: HighWater, other: HighWater, preference: ChannelKind): boolean {
  if (one.archetype !== other.archetype) return one.archetype > other.archetype;
  const byVersion = compareVersions(one.version, other.version);
  if (byVersion !== 0) return byVersion > 0;
  if (one.kind === other.kind) return false;
  return one.kind === preference || (other.kind !== preference && one.kind === "minor");
}
