import { quoteExcerpt } from "../../fbc/boundedTexts.ts";
import { compileRangeTest } from "../../fbc/bundleOrder.ts";
import { formatList } from "../../text/lists.ts";
import { compareVersionRelease } from "../../version/version.ts";
import { ChannelPaths } from "./channelPaths.ts";
import type { LintedCatalog, LintedChannel, LintedEntry, LintedPackage } from "./lintedCatalog.ts";
import { defineInfoLint, defineWarningLint, type LintBreach, LintSource, type LintTable } from "./lintRule.ts";

/** Lints for upgrade graphs that prevent intended upgrades. */
export const GRAPH_LINTS: LintTable = {
  "head-not-highest": defineWarningLint(
    "No entry should replace or skip the highest version of a channel, because this version is installed by default.",
    LintSource.resolver,
    perChannel(highestFollowed),
  ),
  "dead-end": defineWarningLint(
    "Every version in a channel should have an upgrade path to the channel head.",
    LintSource.updates,
    perChannel(deadEnds),
  ),
  "unreachable-version": defineWarningLint(
    "Every version in a channel, except the lowest and skipped versions, should be the target of an upgrade.",
    LintSource.updates,
    perChannel(unreachable),
  ),
  "several-replacements": defineWarningLint(
    "At most one entry of a channel should replace a version, not counting skipped entries.",
    LintSource.updates,
    perChannel(findSeveralReplacements),
  ),
  "late-z-stream": defineWarningLint(
    "Every patch release in a channel should have an upgrade path to the latest patch release of its minor version.",
    LintSource.updates,
    perChannel(lateZStream),
  ),
  "replaces-higher": defineWarningLint("An entry should replace a lower version.", LintSource.updates, perChannel(replacesHigher)),
  "replaces-missing": defineWarningLint(
    "The replaced version should be in the channel, unless it is lower than all versions of the channel.",
    LintSource.updates,
    perChannel(replacesMissing),
  ),
  "skip-range-own-version": defineInfoLint(
    "The skipRange of an entry should not contain the version of the entry.",
    LintSource.updates,
    perChannel(rangeWithSelf),
  ),
  "skip-range-without-replaces": defineInfoLint(
    "An entry with a skipRange should also replace the previous entry. Otherwise, OLM v0 drops the entries in the range from the catalog.",
    LintSource.updates,
    perChannel(rangeAlone),
  ),
};

/** Maximum entries in a message. */
const MAX_NAMES = 3;

type FindInChannel = (paths: ChannelPaths, channel: LintedChannel, owner: LintedPackage) => LintBreach[];

function perChannel(find: FindInChannel): (catalog: LintedCatalog) => LintBreach[] {
  return ({ packages }) =>
    [...packages.values()].flatMap((owner) => owner.channels.flatMap((channel) => find(ChannelPaths.of(channel, owner), channel, owner)));
}

function at(channel: LintedChannel, { index }: LintedEntry, member: string, message: string): LintBreach {
  return { subject: channel, path: ["entries", index, member], message };
}

function highestFollowed(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
  const { newest, heads } = paths;
  if (!newest || heads.length === 0 || heads.includes(newest.name)) return [];
  const by = channel.entries.find(({ replaces, skips }) => replaces === newest.name || skips.includes(newest.name));
  const how = by?.replaces === newest.name ? "replaces" : "skips";
  const message = `${quoteExcerpt(by?.name ?? "")} ${how} ${quoteExcerpt(newest.name)}, the highest version of the channel, which is installed by default`;
  return [at(channel, newest, "name", message)];
}

function deadEnds(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
  const { heads } = paths;
  if (heads.length === 0) return [];
  const leading = paths.leadingTo(heads, paths.entries.keys());
  if (!leading) return [];
  const headNames = formatNames(heads);
  return [...paths.entries.values()]
    .filter(({ name }) => !leading.has(name))
    .map((entry) => at(channel, entry, "name", `${quoteExcerpt(entry.name)} has no upgrade path to the channel head, ${headNames}`));
}

function unreachable(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
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
        `no version can be upgraded to ${quoteExcerpt(entry.name)}: this entry replaces and skips nothing, and is not the lowest version`,
      ),
    );
}

function findSeveralReplacements(_: ChannelPaths, channel: LintedChannel): LintBreach[] {
  const skipped = new Set(channel.entries.flatMap(({ skips }) => skips));
  const first = new Map<string, string>();
  return channel.entries.flatMap((entry) => {
    const { name, replaces } = entry;
    if (replaces === "" || skipped.has(name)) return [];
    const other = first.get(replaces);
    first.set(replaces, other ?? name);
    return other === undefined
      ? []
      : [at(channel, entry, "replaces", `${quoteExcerpt(name)} and ${quoteExcerpt(other)} both replace ${quoteExcerpt(replaces)}`)];
  });
}

/** @see S4-18 */
function lateZStream(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
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
    const message = `no upgrade path leads to ${quoteExcerpt(latest.name)}, the latest patch release of its minor version, from ${formatNames(cut)}`;
    return [at(channel, latest, "name", message)];
  });
}

/** Formats the first names of a list and the count of the rest. */
function formatNames(names: readonly string[]): string {
  return formatList(names.map(quoteExcerpt), { max: MAX_NAMES });
}

function replacesHigher(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
  return channel.entries.flatMap((entry) => {
    const [own, replaced] = [paths.parsed(entry.name), paths.parsed(entry.replaces)];
    if (!own || !replaced || compareVersionRelease(replaced, own) < 0) return [];
    return [
      at(channel, entry, "replaces", `${quoteExcerpt(entry.name)} replaces ${quoteExcerpt(entry.replaces)}, which is not a lower version`),
    ];
  });
}

function replacesMissing(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
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
        `${quoteExcerpt(name)} replaces ${quoteExcerpt(replaces)}, which is not in the channel, but the channel has lower versions`,
      ),
    ];
  });
}

function rangeWithSelf(paths: ChannelPaths, channel: LintedChannel): LintBreach[] {
  return channel.entries.flatMap((entry) => {
    const parsed = paths.parsed(entry.name);
    if (!entry.skipRange || !parsed || !compileRangeTest(entry.skipRange)({ text: "", parsed })) return [];
    return [
      at(channel, entry, "skipRange", `skipRange ${quoteExcerpt(entry.skipRange)} of ${quoteExcerpt(entry.name)} contains its own version`),
    ];
  });
}

function rangeAlone(_: ChannelPaths, channel: LintedChannel): LintBreach[] {
  if (channel.entries.length === 1) return [];
  return channel.entries
    .filter(({ skipRange, replaces }) => skipRange && replaces === "")
    .map((entry) => at(channel, entry, "skipRange", `${quoteExcerpt(entry.name)} has a skipRange but no replaces`));
}
