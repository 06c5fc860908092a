import type { ClusterVersion, MinorVersion } from "../version/clusterVersion.ts";
import { areSameMinor, formatMinorVersion } from "../version/clusterVersion.ts";
import { formatDay, getEndOfDay, type LifecycleVersion, type PackageLifecycle } from "./lifecycleDocument.ts";

/** Whether a version is in a support phase. */
type SupportState = "Supported" | "NotStarted" | "Ended" | "Unknown";
/** Whether a version supports the version of the cluster. */
type PlatformSupport = "Compatible" | "Incompatible" | "Unknown";

/** The support of a version of a package on one day. Days are in UTC, in the form YYYY-MM-DD. */
export interface VersionSupport {
  /** Unknown if the catalog has no valid data for the version. Unknown does not mean supported. */
  readonly state: SupportState;
  /** The current phase, or the next one. */
  readonly phase?: string | undefined;
  /** Last day of the current phase. */
  readonly phaseEndDate?: string | undefined;
  /** First day of the next phase, if no phase is current. */
  readonly startDate?: string | undefined;
  /** Last day of the last phase. */
  readonly endDate?: string | undefined;
  readonly platform: PlatformSupport;
  /** The supported OpenShift versions, each MAJOR.MINOR. Absent if the catalog does not list them. */
  readonly platformVersions?: readonly string[] | undefined;
}

/** When and where the support of a version is determined. */
export interface SupportQuery {
  /** UTC day, YYYY-MM-DD. Undefined if unknown: then the support of all versions is unknown. */
  readonly today: string | undefined;
  readonly cluster: ClusterVersion;
}

const OPENSHIFT = "openshift";
/** The support of a version without data. */
export const UNKNOWN_SUPPORT: VersionSupport = { state: "Unknown", platform: "Unknown" };

/**
 * Returns the support of a version: of its minor version, since catalogs have no data for patches.
 * @param lifecycle undefined if the catalog has no data.
 * @param version undefined if the bundle has no valid version.
 */
export function findVersionSupport(
  lifecycle: PackageLifecycle | undefined,
  version: MinorVersion | undefined,
  { today, cluster }: SupportQuery,
): VersionSupport {
  const minor = version && formatMinorVersion(version);
  const found = lifecycle?.versions.find(({ name }) => name === minor);
  return found ? { ...findPhase(found, today), ...checkPlatform(found, cluster) } : UNKNOWN_SUPPORT;
}

function findPhase({ phases }: LifecycleVersion, today: string | undefined): Omit<VersionSupport, "platform"> {
  const endDate = phases
    .map((phase) => phase.endDate)
    .sort()
    .at(-1);
  if (today === undefined || endDate === undefined) return { state: "Unknown" };
  const current = phases.find((phase) => phase.startDate <= today && today <= phase.endDate);
  if (current) return { state: "Supported", phase: current.name, phaseEndDate: current.endDate, endDate };
  const next = phases.find(({ startDate }) => startDate > today);
  return next ? { state: "NotStarted", phase: next.name, startDate: next.startDate, endDate } : { state: "Ended", endDate };
}

function checkPlatform(
  { platformCompatibility = [] }: LifecycleVersion,
  cluster: ClusterVersion,
): Pick<VersionSupport, "platform" | "platformVersions"> {
  const platform = platformCompatibility.find(({ name }) => name === OPENSHIFT);
  if (!platform) return { platform: "Unknown" };
  const platformVersions = platform.versions;
  if (cluster.kind !== "known") return { platform: "Unknown", platformVersions };
  const isListed = platformVersions.some((version) => {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    return areSameMinor({ major, minor }, cluster.minor);
  });
  return { platform: isListed ? "Compatible" : "Incompatible", platformVersions };
}

/** Reports whether a version is in a support phase, and supports the version of the cluster, if that is known. */
export function isSupported({ state, platform }: Pick<VersionSupport, "state" | "platform">): boolean {
  return state === "Supported" && platform !== "Incompatible";
}

/** Formats the phase and its last day, such as `Full support until 2027-01-31`. */
export function formatSupportPhase({ state, phase, phaseEndDate, startDate, endDate }: VersionSupport): string {
  if (state === "Supported") return `${phase} until ${phaseEndDate}${endDate === phaseEndDate ? "" : `, support ends on ${endDate}`}`;
  if (state === "NotStarted") return `not supported before ${startDate} (${phase})`;
  return state === "Ended" ? `support ended on ${endDate}` : "unknown";
}

/** Formats the supported OpenShift versions; undefined if they are unknown. */
export function formatPlatformSupport({ platform, platformVersions }: VersionSupport): string | undefined {
  if (platformVersions === undefined) return undefined;
  const versions = `OpenShift ${platformVersions.join(", ")}`;
  return platform === "Incompatible" ? `${versions}; not the version of the cluster` : versions;
}

/** Formats phase, last day and supported OpenShift versions on one line. */
export function formatSupport(support: VersionSupport): string {
  const platform = formatPlatformSupport(support);
  return platform === undefined ? formatSupportPhase(support) : `${formatSupportPhase(support)}; ${platform}`;
}

/** Explains as a clause why a version is not supported. Undefined if it is. */
export function explainMissingSupport(support: VersionSupport, cluster: ClusterVersion): string | undefined {
  const { state, platform, platformVersions = [], phase, startDate, endDate } = support;
  if (state === "Unknown") return "the catalog has no support phases for this version, and unknown does not count as supported";
  if (state === "NotStarted") return `its support starts on ${startDate} with phase ${phase}`;
  if (state === "Ended") return `its support ended on ${endDate}`;
  if (platform !== "Incompatible") return undefined;
  const text = cluster.kind === "known" ? ` ${formatMinorVersion(cluster.minor)}` : "";
  return `it supports OpenShift ${platformVersions.join(", ")}, but the cluster has${text === "" ? " another version" : text}`;
}

/**
 * Returns the next time, in milliseconds since the epoch, at which a phase of any version of the package starts or ends. Undefined if all phases have
 * ended.
 */
export function findNextSupportChange({ versions }: PackageLifecycle, now: number): number | undefined {
  const today = formatDay(now);
  const times = versions.flatMap(({ phases }) =>
    phases.flatMap(({ startDate, endDate }) => {
      if (startDate > today) return [Date.parse(`${startDate}T00:00:00Z`)];
      return endDate >= today ? [getEndOfDay(endDate)] : [];
    }),
  );
  return times.length === 0 ? undefined : Math.min(...times);
}
