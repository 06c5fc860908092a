import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { BundleRequirements } from "../bundle/requirements.ts";
import type { ProxyVariables } from "../render/proxy.ts";
import type { RolledBack } from "./rolledBack.ts";

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
