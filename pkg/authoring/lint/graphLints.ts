import { quoted } from "../../fbc/boundedTexts.ts";
import { rangeTest } from "../../fbc/bundleOrder.ts";
import { formatList } from "../../text/lists.ts";
import { compareVersionRelease } from "../../version/version.ts";
import { ChannelPaths } from "./channelPaths.ts";
import type { LintedCatalog, LintedChannel, LintedEntry, LintedPackage } from "./lintedCatalog.ts";
import { type Breach, info, LintSource, type LintTable, warning } from "./lintRule.ts";

/** What keeps clusters from the update that is meant for them. */
export const GRAPH_LINTS: LintTable = {
  "head-not-highest": warning(
    "The highest version of a channel is not replaced or skipped: it is installed all the same.",
    LintSource.resolver,
    perChannel(highestFollowed),
  ),
  "dead-end": warning("From every version in a channel updates lead to its head.", LintSource.updates, perChannel(deadEnds)),
  "unreachable-version": warning(
    "Every version in a channel but its lowest, and those that are skipped, can be updated to.",
    LintSource.updates,
    perChannel(unreachable),
  ),
  "several-replacements": warning(
    "A version has one replacement in a channel, besides those that are skipped.",
    LintSource.updates,
    perChannel(several),
  ),
  "late-z-stream": warning(
    "From every patch release in a channel an update leads to the latest one of its minor version.",
    LintSource.updates,
    perChannel(lateZStream),
  ),
  "replaces-higher": warning("An entry replaces a lower version.", LintSource.updates, perChannel(replacesHigher)),
  "replaces-missing": warning(
    "What an entry replaces is in the channel, unless it is lower than everything there.",
    LintSource.updates,
    perChannel(replacesMissing),
  ),
  "skip-range-own-version": info("A skipRange does not hold the entry's own version.", LintSource.updates, perChannel(rangeWithSelf)),
  "skip-range-without-replaces": info(
    "An entry with a skipRange also replaces the one before: else OLM classic drops those in the range from the catalog.",
    LintSource.updates,
    perChannel(rangeAlone),
  ),
};

/** A message names so many entries. */
const MAX_NAMES = 3;

type FindInChannel = (paths: ChannelPaths, channel: LintedChannel, owner: LintedPackage) => Breach[];

function perChannel(find: FindInChannel): (catalog: LintedCatalog) => Breach[] {
  return ({ packages }) =>
    [...packages.values()].flatMap((owner) => owner.channels.flatMap((channel) => find(ChannelPaths.of(channel, owner), channel, owner)));
}

function at(channel: LintedChannel, { index }: LintedEntry, member: string, message: string): Breach {
  return { subject: channel, path: ["entries", index, member], message };
}

function highestFollowed(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  const { newest, heads } = paths;
  if (!newest || heads.length === 0 || heads.includes(newest.name)) return [];
  const by = channel.entries.find(({ replaces, skips }) => replaces === newest.name || skips.includes(newest.name));
  const how = by?.replaces === newest.name ? "replaces" : "skips";
  const message = `${quoted(by?.name ?? "")} ${how} ${quoted(newest.name)}, which has the highest version of the channel: without a version in spec it is the one that is installed`;
  return [at(channel, newest, "name", message)];
}

function deadEnds(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  const { heads } = paths;
  if (heads.length === 0) return [];
  const leading = paths.leadingTo(heads, paths.entries.keys());
  if (!leading) return [];
  const told = firstOf(heads);
  return [...paths.entries.values()]
    .filter(({ name }) => !leading.has(name))
    .map((entry) => at(channel, entry, "name", `no update leads from ${quoted(entry.name)} to the head of the channel, ${told}`));
}

function unreachable(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  const skipped = new Set(channel.entries.flatMap(({ skips }) => skips));
  const lowest = paths.byVersion.find(({ name }) => paths.parsed(name));
  return channel.entries
    .filter(
      ({ name, replaces, skips, skipRange }) =>
        replaces === "" && skips.length === 0 && !skipRange && !skipped.has(name) && lowest && name !== lowest.name && paths.parsed(name),
    )
    .map((entry) =>
      at(
        channel,
        entry,
        "name",
        `no version can be updated to ${quoted(entry.name)}: it replaces and skips nothing and is not the lowest version`,
      ),
    );
}

function several(_: ChannelPaths, channel: LintedChannel): Breach[] {
  const skipped = new Set(channel.entries.flatMap(({ skips }) => skips));
  const first = new Map<string, string>();
  return channel.entries.flatMap((entry) => {
    const { name, replaces } = entry;
    if (replaces === "" || skipped.has(name)) return [];
    const other = first.get(replaces);
    first.set(replaces, other ?? name);
    return other === undefined
      ? []
      : [at(channel, entry, "replaces", `${quoted(name)} and ${quoted(other)} both replace ${quoted(replaces)}`)];
  });
}

/** @see S4-18 */
function lateZStream(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  const minors = new Map<string, LintedEntry[]>();
  for (const entry of paths.byVersion) {
    const version = paths.parsed(entry.name)?.version;
    if (version === undefined) continue;
    const minor = `${version.major}.${version.minor}`;
    const patches = minors.get(minor);
    if (patches) patches.push(entry);
    else minors.set(minor, [entry]);
  }
  return [...minors.values()].flatMap((patches) => {
    const latest = patches.at(-1);
    if (!latest || patches.length === 1) return [];
    const names = patches.map(({ name }) => name);
    const leading = paths.leadingTo([latest.name], names);
    const cut = leading ? names.filter((name) => !leading.has(name)) : [];
    if (cut.length === 0) return [];
    const message = `no update leads to ${quoted(latest.name)}, the latest of its minor version, from ${firstOf(cut)}`;
    return [at(channel, latest, "name", message)];
  });
}

/** The first names of a list, and how many more there are. */
function firstOf(names: readonly string[]): string {
  return formatList(names.map(quoted), { max: MAX_NAMES });
}

function replacesHigher(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  return channel.entries.flatMap((entry) => {
    const [own, replaced] = [paths.parsed(entry.name), paths.parsed(entry.replaces)];
    if (!own || !replaced || compareVersionRelease(replaced, own) < 0) return [];
    return [at(channel, entry, "replaces", `${quoted(entry.name)} replaces ${quoted(entry.replaces)}, whose version is not lower`)];
  });
}

function replacesMissing(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  const lowest = paths.byVersion.map(({ name }) => paths.parsed(name)).find((version) => version !== undefined);
  return channel.entries.flatMap((entry) => {
    const { name, replaces } = entry;
    const replaced = paths.parsed(replaces);
    if (replaces === "" || paths.entries.has(replaces) || !replaced || !lowest || compareVersionRelease(replaced, lowest) <= 0) return [];
    return [
      at(
        channel,
        entry,
        "replaces",
        `${quoted(name)} replaces ${quoted(replaces)}, which the channel does not have although it has lower versions`,
      ),
    ];
  });
}

function rangeWithSelf(paths: ChannelPaths, channel: LintedChannel): Breach[] {
  return channel.entries.flatMap((entry) => {
    const parsed = paths.parsed(entry.name);
    if (!entry.skipRange || !parsed || !rangeTest(entry.skipRange)({ text: "", parsed })) return [];
    return [at(channel, entry, "skipRange", `skipRange ${quoted(entry.skipRange)} of ${quoted(entry.name)} holds its own version`)];
  });
}

function rangeAlone(_: ChannelPaths, channel: LintedChannel): Breach[] {
  if (channel.entries.length === 1) return [];
  return channel.entries
    .filter(({ skipRange, replaces }) => skipRange && replaces === "")
    .map((entry) => at(channel, entry, "skipRange", `${quoted(entry.name)} has a skipRange and replaces nothing`));
}
