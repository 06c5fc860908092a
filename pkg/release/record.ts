import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { ProxyVariables } from "../api/proxy.ts";
import type { BundleRequirements } from "../bundle/requirements.ts";
import type { RolledBack } from "./rollbackBackoff.ts";

/** Helm's names of what a release can be; `pending-*` is a release under way, or one that was left behind by a crash. */
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

/** An object of earlier releases that still carries the extension's marks. */
export interface LeftObject extends ObjectRef {
  /** Why a CustomResourceDefinition stays. Absent on an object that stays because another extension wants it. */
  readonly kept?: string;
}

/** One numbered release of an extension: what was applied, of which bundle, and how that went. */
export interface ReleaseRecord {
  /** The extension's name. */
  name: string;
  /** The install namespace. */
  namespace: string;
  /** From 1, never used twice. */
  version: number;
  status: ReleaseStatus;
  /** One sentence about `status`, such as Helm's "Install complete". */
  description: string;
  /** RFC 3339; Go writes nanoseconds. */
  firstDeployed: string;
  /** RFC 3339. */
  lastDeployed: string;
  /** Which bundle this is: package, name, version, image. They are part of the record and not labels of a Secret. */
  labels: Record<string, string>;
  /** The CSV's annotations, `olm.properties` among them. */
  annotations: Record<string, string>;
  /**
   * What its catalog said about the bundle when it was applied, as `keptProperties` writes it: a JSON list of type and value; absent on
   * releases of other writers and on those for which no catalog was asked.
   */
  properties?: string;
  /** What the bundle wants of the cluster; absent where that is nothing, and on releases of other writers. */
  requirements?: BundleRequirements;
  /** As they were applied, owner labels and references included, in the order of the apply. */
  objects: KubeObject[];
  /** Identity of everything the objects were rendered from; absent on releases of other writers. */
  inputDigest?: string;
  /** Digest of the image that the objects were rendered from, as it was pulled; absent on releases of other writers. */
  imageDigest?: string;
  /** The cluster's proxy variables, where the Deployments were rendered with them; values may hold passwords. */
  proxy?: ProxyVariables;
  /** What was disregarded when this bundle was chosen, a sentence each. */
  cautions?: readonly string[];
  /** What is wrong with the bundle itself, a sentence each; absent where nothing is, and on releases of other writers. */
  flaws?: readonly string[];
  /**
   * Objects of earlier releases that still carry the extension's marks: those that another extension wants, and CustomResourceDefinitions that are
   * kept. Absent if there are none, and on releases of other writers.
   */
  left?: readonly LeftObject[];
  /** When all of it was healthy for the first time, RFC 3339; absent on releases of other writers. */
  rolledOutAt?: string;
  /** On a release that went back to an earlier one: what was given up for it. */
  rolledBack?: RolledBack;
  /** On a release that went back to an earlier one because somebody said so: the number of that. */
  pinnedTo?: number;
  /** Values of its objects that came from `spec.config.valuesFrom`, and are not shown; in any order. */
  sourced?: readonly string[];
  /** On a release that took over what another operator-controller had installed: nothing newer was installed since. */
  takenOver?: true;
}

/** The part of a release that can be told without reading what it holds. */
export type ReleaseSummary = Pick<ReleaseRecord, "version" | "status">;

/** True while a release is being applied, or was when its writer stopped. */
export function isPending(release: Pick<ReleaseRecord, "status">): boolean {
  return release.status.startsWith("pending-") || release.status === "uninstalling";
}

/** The newest release that was applied completely, in whatever order `history` comes. */
export function lastDeployed<T extends ReleaseSummary>(history: readonly T[]): T | undefined {
  return newestFirst(history).find((release) => release.status === "deployed");
}

/** `history` by version, highest first. */
export function newestFirst<T extends ReleaseSummary>(history: readonly T[]): T[] {
  return history.toSorted((a, b) => b.version - a.version);
}

/** How many releases of an extension are kept, as Helm does. */
export const MAX_HISTORY = 10;

/**
 * The versions that go, oldest first: all but the newest ten, and never the last deployed one,
 * so that any number of failed attempts leaves something to go back to.
 */
export function releasesToRemove(history: readonly ReleaseSummary[]): number[] {
  const keep = lastDeployed(history)?.version;
  const old = newestFirst(history).slice(keep === undefined || isAmongNewest(history, keep) ? MAX_HISTORY : MAX_HISTORY - 1);
  return old
    .map((release) => release.version)
    .filter((version) => version !== keep)
    .reverse();
}

/**
 * The releases whose objects may be on the cluster, newest first: the last deployed one and every attempt after it;
 * all of them where none was ever deployed.
 */
export function releasesWithObjects<T extends ReleaseSummary>(history: readonly T[]): T[] {
  const deployed = lastDeployed(history);
  return newestFirst(history).filter((release) => release.version >= (deployed?.version ?? 0));
}

/**
 * The releases that count as installed, newest first: the last deployed one and every attempt after it, but for records of an uninstallation.
 * Without a deployed one every release counts that is newer than the last uninstallation, since objects of each may be on the cluster.
 */
export function activeReleases<T extends ReleaseSummary>(history: readonly T[]): T[] {
  const all = newestFirst(history);
  const uninstalled = lastDeployed(all) ? -1 : all.findIndex(({ status }) => status === "uninstalled");
  return releasesWithObjects(uninstalled < 0 ? all : all.slice(0, uninstalled)).filter(({ status }) => status !== "uninstalled");
}

function isAmongNewest(history: readonly ReleaseSummary[], version: number): boolean {
  return newestFirst(history)
    .slice(0, MAX_HISTORY)
    .some((release) => release.version === version);
}

const BUNDLE: readonly string[] = [LABEL_PACKAGE_NAME, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION];

/**
 * Whether with the next release what another operator-controller installed is only taken over, and nothing newer is installed:
 *
 * | deployed release             | next release                               | taken over |
 * | none                         | any                                        | no         |
 * | any                          | of another bundle                          | no         |
 * | of another writer            | of the same bundle                         | yes        |
 * | of ours, which took it over  | the same bundle, back after a failed upgrade | yes      |
 * | of ours                      | any other                                  | no         |
 *
 * The image does not count: it may come from a mirror by now.
 * @param deployed the last release that was applied completely.
 * @param next what a release that is to be made says of itself.
 */
export function isTakeOver(deployed: ReleaseRecord | undefined, next: Pick<ReleaseRecord, "labels" | "rolledBack">): boolean {
  if (!deployed || BUNDLE.some((label) => deployed.labels[label] !== next.labels[label])) return false;
  return isOfAnotherWriter(deployed) || (deployed.takenOver === true && next.rolledBack !== undefined);
}

/** Whether another operator-controller wrote a release. Every one of ours has an input digest, but one that went back to a release without. */
export function isOfAnotherWriter({ inputDigest, rolledBack, pinnedTo }: ReleaseRecord): boolean {
  return inputDigest === undefined && rolledBack === undefined && pinnedTo === undefined;
}

/** What a release was once all of it was on the cluster. */
const COMPLETE: readonly ReleaseStatus[] = ["deployed", "superseded"];

/**
 * The revision of an annotation `rollback-to`.
 * @throws Error for anything but a whole number from 1.
 */
export function parseRevision(text: string): number {
  const revision = Number(text);
  if (!/^[0-9]{1,9}$/.test(text) || revision < 1) throw new Error(`"${text.slice(0, 64)}" is no revision, which is a whole number from 1`);
  return revision;
}

/**
 * Checks that a revision can be rolled back to: it is among the releases, and all of it was on the cluster.
 * @throws Error that names those that can.
 */
export function requireRevision(releases: readonly ReleaseSummary[], revision: number): void {
  const found = releases.find(({ version }) => version === revision);
  const able = newestFirst(releases.filter(({ status }) => COMPLETE.includes(status))).map(({ version }) => version);
  const others = able.length === 0 ? "there is none to go back to" : `one of these can be gone back to: ${able.join(", ")}`;
  if (!found) throw new Error(`revision ${revision} is not among the releases that are kept: ${others}`);
  if (!COMPLETE.includes(found.status))
    throw new Error(`revision ${revision} was never applied completely, it is ${found.status}: ${others}`);
}

/**
 * The revision before the one that is deployed.
 * @throws Error when there is none.
 */
export function previousRevision(releases: readonly ReleaseSummary[]): number {
  const deployed = newestFirst(releases).find(({ status }) => status === "deployed");
  const before = newestFirst(releases).find(({ version, status }) => status === "superseded" && version < (deployed?.version ?? 0));
  if (!before) throw new Error("there is no earlier revision to go back to");
  return before.version;
}
