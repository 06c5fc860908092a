import { parseRange, type Range } from "../../version/blang.ts";
import { parseVersionRelease, type VersionRelease } from "../../version/version.ts";

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

/** Tells whether a bundle's version is in a skipRange; none is in a text that is no range. */
export function rangeTest(text: string): (version: BundleVersion | undefined) => boolean {
  const range = rangeFrom(text);
  return (version) => range !== undefined && version?.parsed !== undefined && range.contains(version.parsed.version);
}

function rangeFrom(text: string): Range | undefined {
  try {
    return parseRange(text);
  } catch {
    return undefined;
  }
}
