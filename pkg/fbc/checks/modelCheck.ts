import { Schema } from "../content.ts";
import type { BundleFacts } from "./bundleCheck.ts";
import type { ChannelFacts } from "./channelCheck.ts";
import { type DeprecationFacts, type DeprecationsFacts, referenceText } from "./deprecationCheck.ts";
import type { FindingLog } from "./findingLog.ts";
import type { PackageFacts } from "./packageCheck.ts";
import { bundleNode, channelNode, checkPackageModel, type PackageModel, packageNode } from "./packageModelCheck.ts";
import { labelFaults } from "./propertyCheck.ts";
import { quoted } from "./quoted.ts";

/** What is known of all objects, in the catalog's order. */
export interface ModelFacts {
  readonly packages: PackageFacts[];
  readonly channels: ChannelFacts[];
  readonly bundles: BundleFacts[];
  readonly deprecations: DeprecationsFacts[];
}

type Model = ReadonlyMap<string, PackageModel>;

/** Checks how the objects of a catalog go together. @see operator-registry alpha/declcfg/declcfg_to_model.go, ConvertToModel */
export function checkModel(facts: ModelFacts, log: FindingLog): void {
  const model = modelOf(facts.packages, log);
  addChannels(model, facts.channels, log);
  addBundles(model, facts.bundles, log);
  for (const channel of facts.channels) checkEntriesHaveBundles(model, channel, log);
  checkDeprecations(model, facts.deprecations, log);
  for (const one of model.values()) checkPackageModel(one, log);
}

function modelOf(packages: readonly PackageFacts[], log: FindingLog): Model {
  const model = new Map<string, PackageModel>();
  for (const facts of packages) {
    const { name } = facts;
    if (name === "") {
      log.add("package-name-missing", facts, "config contains package with no name");
      continue;
    }
    if (model.has(name)) continue; // told by the content rules
    const faults = labelFaults(name);
    if (faults.length > 0) log.add("package-name-invalid", facts, `invalid package name ${quoted(name)}: [${faults.join(" ")}]`);
    model.set(name, { facts, channels: new Map(), bundles: new Map() });
  }
  return model;
}

function addChannels(model: Model, channels: readonly ChannelFacts[], log: FindingLog): void {
  for (const channel of channels) {
    const { package: packageName, name } = channel;
    const owner = model.get(packageName);
    if (!owner) log.add("channel-package-unknown", channel, `unknown package ${quoted(packageName)} for channel ${quoted(name)}`);
    if (name === "") log.add("channel-name-missing", channel, `package ${quoted(packageName)} contains channel with no name`);
    if (!owner || name === "") continue;
    for (const entry of channel.duplicates)
      log.add(
        "duplicate-entry",
        channel,
        `invalid package ${quoted(packageName)}, channel ${quoted(name)}: duplicate entry ${quoted(entry)}`,
      );
    if (owner.channels.has(name))
      log.add("duplicate-channel", channel, `package ${quoted(packageName)} has duplicate channel ${quoted(name)}`);
    else owner.channels.set(name, channel);
  }
}

function addBundles(model: Model, bundles: readonly BundleFacts[], log: FindingLog): void {
  const inChannels = new Map([...model].map(([name, { channels }]) => [name, entryNames(channels)]));
  for (const bundle of bundles) {
    const { package: packageName, name } = bundle;
    const owner = model.get(packageName);
    if (packageName === "") log.add("bundle-package-missing", bundle, `package name must be set for bundle ${quoted(name)}`);
    else if (!owner) log.add("bundle-package-unknown", bundle, `unknown package ${quoted(packageName)} for bundle ${quoted(name)}`);
    if (!owner || owner.bundles.has(name)) continue;
    owner.bundles.set(name, bundle);
    if (!inChannels.get(packageName)?.has(name))
      log.add("bundle-without-entry", bundle, `package ${quoted(packageName)}, bundle ${quoted(name)} not found in any channel entries`);
  }
}

function entryNames(channels: ReadonlyMap<string, ChannelFacts>): Set<string> {
  const names = new Set<string>();
  for (const { entries } of channels.values()) for (const name of entries.keys()) names.add(name);
  return names;
}

function checkEntriesHaveBundles(model: Model, channel: ChannelFacts, log: FindingLog): void {
  const owner = model.get(channel.package);
  const missing = owner ? [...channel.entries.keys()].filter((name) => !owner.bundles.has(name)) : [];
  if (missing.length === 0) return;
  const of = `package ${quoted(channel.package)} for olm.channel entries [${missing.sort().join(" ")}]`;
  log.add("entry-without-bundle", channel, `no olm.bundle blobs found in ${of}`);
}

function checkDeprecations(model: Model, all: readonly DeprecationsFacts[], log: FindingLog): void {
  const seen = new Set<string>();
  for (const [i, deprecations] of all.entries()) {
    const { package: packageName } = deprecations;
    const owner = model.get(packageName);
    if (packageName === "") log.add("deprecation-package-missing", deprecations, `package name must be set for deprecation item ${i}`);
    else if (!owner)
      log.add("deprecation-package-unknown", deprecations, `cannot apply deprecations to an unknown package ${quoted(packageName)}`);
    else if (seen.has(packageName))
      log.add("duplicate-deprecations", deprecations, `expected a maximum of one deprecation per package: ${quoted(packageName)}`);
    else checkDeprecationEntries(owner, deprecations, log);
    seen.add(packageName);
  }
}

function checkDeprecationEntries(owner: PackageModel, deprecations: DeprecationsFacts, log: FindingLog): void {
  const of = `for package ${quoted(deprecations.package)}`;
  const seen = new Set<string>();
  for (const [i, entry] of deprecations.entries.entries()) {
    const { schema, name, hasMessage } = entry;
    const reference = referenceText(entry);
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
      log.add("deprecation-bundle-unknown", deprecations, `cannot deprecate bundle ${quoted(name)} ${of}: bundle not found`);
    else if (schema === Schema.channel && !owner.channels.has(name))
      log.add("deprecation-channel-unknown", deprecations, `cannot deprecate channel ${quoted(name)} ${of}: channel not found`);
    else if (schema === Schema.package && name !== "")
      log.add(
        "deprecation-package-named",
        deprecations,
        `package name must be empty for deprecated package ${quoted(deprecations.package)} (specified ${quoted(name)})`,
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
        hint: `entries[${i}] has none`,
      });
  }
}

function deprecationPath({ facts, channels }: PackageModel, { schema, name }: DeprecationFacts): string[] {
  const path = [packageNode(facts.name)];
  if (schema === Schema.channel) path.push(channelNode(name));
  if (schema !== Schema.bundle) return path;
  const channel = [...channels.values()].find(({ entries }) => entries.has(name));
  return [...path, ...(channel ? [channelNode(channel.name)] : []), bundleNode(name)];
}
