import type { BundleFacts } from "./bundleCheck.ts";
import type { ChannelFacts, EntryFacts } from "./channelCheck.ts";
import { channelGraphFault } from "./channelGraph.ts";
import type { FindingLog } from "./findingLog.ts";
import type { PackageFacts } from "./packageCheck.ts";
import { quoted } from "./quoted.ts";

/** A package with what belongs to it; of several of one name the first counts. */
export interface PackageModel {
  readonly facts: PackageFacts;
  readonly channels: Map<string, ChannelFacts>;
  readonly bundles: Map<string, BundleFacts>;
}

/** Checks one package as a whole: its default channel, its channels with their entries and bundles, and its versions. */
export function checkPackageModel({ facts, channels, bundles }: PackageModel, log: FindingLog): void {
  const path = [packageNode(facts.name)];
  const { defaultChannel } = facts;
  if (defaultChannel === "") log.add("default-channel-missing", facts, "default channel must be set", { path });
  else if (defaultChannel !== undefined && !channels.has(defaultChannel))
    log.add("default-channel-unknown", facts, "channel must contain at least one bundle", {
      path: [...path, channelNode(defaultChannel)],
      hint: `package ${quoted(facts.name)} has no channel ${quoted(defaultChannel)}, which is its default`,
    });
  if (channels.size === 0) log.add("package-without-channel", facts, "package must contain at least one channel", { path });
  const told = new Set<string>();
  for (const channel of channels.values()) checkChannelModel(channel, bundles, [...path, channelNode(channel.name)], told, log);
  const duplicates = duplicateVersions([...bundles.values()]);
  if (duplicates.length > 0)
    log.add("duplicate-version", facts, `duplicate versions found in bundles: [${duplicates.join(" ")}]`, { path });
}

/** @param told bundles about which everything was said below an earlier channel. */
function checkChannelModel(
  channel: ChannelFacts,
  bundles: ReadonlyMap<string, BundleFacts>,
  path: readonly string[],
  told: Set<string>,
  log: FindingLog,
): void {
  if (channel.entries.size === 0) {
    log.add("channel-empty", channel, "channel must contain at least one bundle", { path });
    return;
  }
  const fault = channelGraphFault(channel.entries);
  if (fault) log.add(fault.rule, channel, fault.message, { path });
  for (const entry of channel.entries.values()) {
    const own = [...path, bundleNode(entry.name)];
    checkEntry(entry, channel, own, log);
    const bundle = bundles.get(entry.name);
    if (!bundle || told.has(entry.name)) continue;
    for (const { rule, message } of bundle.leaves) log.add(rule, bundle, message, { path: own });
    told.add(entry.name);
  }
}

function checkEntry({ skips, skipRangeFault }: EntryFacts, channel: ChannelFacts, path: readonly string[], log: FindingLog): void {
  if (skips.includes(""))
    for (const [i, skip] of skips.entries()) if (skip === "") log.add("skip-empty", channel, `skip[${i}] is empty`, { path });
  if (skipRangeFault !== undefined) log.add("skip-range-invalid", channel, skipRangeFault, { path });
}

/** Such as `{1.0.0: [a, b]}`, by version. */
function duplicateVersions(bundles: readonly BundleFacts[]): string[] {
  const names = new Map<string, string[]>();
  for (const { name, version } of bundles) {
    if (version === undefined) continue;
    const same = names.get(version);
    if (same) same.push(name);
    else names.set(version, [name]);
  }
  return [...names]
    .filter(([, same]) => same.length > 1)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([version, same]) => `{${version}: [${same.sort().join(", ")}]}`);
}

/** How opm names a package on the way to what is wrong below it. */
export function packageNode(name: string): string {
  return `invalid package ${quoted(name)}`;
}

/** The same for a channel. */
export function channelNode(name: string): string {
  return `invalid channel ${quoted(name)}`;
}

/** The same for a bundle. */
export function bundleNode(name: string): string {
  return `invalid bundle ${quoted(name)}`;
}
