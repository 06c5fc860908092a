import type { JsonObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { ChannelEntry, Meta } from "../../fbc/types.ts";
import { members } from "../../fbc/validate/shape.ts";
import { findMember, getObjectAt, getObjectMember, getObjectMembers, getTextMember, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { compareVersions, formatVersion, parseVersion, type Version } from "../../version/version.ts";
import { parseStrictYaml } from "./strictYaml.ts";

/** Schema of templates that generate channels from versions. */
export const SEMVER_SCHEMA = "olm.semver";
/** Archetypes in ascending order of stability. */
export const ARCHETYPES = ["candidate", "fast", "stable"] as const;
export type Archetype = (typeof ARCHETYPES)[number];
/** Kinds of channels: for each major version, or for each minor version. */
type ChannelKind = "major" | "minor";

/** The channels to generate. */
export interface ChannelKinds {
  readonly major: boolean;
  readonly minor: boolean;
  /** Preferred kind of the default channel. */
  readonly preference: ChannelKind;
}

/** A template of schema olm.semver. */
interface SemverTemplate {
  readonly kinds: ChannelKinds;
  /** Bundle images by archetype, in order. */
  readonly images: Readonly<Record<Archetype, readonly string[]>>;
}

const BUNDLES = members({ bundles: { list: members({ image: "text" }) } });
const SHAPE = members({
  schema: "text",
  generateMajorChannels: "boolean",
  generateMinorChannels: "boolean",
  defaultChannelTypePreference: "text",
  candidate: BUNDLES,
  fast: BUNDLES,
  stable: BUNDLES,
});

/**
 * Reads a template of schema olm.semver. Field names are case-insensitive.
 * @throws Error `render: unable to read file: …`.
 * @see C-22
 */
export function readSemverTemplate(text: string): SemverTemplate {
  try {
    const document = parseStrictYaml(text, SHAPE);
    if (getTextMember(document, "schema") !== SEMVER_SCHEMA)
      throw new Error(`readFile: input file has unknown schema, should be ${goQuote(SEMVER_SCHEMA)}`);
    const images = Object.fromEntries(ARCHETYPES.map((archetype) => [archetype, listImages(document, archetype)]));
    return { kinds: readKinds(document), images: images as Record<Archetype, string[]> };
  } catch (err) {
    throw new Error(`render: unable to read file: ${getErrorMessage(err)}`, { cause: err });
  }
}

function listImages(document: JsonObject, archetype: Archetype): string[] {
  return getObjectMembers(getObjectMember(document, archetype) ?? {}, "bundles").map((bundle) => getTextMember(bundle, "image"));
}

function readKinds(document: JsonObject): ChannelKinds {
  const major = findMember(document, "generateMajorChannels") === true;
  const minor = findMember(document, "generateMinorChannels") === true || !major;
  const preference = getTextMember(document, "defaultChannelTypePreference");
  if (preference === "") return { major, minor, preference: minor ? "minor" : "major" };
  if (preference !== "major" && preference !== "minor")
    throw new Error(`unknown DefaultChannelTypePreference: ${goQuote(preference)}\nValid values are 'major' or 'minor'`);
  if (preference === "minor" ? !minor : !major)
    throw new Error(
      `schema attribute mismatch: DefaultChannelTypePreference set to '${preference}' doesn't make sense if not generating ${preference}-version channels`,
    );
  return { major, minor, preference };
}

/** The name and version of a bundle. */
interface VersionedBundle {
  readonly name: string;
  readonly version: Version;
}

/** A channel with its entries in ascending order of version. */
interface SemverChannel {
  readonly name: string;
  readonly entries: ChannelEntry[];
}

/** Channels sorted by name, and the default channel. The default channel is empty if there are no channels. */
interface SemverChannels {
  readonly channels: readonly SemverChannel[];
  readonly defaultChannel: string;
}

/** The best default channel so far, compared by its first version. */
interface HighWater {
  readonly archetype: number;
  readonly version: Version;
  readonly kind: ChannelKind | undefined;
  readonly name: string;
}

const KINDS = ["major", "minor"] as const;
const NOTHING: Version = { major: 0, minor: 0, patch: 0, prerelease: [], build: [] };

/**
 * Generates the channels of a package, such as `stable-v1` and `stable-v1.2`. Only the highest patch of each minor version has edges. It replaces the
 * highest patch of the previous minor version of the same major version and skips all other earlier versions of that major version.
 * @param bundles by archetype, with distinct versions.
 * @see C-22
 */
export function generateChannels(bundles: ReadonlyMap<Archetype, readonly VersionedBundle[]>, kinds: ChannelKinds): SemverChannels {
  const channels = new Map<string, SemverChannel>();
  let best: HighWater = { archetype: 0, version: NOTHING, kind: undefined, name: "" };
  for (const [rank, archetype] of ARCHETYPES.entries()) {
    const rising = (bundles.get(archetype) ?? []).toSorted((a, b) => compareVersions(a.version, b.version));
    for (const kind of KINDS.filter((one) => kinds[one])) {
      const edges = computeEdges(rising);
      for (const { name, version } of rising) {
        const channelName = formatChannelName(archetype, kind, version);
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

function formatChannelName(archetype: Archetype, kind: ChannelKind, { major, minor }: Version): string {
  return kind === "major" ? `${archetype}-v${major}` : `${archetype}-v${major}.${minor}`;
}

/** Returns the edges of all bundles that have edges. @param rising in ascending order of version. */
function computeEdges(rising: readonly VersionedBundle[]): Map<string, Omit<ChannelEntry, "name">> {
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

/** A rendered bundle of a template. */
export interface TemplateBundle {
  /** Of schema olm.bundle. */
  readonly meta: Meta;
  /** Its ClusterServiceVersion, for the description and icon of the package. */
  readonly csv: JsonObject;
}

/** Lists the distinct images of a template, in order. */
export function listSemverImages({ images }: SemverTemplate): string[] {
  return [...new Set(ARCHETYPES.flatMap((archetype) => images[archetype]))];
}

/**
 * Renders the package, channels and bundles of a template.
 * @param bundles by image in the template.
 * @throws Error with the same message as opm.
 * @see C-22; operator-registry v1.73.0 alpha/template/semver
 */
export function renderSemver(template: SemverTemplate, bundles: ReadonlyMap<string, TemplateBundle>): Meta[] {
  if (bundles.size === 0) throw new Error("render: no bundles specified or no bundles could be rendered");
  const { packageName, versions } = postProcess(template, bundles);
  const generated = generateChannels(versions, template.kinds);
  return [
    packageMeta(packageName, generated, bundles),
    ...generated.channels.map(({ name, entries }) => toChannelMeta({ schema: "olm.channel", name, package: packageName, entries })),
    ...[...bundles.values()].map(({ meta }) => meta),
  ];
}

interface PostProcessed {
  packageName: string;
  versions: Map<Archetype, VersionedBundle[]>;
}

function postProcess(template: SemverTemplate, bundles: ReadonlyMap<string, TemplateBundle>): PostProcessed {
  const versions = new Map<Archetype, VersionedBundle[]>();
  let packageName: string | undefined;
  try {
    for (const archetype of ARCHETYPES) {
      const found = new Map<string, VersionedBundle>();
      for (const image of template.images[archetype]) {
        const { name, version, package: owner } = findBundle(image, bundles);
        packageName ??= owner;
        if (owner !== packageName) throw new Error(`bundle ${goQuote(owner)} does not belong to this package: ${goQuote(packageName)}`);
        if (found.has(name)) throw new Error(`duplicate bundle name ${goQuote(name)}`);
        found.set(name, { name, version });
      }
      refuseSameVersions([...found.values()]);
      versions.set(archetype, [...found.values()]);
    }
  } catch (err) {
    throw new Error(`render: unable to post-process bundle info: ${getErrorMessage(err)}`, { cause: err });
  }
  return { packageName: packageName ?? "", versions };
}

function findBundle(image: string, bundles: ReadonlyMap<string, TemplateBundle>): VersionedBundle & { package: string } {
  const bundle = bundles.get(image);
  if (!bundle) throw new Error(`supplied bundle image name ${goQuote(image)} not found in rendered bundle images`);
  const { name, blob } = bundle.meta;
  const own = getObjectMembers(blob, "properties").filter((property) => getTextMember(property, "type") === "olm.package");
  const value = own[0]?.["value"];
  if (own.length !== 1) throw new Error(`bundle ${goQuote(name)} has multiple "olm.package" properties, expected exactly 1`);
  if (!isObject(value)) throw new Error(`parse properties for bundle ${goQuote(name)}: olm.package: expected an object`);
  const version = getTextMember(value, "version");
  return { name, version: parseBundleVersion(name, version), package: getTextMember(value, "packageName") };
}

function parseBundleVersion(bundle: string, version: string): Version {
  try {
    return parseVersion(version);
  } catch (err) {
    throw new Error(`bundle ${goQuote(bundle)} has invalid version ${goQuote(version)}: ${getErrorMessage(err)}`, { cause: err });
  }
}

/** Rejects versions that differ only in build metadata, because these cannot be ordered. */
function refuseSameVersions(bundles: readonly VersionedBundle[]): void {
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const version of bundles.map((bundle) => bundle.version).sort((a, b) => compareText(formatVersion(a), formatVersion(b)))) {
    const ordered = formatVersion({ ...version, build: [] });
    if (seen.has(ordered)) faults.push(`bundle version ${goQuote(formatVersion(version))} cannot be compared to ${goQuote(ordered)}`);
    seen.add(ordered);
  }
  const distinct = [...new Set(faults)];
  if (distinct.length === 0) return;
  const list = distinct.length === 1 ? distinct[0] : `[${distinct.join(", ")}]`;
  throw new Error(`encountered bundle versions which differ only by build metadata, which cannot be ordered: ${list}`);
}

/** Creates the olm.package. Its description and icon are those of the newest bundle in the default channel. */
function packageMeta(name: string, { channels, defaultChannel }: SemverChannels, bundles: ReadonlyMap<string, TemplateBundle>): Meta {
  const head = channels.find((channel) => channel.name === defaultChannel)?.entries.at(-1)?.name;
  const newest = [...bundles.values()].find(({ meta }) => meta.name === head);
  return toChannelMeta({ schema: "olm.package", name, defaultChannel, ...(newest ? readPackageDescription(newest.csv) : {}) });
}

/** Returns the fields `icon` and `description` of an olm.package from a ClusterServiceVersion, if set. */
export function readPackageDescription(csv: JsonObject): JsonObject {
  const spec = getObjectAt(csv, "spec");
  const description = getTextMember(spec, "description");
  const [icon] = getObjectMembers(spec, "icon");
  const base64data = icon === undefined ? "" : getTextMember(icon, "base64data");
  return {
    ...(base64data === "" || icon === undefined ? {} : { icon: { base64data, mediatype: getTextMember(icon, "mediatype") } }),
    ...(description === "" ? {} : { description }),
  };
}

function toChannelMeta(blob: { schema: string; name: string; package?: string; [member: string]: unknown }): Meta {
  return { schema: blob.schema, package: blob.package ?? "", name: blob.name, blob };
}
