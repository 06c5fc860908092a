import type { JsonObject } from "../api/k8s.ts";
import { findMember, isObject } from "../golang/members.ts";
import { quoteExcerpt } from "./boundedTexts.ts";
import { formatWrongKind } from "./wrongKind.ts";

/**
 * Schema of the objects that contain the support phases of a package.
 * @see https://github.com/openshift/enhancements/blob/13e46ff720b3ec3b2f969d61ea32bbb535b5bba6/enhancements/olm/lifecycle-and-compatibility.md
 */
export const LIFECYCLE_SCHEMA = "io.openshift.operators.lifecycles.v1alpha1";

/** A support phase of a version. Days are in UTC, in the form YYYY-MM-DD, and part of the phase. */
interface LifecyclePhase {
  readonly name: string;
  readonly startDate: string;
  readonly endDate: string;
}

/** Versions of a platform that a version of the package supports. */
interface PlatformVersions {
  /** Such as "openshift". */
  readonly name: string;
  /** Each MAJOR.MINOR. */
  readonly versions: readonly string[];
}

/** The support of a minor version of a package. */
export interface LifecycleVersion {
  /** MAJOR.MINOR. */
  readonly name: string;
  /** In chronological order. */
  readonly phases: readonly LifecyclePhase[];
  readonly platformCompatibility?: readonly PlatformVersions[];
}

/** The support of all versions of a package, in bounded form. It has the form of the object in the catalog. */
export interface PackageLifecycle {
  readonly versions: readonly LifecycleVersion[];
}

/** The support of a package, and the invalid parts of the object, which are omitted. */
export interface LifecycleReading {
  readonly lifecycle: PackageLifecycle;
  /** Each a clause with the path of the part; at most LIFECYCLE_LIMITS.faults. */
  readonly faults: readonly string[];
}

/** Limits of an object. Parts beyond a limit are omitted. For comparison: real packages have up to 40 versions with 6 phases each. */
export const LIFECYCLE_LIMITS = { versions: 500, phases: 32, platforms: 8, platformVersions: 128, name: 128, faults: 20 } as const;

/** OpenShift's console reads the first two numbers of any version. */
const MINOR = /^v?(\d{1,9})\.(\d{1,9})(?:[.+-].{0,64})?$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** Collects faults up to the limit. */
type Report = (fault: string) => void;

/**
 * Reads an object of schema `io.openshift.operators.lifecycles.v1alpha1`. Catalogs are untrusted: omits invalid parts and parts beyond the limits, and
 * reports each of them. If a minor version occurs several times, the first one counts.
 */
export function readLifecycle(blob: Readonly<JsonObject>): LifecycleReading {
  const faults: string[] = [];
  const report: Report = (fault) => {
    if (faults.length < LIFECYCLE_LIMITS.faults) faults.push(fault);
  };
  const versions = new Map<string, LifecycleVersion>();
  for (const [i, item] of readList(blob, "versions", "", LIFECYCLE_LIMITS.versions, report).entries()) {
    const version = readVersion(item, `versions[${i}]`, report);
    if (version === undefined) continue;
    if (versions.has(version.name)) report(`versions[${i}]: version ${version.name} occurs more than once`);
    else versions.set(version.name, version);
  }
  if (versions.size === 0) report("versions: expected at least one valid version");
  return { lifecycle: { versions: [...versions.values()] }, faults };
}

/**
 * Returns the support of a package after one more object. A package with several objects has no support data, because none of them is preferred.
 * @see https://github.com/openshift/console/blob/53d263edc4f922bc98edc4562c221dc6d3220282/pkg/olm/lifecycle.go
 */
export function addLifecycle(known: PackageLifecycle | undefined, blob: Readonly<JsonObject>): PackageLifecycle {
  return known ? { versions: [] } : readLifecycle(blob).lifecycle;
}

function readVersion(item: unknown, at: string, report: Report): LifecycleVersion | undefined {
  if (!isReportedObject(item, at, report)) return undefined;
  const name = readMinor(findMember(item, "name"), `${at}.name`, report);
  if (name === undefined) return undefined;
  const phases = readList(item, "phases", `${at}.`, LIFECYCLE_LIMITS.phases, report)
    .flatMap((phase, i) => readPhase(phase, `${at}.phases[${i}]`, report) ?? [])
    .sort((a, b) => (a.startDate < b.startDate ? -1 : 1));
  if (phases.length === 0) report(`${at}.phases: expected at least one valid phase`);
  reportBreaks(phases, at, report);
  const platforms = findMember(item, "platformCompatibility");
  if (platforms === undefined || platforms === null) return { name, phases };
  const platformCompatibility = readList(item, "platformCompatibility", `${at}.`, LIFECYCLE_LIMITS.platforms, report).flatMap(
    (platform, i) => readPlatform(platform, `${at}.platformCompatibility[${i}]`, report) ?? [],
  );
  return { name, phases, platformCompatibility };
}

function readPhase(item: unknown, at: string, report: Report): LifecyclePhase | undefined {
  if (!isReportedObject(item, at, report)) return undefined;
  const name = readName(findMember(item, "name"), `${at}.name`, report);
  const startDate = readDay(findMember(item, "startDate"), `${at}.startDate`, report);
  const endDate = readDay(findMember(item, "endDate"), `${at}.endDate`, report);
  if (name === undefined || startDate === undefined || endDate === undefined) return undefined;
  if (endDate >= startDate) return { name, startDate, endDate };
  report(`${at}: endDate ${endDate} is before startDate ${startDate}`);
  return undefined;
}

/** Reports gaps and overlaps. The phases still count. */
function reportBreaks(phases: readonly LifecyclePhase[], at: string, report: Report): void {
  for (const [i, { name, startDate }] of phases.entries()) {
    const before = phases[i - 1];
    if (before && startDate !== addDay(before.endDate))
      report(`${at}: phase ${quoteExcerpt(name)} does not start on the day after phase ${quoteExcerpt(before.name)}`);
  }
}

function readPlatform(item: unknown, at: string, report: Report): PlatformVersions | undefined {
  if (!isReportedObject(item, at, report)) return undefined;
  const name = readName(findMember(item, "name"), `${at}.name`, report);
  if (name === undefined) return undefined;
  const versions = readList(item, "versions", `${at}.`, LIFECYCLE_LIMITS.platformVersions, report).flatMap(
    (version, i) => readMinor(version, `${at}.versions[${i}]`, report) ?? [],
  );
  if (versions.length > 0) return { name, versions: [...new Set(versions)] };
  report(`${at}.versions: expected at least one valid version`);
  return undefined;
}

/** Reports whether an item is an object; if not, also as a fault. */
function isReportedObject(item: unknown, at: string, report: Report): item is JsonObject {
  if (isObject(item)) return true;
  report(`${at}: ${formatWrongKind(item, "an object")}`);
  return false;
}

function readList(object: Readonly<JsonObject>, key: string, at: string, max: number, report: Report): readonly unknown[] {
  const value = findMember(object, key);
  if (!Array.isArray(value)) {
    report(`${at}${key}: ${formatWrongKind(value, "a list")}`);
    return [];
  }
  if (value.length > max) report(`${at}${key}: ${value.length} items, only the first ${max} count`);
  return value.slice(0, max) as unknown[];
}

function readName(value: unknown, at: string, report: Report): string | undefined {
  if (typeof value !== "string") report(`${at}: ${formatWrongKind(value, "a string")}`);
  else if (value.trim() === "" || value.length > LIFECYCLE_LIMITS.name) report(`${at}: expected 1 to ${LIFECYCLE_LIMITS.name} characters`);
  else return value.trim();
  return undefined;
}

function readMinor(value: unknown, at: string, report: Report): string | undefined {
  if (typeof value !== "string") {
    report(`${at}: ${formatWrongKind(value, "a string")}`);
    return undefined;
  }
  const [, major, minor] = MINOR.exec(value) ?? [];
  if (major !== undefined && minor !== undefined) return `${Number(major)}.${Number(minor)}`;
  report(`${at}: ${quoteExcerpt(value)} is not in the form MAJOR.MINOR`);
  return undefined;
}

function readDay(value: unknown, at: string, report: Report): string | undefined {
  if (typeof value === "string" && DAY.test(value) && formatDay(Date.parse(`${value}T00:00:00Z`)) === value) return value;
  report(
    `${at}: ${typeof value === "string" ? `${quoteExcerpt(value)} is not a day in the form YYYY-MM-DD` : formatWrongKind(value, "a string")}`,
  );
  return undefined;
}

/** Returns the UTC day of a time in milliseconds since the epoch, as YYYY-MM-DD. Empty if the time is invalid. */
export function formatDay(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 10);
}

function addDay(day: string): string {
  return formatDay(getEndOfDay(day));
}

/** Returns the time, in milliseconds since the epoch, at which a day ends in UTC. */
export function getEndOfDay(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) + DAY_MS;
}
