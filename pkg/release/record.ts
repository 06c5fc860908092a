import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { ProxyVariables } from "../api/proxy.ts";
import type { BundleRequirements } from "../bundle/requirements.ts";
import type { RolledBack } from "./rollbackBackoff.ts";

/** Helm's release statuses. `pending-*` is a release that is in progress or was interrupted by a crash. */
export const RELEASE_STATUSES = [
  "unknown",
  "deployed",
  "uninstalled",
  "superseded",
  "failed",
  "uninstalling",
  "pending-install",
  "pending-upgrade",
  "pending-rollback",
] as const;

/** One of `RELEASE_STATUSES`. */
export type ReleaseStatus = (typeof RELEASE_STATUSES)[number];

/** Parses a release status; "unknown" for every other value. */
export function parseReleaseStatus(value: unknown): ReleaseStatus {
  return RELEASE_STATUSES.find((status) => status === value) ?? "unknown";
}

/** An object of earlier releases that still has the extension's marks. */
export interface LeftObject extends ObjectRef {
  /** Why a CustomResourceDefinition is kept. Absent if another extension needs the object. */
  readonly kept?: string;
}

/** One numbered release of an extension: the applied objects, the bundle, and the result. */
export interface ReleaseRecord {
  /** The extension's name. */
  name: string;
  /** The install namespace. */
  namespace: string;
  /** Starts at 1. Never reused. */
  version: number;
  status: ReleaseStatus;
  /** One sentence about `status`, such as Helm's "Install complete". */
  description: string;
  /** RFC 3339; Go writes nanoseconds. */
  firstDeployed: string;
  /** RFC 3339. */
  lastDeployed: string;
  /** The bundle: package, name, version, image. They are part of the record, not labels of a Secret. */
  labels: Record<string, string>;
  /** The CSV's annotations, `olm.properties` among them. */
  annotations: Record<string, string>;
  /**
   * The bundle's properties in the catalog at installation, as `formatKeptProperties` writes them: a JSON list of type and value. Absent on releases
   * of other writers and if no catalog was used.
   */
  properties?: string;
  /** The bundle's requirements on the cluster; absent if there are none, and on releases of other writers. */
  requirements?: BundleRequirements;
  /** The applied objects, with owner labels and references, in the order in which they were applied. */
  objects: KubeObject[];
  /** Digest of all inputs of the rendering; absent on releases of other writers. */
  inputDigest?: string;
  /** Digest of the pulled image of the rendered objects; absent on releases of other writers. */
  imageDigest?: string;
  /** The cluster's proxy variables, if the Deployments were rendered with them; values may contain passwords. */
  proxy?: ProxyVariables;
  /** Warnings about the choice of this bundle, one sentence each. */
  cautions?: readonly string[];
  /** Problems of the bundle itself, one sentence each; absent if there are none, and on releases of other writers. */
  flaws?: readonly string[];
  /**
   * Objects of earlier releases that still have the extension's marks: those that another extension needs, and kept CustomResourceDefinitions.
   * Absent if there are none, and on releases of other writers.
   */
  left?: readonly LeftObject[];
  /** Time when the whole release was first healthy, as RFC 3339; absent on releases of other writers. */
  rolledOutAt?: string;
  /** On a rollback: the release that was rolled back. */
  rolledBack?: RolledBack;
  /** On a rollback by annotation: the revision that it restores. */
  pinnedTo?: number;
  /** Values of its objects that came from `spec.config.valuesFrom` and must be redacted; in any order. */
  sourced?: readonly string[];
  /** The extension's generation when the release started; absent on releases of other writers. */
  generation?: number;
  /** Field manager that last changed the cause of the release: the extension's spec, or the rollback annotation. Absent if unknown. */
  changedBy?: string;
  /** Set on a release that took over the release of another operator-controller, until a newer bundle is installed. */
  takenOver?: true;
  /** On a release that the Go operator-controller stored in an object set: the uid of the set. Our apply has not replaced its owner references yet. */
  objectSet?: string;
}

/** The parts of a release that can be read without its payload. */
export type ReleaseSummary = Pick<ReleaseRecord, "version" | "status">;

/** Reports whether a release is being applied, or was being applied when the controller stopped. */
export function isPending(release: Pick<ReleaseRecord, "status">): boolean {
  return release.status.startsWith("pending-") || release.status === "uninstalling";
}

/** Returns the newest completely applied release, for `history` in any order. */
export function findLastDeployed<T extends ReleaseSummary>(history: readonly T[]): T | undefined {
  return sortNewestFirst(history).find((release) => release.status === "deployed");
}

/** Returns `history` by version, highest first. */
export function sortNewestFirst<T extends ReleaseSummary>(history: readonly T[]): T[] {
  return history.toSorted((a, b) => b.version - a.version);
}

/** Maximum number of releases kept for an extension, as in Helm. */
export const MAX_HISTORY = 10;

/**
 * Returns the versions to remove, oldest first: all except the newest ten and the last deployed one, so that a rollback is possible after any number
 * of failed attempts.
 */
export function findReleasesToRemove(history: readonly ReleaseSummary[]): number[] {
  const keep = findLastDeployed(history)?.version;
  const old = sortNewestFirst(history).slice(keep === undefined || isAmongNewest(history, keep) ? MAX_HISTORY : MAX_HISTORY - 1);
  return old
    .map((release) => release.version)
    .filter((version) => version !== keep)
    .reverse();
}

/**
 * Returns the releases whose objects may be on the cluster, newest first: the last deployed one and every later attempt; all releases if none
 * was ever deployed.
 */
export function listReleasesWithObjects<T extends ReleaseSummary>(history: readonly T[]): T[] {
  const deployed = findLastDeployed(history);
  return sortNewestFirst(history).filter((release) => release.version >= (deployed?.version ?? 0));
}

/**
 * Returns the releases that count as installed, newest first: the last deployed one and every later attempt, without records of an uninstallation. If
 * no release is deployed, returns all releases after the last uninstallation, because their objects may be on the cluster.
 */
export function listActiveReleases<T extends ReleaseSummary>(history: readonly T[]): T[] {
  const all = sortNewestFirst(history);
  const uninstalled = findLastDeployed(all) ? -1 : all.findIndex(({ status }) => status === "uninstalled");
  return listReleasesWithObjects(uninstalled < 0 ? all : all.slice(0, uninstalled)).filter(({ status }) => status !== "uninstalled");
}

function isAmongNewest(history: readonly ReleaseSummary[], version: number): boolean {
  return sortNewestFirst(history)
    .slice(0, MAX_HISTORY)
    .some((release) => release.version === version);
}

const BUNDLE: readonly string[] = [LABEL_PACKAGE_NAME, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION];

/**
 * Reports whether the next release only takes over the bundle that another operator-controller installed:
 *
 * | deployed release             | next release                               | taken over |
 * | none                         | any                                        | no         |
 * | any                          | of another bundle                          | no         |
 * | of another writer | of the same bundle | yes |
 * | of ours, which took it over  | the same bundle, back after a failed upgrade | yes      |
 * | of ours                      | any other                                  | no         |
 *
 * The image does not count, because it may come from a mirror now.
 * @param deployed last completely applied release
 * @param next the release to create
 */
export function isTakeOver(deployed: ReleaseRecord | undefined, next: Pick<ReleaseRecord, "labels" | "rolledBack">): boolean {
  if (!deployed || BUNDLE.some((label) => deployed.labels[label] !== next.labels[label])) return false;
  return isOfAnotherWriter(deployed) || (deployed.takenOver === true && next.rolledBack !== undefined);
}

/**
 * Reports whether another operator-controller wrote a release. All of our releases have an input digest, except a rollback to a release without one.
 */
export function isOfAnotherWriter({ inputDigest, rolledBack, pinnedTo }: ReleaseRecord): boolean {
  return inputDigest === undefined && rolledBack === undefined && pinnedTo === undefined;
}

/** Statuses of a release that was completely applied. */
const COMPLETE: readonly ReleaseStatus[] = ["deployed", "superseded"];

/**
 * Parses the revision of an annotation `rollback-to`.
 * @throws Error unless it is a positive integer
 */
export function parseRevision(text: string): number {
  const revision = Number(text);
  if (!/^[0-9]{1,9}$/.test(text) || revision < 1) throw new Error(`"${text.slice(0, 64)}" is not a revision: specify a positive integer`);
  return revision;
}

/**
 * Checks that a revision is available for a rollback: it is in the history and was completely applied.
 * @throws Error with the available revisions
 */
export function requireRevision(releases: readonly ReleaseSummary[], revision: number): void {
  const found = releases.find(({ version }) => version === revision);
  const able = sortNewestFirst(releases.filter(({ status }) => COMPLETE.includes(status))).map(({ version }) => version);
  const others = able.length === 0 ? "no revision is available for a rollback" : `available for a rollback: ${able.join(", ")}`;
  if (!found) throw new Error(`revision ${revision} is not in the release history: ${others}`);
  if (!COMPLETE.includes(found.status))
    throw new Error(`revision ${revision} was never applied completely (status ${found.status}): ${others}`);
}

/**
 * Returns the revision before the deployed one.
 * @throws Error if it does not exist
 */
export function findPreviousRevision(releases: readonly ReleaseSummary[]): number {
  const deployed = sortNewestFirst(releases).find(({ status }) => status === "deployed");
  const before = sortNewestFirst(releases).find(({ version, status }) => status === "superseded" && version < (deployed?.version ?? 0));
  if (!before) throw new Error("no earlier revision is available for a rollback");
  return before.version;
}
