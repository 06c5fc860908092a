import { rankChannels } from "../fbc/bundleOrder.ts";
import type { DeprecationReference, FbcBundle, FbcChannel, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { parseVersionRelease, type VersionRelease } from "../version/version.ts";

/** A bundle of the package, with the parsed data that resolution compares. */
export interface Candidate {
  readonly bundle: FbcBundle;
  /** Undefined if the bundle has no valid version; such a bundle sorts last. */
  readonly version: VersionRelease | undefined;
  readonly deprecated: boolean;
  /** Position by channel: 0 in the package's default channel, then by the name of the bundle's first channel; bundles in no channel are last. */
  readonly rank: () => number;
}

/**
 * Returns the version and release in the bundle's first `olm.package` property.
 * @throws Error if the property does not exist or contains no valid version.
 */
export function parseBundleVersion(bundle: Pick<FbcBundle, "name" | "properties">): VersionRelease {
  const property = bundle.properties.find(({ type }) => type === "olm.package");
  if (!property) throw new Error(`no package property found in bundle ${goQuote(bundle.name)}`);
  const { value } = property;
  if (typeof value !== "object" || Array.isArray(value)) throw createPropertyError("the value is not an object");
  const { version = "", release } = (value ?? {}) as { version?: unknown; release?: unknown };
  if (typeof version !== "string") throw createPropertyError("the version is not a string");
  if (release !== undefined && release !== null && typeof release !== "string") throw createPropertyError("the release is not a string");
  return parseVersionRelease(version, release);
}

/** Returns the `release` of the bundle's first `olm.package` property, possibly empty; undefined if it is not set. The version must be valid. */
export function getStatedRelease(bundle: FbcBundle): string | undefined {
  const { release } = (bundle.properties.find(({ type }) => type === "olm.package")?.value ?? {}) as { release?: unknown };
  return typeof release === "string" ? release : undefined;
}

function createPropertyError(reason: string): Error {
  return new Error(`error unmarshalling package property: ${reason}`);
}

/** Returns the bundles of a package as candidates, in the same order. */
export function listCandidates(content: PackageContent, deprecated: ReadonlySet<string>): Candidate[] {
  const channels = content.channels.map(({ name, entries }) => ({ name, entries: entries.map((entry) => entry.name) }));
  const getRank = rankChannels(content.package?.defaultChannel, channels);
  return content.bundles.map((bundle) => ({
    bundle,
    version: findBundleVersion(bundle),
    deprecated: deprecated.has(bundle.name),
    rank: () => getRank(bundle.name),
  }));
}

/** Returns the bundle's version; undefined if it is invalid. */
export function findBundleVersion(bundle: Pick<FbcBundle, "name" | "properties">): VersionRelease | undefined {
  try {
    return parseBundleVersion(bundle);
  } catch {
    return undefined;
  }
}

/** Returns the names of the bundles that are entries of at least one of `channels`. */
export function listEntryNames(channels: readonly FbcChannel[]): ReadonlySet<string> {
  return new Set(channels.flatMap(({ entries }) => entries.map(({ name }) => name)));
}

/** The subject of a deprecation check. */
export interface DeprecationQuery {
  /** The channels in spec; empty means all channels of the package. */
  readonly channels?: readonly string[] | undefined;
  /** The installed bundle, if any. */
  readonly bundleName?: string | undefined;
}

/** Deprecation messages, in the catalog's order, without empty ones. */
export interface DeprecationMessages {
  package: string[];
  channel: string[];
  bundle: string[];
}

/**
 * Returns the catalog's deprecations of the package, the requested channels, and one bundle. If the query has no channels, the messages of all
 * deprecated channels are returned, even if the bundle is not in them.
 * @see operator-controller df2c201d internal/operator-controller/controllers/clusterextension_controller.go SetDeprecationStatus
 */
export function findDeprecations(
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

/** Returns the names of the bundles with a deprecation of their own. A deprecated channel or package does not deprecate its bundles. */
export function listDeprecatedBundles(deprecations: FbcDeprecations | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { reference } of deprecations?.entries ?? []) if (reference.schema === "olm.bundle") names.add(reference.name ?? "");
  return names;
}
