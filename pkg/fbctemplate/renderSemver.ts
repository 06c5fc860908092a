import { compareText } from "../text/compare.ts";
import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { objectAt, objectMembers, textMember } from "../fbc/members.ts";
import type { Meta } from "../fbc/types.ts";
import { formatVersion, parseVersion, type Version } from "../version/version.ts";
import { type SemverChannels, semverChannels, type VersionedBundle } from "./semverChannels.ts";
import { ARCHETYPES, type Archetype, type SemverTemplate } from "./semverTemplate.ts";

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
 * @see catalog-and-resolution.md 5.9; operator-registry v1.73 alpha/template/semver
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
