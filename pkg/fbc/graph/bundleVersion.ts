import { parseRange, type SortedRange } from "../../version/blang.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../../version/version.ts";

const AT_END = /\.v?(\d+\.\d+\.\d+(?:[-+].*)?)$/;

/** A bundle's version, as it is written and, where it can be read, what it means. */
export interface BundleVersion {
  readonly text: string;
  readonly parsed: VersionRelease | undefined;
}

/** The version that `text` is, with an explicit release where there is one; a text that is none is kept as it is. */
export function bundleVersion(text: string, release?: string): BundleVersion {
  try {
    return { text, parsed: parseVersionRelease(text, release) };
  } catch {
    return { text, parsed: undefined };
  }
}

/** The version that a bundle's name ends with, as in `foo.v1.2.0`: all that is known of a bundle that the catalog no longer has. */
export function versionInName(name: string): BundleVersion | undefined {
  const text = name.length > 1_024 ? undefined : AT_END.exec(name)?.[1];
  return text === undefined ? undefined : bundleVersion(text);
}

/** Negative where `a` is the older one; what is not known is the oldest. */
export function compareKnownVersions(a: VersionRelease | undefined, b: VersionRelease | undefined): number {
  if (!a || !b) return Number(a !== undefined) - Number(b !== undefined);
  return compareVersionRelease(a, b);
}

/** Tells whether a bundle's version is in a skipRange; none is in a text that is no range. */
export function rangeTest(text: string): (version: BundleVersion | undefined) => boolean {
  const range = rangeFrom(text);
  return (version) => range !== undefined && version?.parsed !== undefined && range.contains(version.parsed.version);
}

/** The range in a text; undefined where there is none. */
export function rangeFrom(text: string): SortedRange | undefined {
  try {
    return parseRange(text);
  } catch {
    return undefined;
  }
}
