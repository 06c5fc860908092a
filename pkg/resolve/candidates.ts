import { goQuote } from "../errors/goQuote.ts";
import type { FbcBundle, FbcChannel } from "../fbc/types.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../version/version.ts";

/** A bundle of the package with what choosing needs, read once. */
export interface Candidate {
  readonly bundle: FbcBundle;
  /** Undefined where the bundle has none that can be read; such a bundle comes last. */
  readonly version: VersionRelease | undefined;
  readonly deprecated: boolean;
}

/**
 * The version and release that the bundle's first `olm.package` property states.
 * @throws Error when there is no such property, or no version in it.
 */
export function bundleVersion(bundle: FbcBundle): VersionRelease {
  const property = bundle.properties.find(({ type }) => type === "olm.package");
  if (!property) throw new Error(`no package property found in bundle ${goQuote(bundle.name)}`);
  const { value } = property;
  if (typeof value !== "object" || Array.isArray(value)) throw notReadable("the value is no object");
  const { version = "", release } = (value ?? {}) as { version?: unknown; release?: unknown };
  if (typeof version !== "string") throw notReadable("the version is no string");
  if (release !== undefined && release !== null && typeof release !== "string") throw notReadable("the release is no string");
  return parseVersionRelease(version, release);
}

function notReadable(reason: string): Error {
  return new Error(`error unmarshalling package property: ${reason}`);
}

/** `bundles` as candidates, in the same order. */
export function candidatesFrom(bundles: readonly FbcBundle[], deprecated: ReadonlySet<string>): Candidate[] {
  return bundles.map((bundle) => ({ bundle, version: versionOrNone(bundle), deprecated: deprecated.has(bundle.name) }));
}

function versionOrNone(bundle: FbcBundle): VersionRelease | undefined {
  try {
    return bundleVersion(bundle);
  } catch {
    return undefined;
  }
}

/** Highest version, then highest release first; without a version last; the name decides what is left. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  const byVersion = a.version && b.version ? compareVersionRelease(b.version, a.version) : Number(!a.version) - Number(!b.version);
  if (byVersion !== 0 || a.bundle.name === b.bundle.name) return byVersion;
  return a.bundle.name < b.bundle.name ? -1 : 1;
}

/** The candidate to take: not deprecated before deprecated, then as `compareCandidates` orders. */
export function bestOf(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.reduce<Candidate | undefined>((best, next) => {
    if (!best) return next;
    const order = Number(best.deprecated) - Number(next.deprecated) || compareCandidates(best, next);
    return order > 0 ? next : best;
  }, undefined);
}

/** Names of the bundles that are entries of at least one of `channels`. */
export function entryNames(channels: readonly FbcChannel[]): ReadonlySet<string> {
  return new Set(channels.flatMap(({ entries }) => entries.map(({ name }) => name)));
}
