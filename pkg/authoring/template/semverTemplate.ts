import type { JsonObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { ChannelEntry, Meta } from "../../fbc/types.ts";
import { members } from "../../fbc/validate/shape.ts";
import { isObject, memberOf, objectAt, objectMember, objectMembers, textMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { compareVersions, formatVersion, parseVersion, type Version } from "../../version/version.ts";
import { strictYaml } from "./strictYaml.ts";

/** The schema of templates from which channels follow by version. */
export const SEMVER_SCHEMA = "olm.semver";
/** How stable bundles are, the least first. */
export const ARCHETYPES = ["candidate", "fast", "stable"] as const;
export type Archetype = (typeof ARCHETYPES)[number];
/** What a channel is made for. */
type ChannelKind = "major" | "minor";

/** Which channels are made. */
export interface ChannelKinds {
  readonly major: boolean;
  readonly minor: boolean;
  /** Which of two channels becomes the default one where nothing else decides. */
  readonly preference: ChannelKind;
}

/** A template of schema olm.semver. */
interface SemverTemplate {
  readonly kinds: ChannelKinds;
  /** Bundle images of each archetype, in their order. */
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
 * Reads a template of schema olm.semver; names of members may be of any letter case.
 * @throws Error `render: unable to read file: …`.
 * @see C-22
 */
export function readSemverTemplate(text: string): SemverTemplate {
  try {
    const document = strictYaml(text, SHAPE);
    if (textMember(document, "schema") !== SEMVER_SCHEMA)
      throw new Error(`readFile: input file has unknown schema, should be ${goQuote(SEMVER_SCHEMA)}`);
    const images = Object.fromEntries(ARCHETYPES.map((archetype) => [archetype, imagesOf(document, archetype)]));
    return { kinds: kindsOf(document), images: images as Record<Archetype, string[]> };
  } catch (err) {
    throw new Error(`render: unable to read file: ${messageOf(err)}`, { cause: err });
  }
}

function imagesOf(document: JsonObject, archetype: Archetype): string[] {
  return objectMembers(objectMember(document, archetype) ?? {}, "bundles").map((bundle) => textMember(bundle, "image"));
}

function kindsOf(document: JsonObject): ChannelKinds {
  const major = memberOf(document, "generateMajorChannels") === true;
  const minor = memberOf(document, "generateMinorChannels") === true || !major;
  const asked = textMember(document, "defaultChannelTypePreference");
  if (asked === "") return { major, minor, preference: minor ? "minor" : "major" };
  if (asked !== "major" && asked !== "minor")
    throw new Error(`unknown DefaultChannelTypePreference: ${goQuote(asked)}\nValid values are 'major' or 'minor'`);
  if (asked === "minor" ? !minor : !major)
    throw new Error(
      `schema attribute mismatch: DefaultChannelTypePreference set to '${asked}' doesn't make sense if not generating ${asked}-version channels`,
    );
  return { major, minor, preference: asked };
}

/** A bundle as channels are made of it. */
interface VersionedBundle {
  readonly name: string;
  readonly version: Version;
}

/** A channel with its entries by rising version. */
interface SemverChannel {
  readonly name: string;
  readonly entries: ChannelEntry[];
}

/** Channels by name, and which of them is the default one; empty where there is none. */
interface SemverChannels {
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
 * @see C-22
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

/** A bundle of a template, rendered. */
export interface TemplateBundle {
  /** Of schema olm.bundle. */
  readonly meta: Meta;
  /** Its ClusterServiceVersion, for what the package tells of itself. */
  readonly csv: JsonObject;
}

/** The images that a template names, each once, in their order. */
export function semverImages({ images }: SemverTemplate): string[] {
  return [...new Set(ARCHETYPES.flatMap((archetype) => images[archetype]))];
}

/**
 * The package, channels and bundles that a template stands for.
 * @param bundles by the image that the template names.
 * @throws Error in opm's words.
 * @see C-22; operator-registry v1.73.0 alpha/template/semver
 */
export function renderSemver(template: SemverTemplate, bundles: ReadonlyMap<string, TemplateBundle>): Meta[] {
  if (bundles.size === 0) throw new Error("render: no bundles specified or no bundles could be rendered");
  const { packageName, versions } = postProcessed(template, bundles);
  const made = semverChannels(versions, template.kinds);
  return [
    packageMeta(packageName, made, bundles),
    ...made.channels.map(({ name, entries }) => metaOf({ schema: "olm.channel", name, package: packageName, entries })),
    ...[...bundles.values()].map(({ meta }) => meta),
  ];
}

interface PostProcessed {
  packageName: string;
  versions: Map<Archetype, VersionedBundle[]>;
}

function postProcessed(template: SemverTemplate, bundles: ReadonlyMap<string, TemplateBundle>): PostProcessed {
  const versions = new Map<Archetype, VersionedBundle[]>();
  let packageName: string | undefined;
  try {
    for (const archetype of ARCHETYPES) {
      const found = new Map<string, VersionedBundle>();
      for (const image of template.images[archetype]) {
        const { name, version, package: owner } = versionedBundle(image, bundles);
        packageName ??= owner;
        if (owner !== packageName) throw new Error(`bundle ${goQuote(owner)} does not belong to this package: ${goQuote(packageName)}`);
        if (found.has(name)) throw new Error(`duplicate bundle name ${goQuote(name)}`);
        found.set(name, { name, version });
      }
      refuseSameVersions([...found.values()]);
      versions.set(archetype, [...found.values()]);
    }
  } catch (err) {
    throw new Error(`render: unable to post-process bundle info: ${messageOf(err)}`, { cause: err });
  }
  return { packageName: packageName ?? "", versions };
}

function versionedBundle(image: string, bundles: ReadonlyMap<string, TemplateBundle>): VersionedBundle & { package: string } {
  const bundle = bundles.get(image);
  if (!bundle) throw new Error(`supplied bundle image name ${goQuote(image)} not found in rendered bundle images`);
  const { name, blob } = bundle.meta;
  const own = objectMembers(blob, "properties").filter((property) => textMember(property, "type") === "olm.package");
  const value = own[0]?.["value"];
  if (own.length !== 1) throw new Error(`bundle ${goQuote(name)} has multiple "olm.package" properties, expected exactly 1`);
  if (!isObject(value)) throw new Error(`parse properties for bundle ${goQuote(name)}: olm.package: expected an object`);
  const version = textMember(value, "version");
  return { name, version: parsedVersion(name, version), package: textMember(value, "packageName") };
}

function parsedVersion(bundle: string, version: string): Version {
  try {
    return parseVersion(version);
  } catch (err) {
    throw new Error(`bundle ${goQuote(bundle)} has invalid version ${goQuote(version)}: ${messageOf(err)}`, { cause: err });
  }
}

/** Build metadata orders nothing. */
function refuseSameVersions(bundles: readonly VersionedBundle[]): void {
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const version of bundles.map((bundle) => bundle.version).sort((a, b) => compareText(formatVersion(a), formatVersion(b)))) {
    const ordered = formatVersion({ ...version, build: [] });
    if (seen.has(ordered)) faults.push(`bundle version ${goQuote(formatVersion(version))} cannot be compared to ${goQuote(ordered)}`);
    seen.add(ordered);
  }
  const told = [...new Set(faults)];
  if (told.length === 0) return;
  const list = told.length === 1 ? told[0] : `[${told.join(", ")}]`;
  throw new Error(`encountered bundle versions which differ only by build metadata, which cannot be ordered: ${list}`);
}

/** Description and icon are those of the newest bundle of the default channel. */
function packageMeta(name: string, { channels, defaultChannel }: SemverChannels, bundles: ReadonlyMap<string, TemplateBundle>): Meta {
  const head = channels.find((channel) => channel.name === defaultChannel)?.entries.at(-1)?.name;
  const newest = [...bundles.values()].find(({ meta }) => meta.name === head);
  return metaOf({ schema: "olm.package", name, defaultChannel, ...(newest ? describedBy(newest.csv) : {}) });
}

/** What a ClusterServiceVersion says for its package: `icon` and `description`, as far as there is any. */
export function describedBy(csv: JsonObject): JsonObject {
  const spec = objectAt(csv, "spec");
  const description = textMember(spec, "description");
  const [icon] = objectMembers(spec, "icon");
  const base64data = icon === undefined ? "" : textMember(icon, "base64data");
  return {
    ...(base64data === "" || icon === undefined ? {} : { icon: { base64data, mediatype: textMember(icon, "mediatype") } }),
    ...(description === "" ? {} : { description }),
  };
}

function metaOf(blob: { schema: string; name: string; package?: string; [member: string]: unknown }): Meta {
  return { schema: blob.schema, package: blob.package ?? "", name: blob.name, blob };
}
