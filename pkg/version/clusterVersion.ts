import { parseVersion, type VersionNumber } from "./version.ts";

/** Major and minor number of an OpenShift version, as unsigned 64-bit integers. They determine whether an operator supports the version. */
export interface MinorVersion {
  readonly major: VersionNumber;
  readonly minor: VersionNumber;
}

/** 4.23 and 5.0 are released together and count as equal; the next version after both is 5.1. */
const LAST_OF_4: MinorVersion = { major: 4, minor: 23 };
const FIRST_OF_5: MinorVersion = { major: 5, minor: 0 };

/**
 * Parses major and minor of a cluster's strict semantic version; ignores patch, prerelease and build metadata.
 * @throws Error in blang/semver's words
 */
export function parseMinorVersion(text: string): MinorVersion {
  const { major, minor } = parseVersion(text);
  return { major, minor };
}

/** Formats `version`, such as "4.18". */
export function formatMinorVersion({ major, minor }: MinorVersion): string {
  return `${major}.${minor}`;
}

/** Returns the minor version that a cluster of `version` is upgraded to next: 4.19 after 4.18, 5.1 after 4.23. */
export function getNextMinor(version: MinorVersion): MinorVersion {
  const { major, minor } = equivalent(version);
  const next = BigInt.asUintN(64, BigInt(minor) + 1n);
  return { major, minor: Number.isSafeInteger(Number(next)) ? Number(next) : next };
}

/** Reports whether an operator that supports OpenShift up to `max` allows a cluster of version `cluster` to upgrade to its next minor version. */
export function isNextAllowed(max: MinorVersion, cluster: MinorVersion): boolean {
  return compare(max, equivalent(cluster)) > 0;
}

/**
 * Reports whether `max` is less than `cluster`, the current or a target version. 4.23 and 5.0 count as equal, so a maximum between them, such as
 * 4.99, is not less than either.
 */
export function isBelow(max: MinorVersion, cluster: MinorVersion): boolean {
  return compare(max, compare(cluster, FIRST_OF_5) === 0 ? LAST_OF_4 : cluster) < 0;
}

/** Reports whether two minor versions are equal. 4.23 and 5.0 count as equal. */
export function areSameMinor(a: MinorVersion, b: MinorVersion): boolean {
  return compare(equivalent(a), equivalent(b)) === 0;
}

function equivalent(version: MinorVersion): MinorVersion {
  return compare(version, LAST_OF_4) === 0 ? FIRST_OF_5 : version;
}

function compare(a: MinorVersion, b: MinorVersion): number {
  if (a.major !== b.major) return a.major < b.major ? -1 : 1;
  if (a.minor !== b.minor) return a.minor < b.minor ? -1 : 1;
  return 0;
}

/** The version of the OpenShift cluster, if known. */
export type ClusterVersion =
  /** `text` is the version as the cluster reports it. */
  | { readonly kind: "known"; readonly text: string; readonly minor: MinorVersion }
  /** Not an OpenShift cluster, and no version is configured. */
  | { readonly kind: "none" }
  /** An OpenShift cluster whose version cannot be determined for this reason. */
  | { readonly kind: "unknown"; readonly reason: string };
