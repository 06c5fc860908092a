import { validateLabel } from "../../api/names.ts";
import { compareText } from "../../text/compare.ts";
import { quoteExcerpt } from "../boundedTexts.ts";
import { Schema } from "../content.ts";
import type { BundleOutline } from "./bundleCheck.ts";
import { type ChannelOutline, type EntryOutline, findGraphFault } from "./channelCheck.ts";
import type { FindingLog } from "./finding.ts";
import { type DeprecationOutline, type DeprecationsOutline, formatScopedReference, type PackageOutline } from "./packageCheck.ts";

/** A package with its channels and bundles. If several objects have the same name, contains the first one. */
interface PackageModel {
  readonly facts: PackageOutline;
  readonly channels: Map<string, ChannelOutline>;
  /** The first channel of each entry. */
  readonly firstChannels: Map<string, string>;
  readonly bundles: Map<string, BundleOutline>;
}

/** Checks one package as a whole: its default channel, its channels with their entries and bundles, and its versions. */
function checkPackageModel({ facts, channels, bundles }: PackageModel, log: FindingLog): void {
  const path = [packageNode(facts.name)];
  const { defaultChannel } = facts;
  if (defaultChannel === "") log.add("default-channel-missing", facts, "default channel must be set", { path });
  else if (defaultChannel !== undefined && !channels.has(defaultChannel))
    log.add("default-channel-unknown", facts, "channel must contain at least one bundle", {
      path: [...path, channelNode(defaultChannel)],
      hint: `package ${quoteExcerpt(facts.name)} does not contain its default channel ${quoteExcerpt(defaultChannel)}`,
    });
  if (channels.size === 0) log.add("package-without-channel", facts, "package must contain at least one channel", { path });
  const reported = new Set<string>();
  for (const channel of channels.values()) checkChannelModel(channel, bundles, [...path, channelNode(channel.name)], reported, log);
  const duplicates = duplicateVersions([...bundles.values()]);
  if (duplicates.length > 0)
    log.add("duplicate-version", facts, `duplicate versions found in bundles: [${duplicates.join(" ")}]`, { path });
}

/** Checks a channel. @param reported bundles whose findings are reported under an earlier channel. */
function checkChannelModel(
  channel: ChannelOutline,
  bundles: ReadonlyMap<string, BundleOutline>,
  path: readonly string[],
  reported: Set<string>,
  log: FindingLog,
): void {
  if (channel.entries.size === 0) {
    log.add("channel-empty", channel, "channel must contain at least one bundle", { path });
    return;
  }
  const fault = findGraphFault(channel.entries);
  if (fault) log.add(fault.rule, channel, fault.message, { path });
  for (const entry of channel.entries.values()) {
    const own = [...path, bundleNode(entry.name)];
    checkEntry(entry, channel, own, log);
    const bundle = bundles.get(entry.name);
    if (!bundle || reported.has(entry.name)) continue;
    for (const { rule, message } of bundle.leaves) log.add(rule, bundle, message, { path: own });
    reported.add(entry.name);
  }
}

function checkEntry({ skips, skipRangeFault }: EntryOutline, channel: ChannelOutline, path: readonly string[], log: FindingLog): void {
  if (skips.includes(""))
    for (const [i, skip] of skips.entries()) if (skip === "") log.add("skip-empty", channel, `skip[${i}] is empty`, { path });
  if (skipRangeFault !== undefined) log.add("skip-range-invalid", channel, skipRangeFault, { path });
}

/** Formats duplicate versions such as `{1.0.0: [a, b]}`, sorted by version. */
function duplicateVersions(bundles: readonly BundleOutline[]): string[] {
  const names = new Map<string, string[]>();
  for (const { name, version } of bundles) {
    if (version === undefined) continue;
    const same = names.get(version);
    if (same) same.push(name);
    else names.set(version, [name]);
  }
  return [...names]
    .filter(([, same]) => same.length > 1)
    .sort(([a], [b]) => compareText(a, b))
    .map(([version, same]) => `{${version}: [${same.sort().join(", ")}]}`);
}

/** Formats the node of a package in the opm error tree. */
function packageNode(name: string): string {
  return `invalid package ${quoteExcerpt(name)}`;
}

/** Formats the node of a channel. */
function channelNode(name: string): string {
  return `invalid channel ${quoteExcerpt(name)}`;
}

/** Formats the node of a bundle. */
function bundleNode(name: string): string {
  return `invalid bundle ${quoteExcerpt(name)}`;
}

/** Outlines of all objects, in the order of the catalog. */
export interface ModelOutline {
  readonly packages: PackageOutline[];
  readonly channels: ChannelOutline[];
  readonly bundles: BundleOutline[];
  readonly deprecations: DeprecationsOutline[];
}

type Model = ReadonlyMap<string, PackageModel>;

/** Checks the references between the objects of a catalog. @see operator-registry v1.73.0 alpha/declcfg/declcfg_to_model.go, ConvertToModel */
export function checkModel(facts: ModelOutline, log: FindingLog): void {
  const model = buildModel(facts.packages, log);
  addChannels(model, facts.channels, log);
  addBundles(model, facts.bundles, log);
  for (const channel of facts.channels) checkEntriesHaveBundles(model, channel, log);
  checkDeprecations(model, facts.deprecations, log);
  for (const one of model.values()) checkPackageModel(one, log);
}

function buildModel(packages: readonly PackageOutline[], log: FindingLog): Model {
  const model = new Map<string, PackageModel>();
  for (const facts of packages) {
    const { name } = facts;
    if (name === "") {
      log.add("package-name-missing", facts, "config contains package with no name");
      continue;
    }
    if (model.has(name)) continue; // reported by ContentRules
    const faults = validateLabel(name);
    if (faults.length > 0) log.add("package-name-invalid", facts, `invalid package name ${quoteExcerpt(name)}: [${faults.join(" ")}]`);
    model.set(name, { facts, channels: new Map(), firstChannels: new Map(), bundles: new Map() });
  }
  return model;
}

function addChannels(model: Model, channels: readonly ChannelOutline[], log: FindingLog): void {
  for (const channel of channels) {
    const { package: packageName, name } = channel;
    const owner = model.get(packageName);
    if (!owner)
      log.add("channel-package-unknown", channel, `unknown package ${quoteExcerpt(packageName)} for channel ${quoteExcerpt(name)}`);
    if (name === "") log.add("channel-name-missing", channel, `package ${quoteExcerpt(packageName)} contains channel with no name`);
    if (!owner || name === "") continue;
    for (const entry of channel.duplicates)
      log.add(
        "duplicate-entry",
        channel,
        `invalid package ${quoteExcerpt(packageName)}, channel ${quoteExcerpt(name)}: duplicate entry ${quoteExcerpt(entry)}`,
      );
    if (owner.channels.has(name)) {
      log.add("duplicate-channel", channel, `package ${quoteExcerpt(packageName)} has duplicate channel ${quoteExcerpt(name)}`);
      continue;
    }
    owner.channels.set(name, channel);
    for (const entry of channel.entries.keys()) if (!owner.firstChannels.has(entry)) owner.firstChannels.set(entry, name);
  }
}

function addBundles(model: Model, bundles: readonly BundleOutline[], log: FindingLog): void {
  for (const bundle of bundles) {
    const { package: packageName, name } = bundle;
    const owner = model.get(packageName);
    if (packageName === "") log.add("bundle-package-missing", bundle, `package name must be set for bundle ${quoteExcerpt(name)}`);
    else if (!owner)
      log.add("bundle-package-unknown", bundle, `unknown package ${quoteExcerpt(packageName)} for bundle ${quoteExcerpt(name)}`);
    if (!owner || owner.bundles.has(name)) continue;
    owner.bundles.set(name, bundle);
    if (!owner.firstChannels.has(name))
      log.add(
        "bundle-without-entry",
        bundle,
        `package ${quoteExcerpt(packageName)}, bundle ${quoteExcerpt(name)} not found in any channel entries`,
      );
  }
}

function checkEntriesHaveBundles(model: Model, channel: ChannelOutline, log: FindingLog): void {
  const owner = model.get(channel.package);
  const missing = owner ? [...channel.entries.keys()].filter((name) => !owner.bundles.has(name)) : [];
  if (missing.length === 0) return;
  const of = `package ${quoteExcerpt(channel.package)} for olm.channel entries [${missing.sort().join(" ")}]`;
  log.add("entry-without-bundle", channel, `no olm.bundle blobs found in ${of}`);
}

function checkDeprecations(model: Model, all: readonly DeprecationsOutline[], log: FindingLog): void {
  const seen = new Set<string>();
  for (const [i, deprecations] of all.entries()) {
    const { package: packageName } = deprecations;
    const owner = model.get(packageName);
    if (packageName === "") log.add("deprecation-package-missing", deprecations, `package name must be set for deprecation item ${i}`);
    else if (!owner)
      log.add("deprecation-package-unknown", deprecations, `cannot apply deprecations to an unknown package ${quoteExcerpt(packageName)}`);
    else if (seen.has(packageName))
      log.add("duplicate-deprecations", deprecations, `expected a maximum of one deprecation per package: ${quoteExcerpt(packageName)}`);
    else checkDeprecationEntries(owner, deprecations, log);
    seen.add(packageName);
  }
}

function checkDeprecationEntries(owner: PackageModel, deprecations: DeprecationsOutline, log: FindingLog): void {
  const of = `for package ${quoteExcerpt(deprecations.package)}`;
  const seen = new Set<string>();
  for (const [i, entry] of deprecations.entries.entries()) {
    const { schema, name, hasMessage } = entry;
    const reference = formatScopedReference(entry);
    if (schema === "") {
      log.add("deprecation-schema-missing", deprecations, `schema must be set for deprecation entry [${i}] ${of}`);
      continue;
    }
    if (seen.has(reference)) {
      log.add("duplicate-deprecation", deprecations, `duplicate deprecation entry ${reference} ${of}`);
      continue;
    }
    seen.add(reference);
    if (schema === Schema.bundle && !owner.bundles.has(name))
      log.add("deprecation-bundle-unknown", deprecations, `cannot deprecate bundle ${quoteExcerpt(name)} ${of}: bundle not found`);
    else if (schema === Schema.channel && !owner.channels.has(name))
      log.add("deprecation-channel-unknown", deprecations, `cannot deprecate channel ${quoteExcerpt(name)} ${of}: channel not found`);
    else if (schema === Schema.package && name !== "")
      log.add(
        "deprecation-package-named",
        deprecations,
        `package name must be empty for deprecated package ${quoteExcerpt(deprecations.package)} (specified ${quoteExcerpt(name)})`,
      );
    else if (schema !== Schema.bundle && schema !== Schema.channel && schema !== Schema.package)
      log.add(
        "deprecation-schema-unknown",
        deprecations,
        `cannot deprecate object ${reference} referenced by entry ${i} ${of}: object schema unknown`,
      );
    else if (!hasMessage)
      log.add("deprecation-message-missing", deprecations, "invalid deprecation: message must be set", {
        path: deprecationPath(owner, entry),
        hint: `entries[${i}] has no message`,
      });
  }
}

function deprecationPath({ facts, firstChannels }: PackageModel, { schema, name }: DeprecationOutline): string[] {
  const path = [packageNode(facts.name)];
  if (schema === Schema.channel) path.push(channelNode(name));
  if (schema !== Schema.bundle) return path;
  const channel = firstChannels.get(name);
  return [...path, ...(channel === undefined ? [] : [channelNode(channel)]), bundleNode(name)];
}
