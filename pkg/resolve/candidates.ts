import { channelRanks } from "../fbc/bundleOrder.ts";
import type { DeprecationReference, FbcBundle, FbcChannel, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { parseVersionRelease, type VersionRelease } from "../version/version.ts";

/** A bundle of the package with what choosing needs, read once. */
export interface Candidate {
  readonly bundle: FbcBundle;
  /** Undefined where the bundle has none that can be read; such a bundle comes last. */
  readonly version: VersionRelease | undefined;
  readonly deprecated: boolean;
  /** Where the channels put it: 0 in the package's default channel, then by the name of its first channel, at last in none. */
  readonly rank: () => number;
}

/**
 * The version and release that the bundle's first `olm.package` property states.
 * @throws Error when there is no such property, or no version in it.
 */
export function parseBundleVersion(bundle: Pick<FbcBundle, "name" | "properties">): VersionRelease {
  const property = bundle.properties.find(({ type }) => type === "olm.package");
  if (!property) throw new Error(`no package property found in bundle ${goQuote(bundle.name)}`);
  const { value } = property;
  if (typeof value !== "object" || Array.isArray(value)) throw notReadable("the value is no object");
  const { version = "", release } = (value ?? {}) as { version?: unknown; release?: unknown };
  if (typeof version !== "string") throw notReadable("the version is no string");
  if (release !== undefined && release !== null && typeof release !== "string") throw notReadable("the release is no string");
  return parseVersionRelease(version, release);
}

/** The release that a bundle states apart from its version, even an empty one; undefined where it states none. Its version can be read. */
export function statedRelease(bundle: FbcBundle): string | undefined {
  const { release } = (bundle.properties.find(({ type }) => type === "olm.package")?.value ?? {}) as { release?: unknown };
  return typeof release === "string" ? release : undefined;
}

function notReadable(reason: string): Error {
  return new Error(`error unmarshalling package property: ${reason}`);
}

/** The bundles of a package as candidates, in the same order. */
export function listCandidates(content: PackageContent, deprecated: ReadonlySet<string>): Candidate[] {
  const channels = content.channels.map(({ name, entries }) => ({ name, entries: entries.map((entry) => entry.name) }));
  const rankOf = channelRanks(content.package?.defaultChannel, channels);
  return content.bundles.map((bundle) => ({
    bundle,
    version: findBundleVersion(bundle),
    deprecated: deprecated.has(bundle.name),
    rank: () => rankOf(bundle.name),
  }));
}

/** The same, undefined where it cannot be read. */
export function findBundleVersion(bundle: Pick<FbcBundle, "name" | "properties">): VersionRelease | undefined {
  try {
    return parseBundleVersion(bundle);
  } catch {
    return undefined;
  }
}

/** Names of the bundles that are entries of at least one of `channels`. */
export function entryNames(channels: readonly FbcChannel[]): ReadonlySet<string> {
  return new Set(channels.flatMap(({ entries }) => entries.map(({ name }) => name)));
}

/** What deprecation is asked about. */
export interface DeprecationQuery {
  /** Channels named in spec; none means every channel of the package. */
  readonly channels?: readonly string[] | undefined;
  /** The installed bundle, if there is one. */
  readonly bundleName?: string | undefined;
}

/** The messages of deprecation, in the catalog's order; empty messages are left out. */
export interface DeprecationMessages {
  package: string[];
  channel: string[];
  bundle: string[];
}

/**
 * What a catalog's deprecations say about the package, about the channels asked for and about one bundle.
 * Without channels in the query all deprecated channels are told, whether the bundle is in them or not.
 * @see operator-controller df2c201d internal/operator-controller/controllers/clusterextension_controller.go SetDeprecationStatus
 */
export function deprecationsFor(
  deprecations: FbcDeprecations | undefined,
  { channels = [], bundleName }: DeprecationQuery,
): DeprecationMessages {
  const messages = (isMeant: (reference: DeprecationReference) => boolean): string[] =>
    (deprecations?.entries ?? []).filter(({ reference, message }) => message !== "" && isMeant(reference)).map(({ message }) => message);
  return {
    package: messages(({ schema }) => schema === "olm.package"),
    channel: messages(({ schema, name }) => schema === "olm.channel" && (channels.length === 0 || channels.includes(name ?? ""))),
    bundle: messages(({ schema, name }) => schema === "olm.bundle" && bundleName !== undefined && name === bundleName),
  };
}

/** Names of the bundles that are deprecated themselves; a deprecated channel or package does not make its bundles so. */
export function deprecatedBundles(deprecations: FbcDeprecations | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { reference } of deprecations?.entries ?? []) if (reference.schema === "olm.bundle") names.add(reference.name ?? "");
  return names;
}
