import { parseVersion, type VersionNumber } from "./version.ts";

/** The part of an OpenShift version that decides what an operator supports: major and minor, unsigned 64-bit. */
export interface MinorVersion {
  readonly major: VersionNumber;
  readonly minor: VersionNumber;
}

/** 4.23 and 5.0 are released together and count as equal; from both the next one is 5.1. */
const LAST_OF_4: MinorVersion = { major: 4, minor: 23 };
const FIRST_OF_5: MinorVersion = { major: 5, minor: 0 };

/**
 * Major and minor of a cluster's version, a strict semantic one; patch, prerelease and build metadata are left out.
 * @throws Error in blang/semver's words.
 */
export function minorOf(text: string): MinorVersion {
  const { major, minor } = parseVersion(text);
  return { major, minor };
}

/** The text of `version`, such as "4.18". */
export function minorText({ major, minor }: MinorVersion): string {
  return `${major}.${minor}`;
}

/** The minor version that a cluster of `version` is upgraded to next: 4.19 after 4.18, 5.1 after 4.23. */
export function nextMinor(version: MinorVersion): MinorVersion {
  const { major, minor } = equivalent(version);
  const next = BigInt.asUintN(64, BigInt(minor) + 1n);
  return { major, minor: Number.isSafeInteger(Number(next)) ? Number(next) : next };
}

/** Whether an operator that supports OpenShift up to `max` lets a cluster of version `cluster` go to its next minor version. */
export function allowsNext(max: MinorVersion, cluster: MinorVersion): boolean {
  return compare(max, equivalent(cluster)) > 0;
}

/**
 * Whether `max` is less than `cluster`, a version that a cluster has already or is to get. 4.23 and 5.0 count as equal, so that a maximum
 * between the two in writing, such as 4.99, is below neither.
 */
export function isBelow(max: MinorVersion, cluster: MinorVersion): boolean {
  return compare(max, compare(cluster, FIRST_OF_5) === 0 ? LAST_OF_4 : cluster) < 0;
}

function equivalent(version: MinorVersion): MinorVersion {
  return compare(version, LAST_OF_4) === 0 ? FIRST_OF_5 : version;
}

function compare(a: MinorVersion, b: MinorVersion): number {
  if (a.major !== b.major) return a.major < b.major ? -1 : 1;
  if (a.minor !== b.minor) return a.minor < b.minor ? -1 : 1;
  return 0;
}

/** What is known of the version of the OpenShift cluster. */
export type ClusterVersion =
  /** `text` as the cluster says it, and its major and minor. */
  | { readonly kind: "known"; readonly text: string; readonly minor: MinorVersion }
  /** This is no OpenShift cluster, and nobody has set a version. */
  | { readonly kind: "none" }
  /** There is one, and it cannot be told for this cause. */
  | { readonly kind: "unknown"; readonly because: string };
