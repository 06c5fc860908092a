import type { KubeObject } from "../api/k8s.ts";
import { formatCount } from "../text/lists.ts";
import { digestObject, digestObjects, getObjectKey } from "./identity.ts";
import { withoutBundleLabels } from "./labels.ts";
import { findLastDeployed, isPending, type ReleaseRecord, sortNewestFirst } from "./record.ts";

/** The desired state to compare with the newest release. */
export interface DesiredRelease {
  /** Prepared objects. */
  objects: readonly KubeObject[];
  /** The labels of the bundle that contains the objects. If they differ from the record, a new release is required. */
  labels?: Readonly<Record<string, string>>;
}

/** The state of an extension, with a sentence that explains it. `base` is the last completely applied release. */
export type ReleaseState =
  | { readonly kind: "NeedsInstall"; readonly reason: string }
  | { readonly kind: "Unchanged"; readonly reason: string; readonly release: ReleaseRecord }
  | { readonly kind: "NeedsUpgrade"; readonly reason: string; readonly release: ReleaseRecord; readonly base: ReleaseRecord | undefined }
  /** The controller stopped before it finished a release. `sameObjects`: finishing that release leads to the desired state. */
  | {
      readonly kind: "Interrupted";
      readonly reason: string;
      readonly release: ReleaseRecord;
      readonly base: ReleaseRecord | undefined;
      readonly sameObjects: boolean;
    }
  /** The newest attempt failed. `sameObjects`: a new attempt would apply the same objects. */
  | {
      readonly kind: "Failed";
      readonly reason: string;
      readonly release: ReleaseRecord;
      readonly base: ReleaseRecord | undefined;
      readonly sameObjects: boolean;
    };

/**
 * Determines the state of an extension from its releases and the desired state:
 *
 * | newest release              | objects   | bundle labels | state        |
 * | none, or uninstalled        |           |               | NeedsInstall |
 * | pending-*, uninstalling     |           |               | Interrupted  |
 * | failed                      |           |               | Failed       |
 * | deployed                    | same      | same          | Unchanged    |
 * | deployed, imported          |           |               | NeedsUpgrade |
 * | deployed                    | different | or different  | NeedsUpgrade |
 * | superseded, unknown         |           |               | NeedsUpgrade |
 *
 * Different labels for package and version on the objects do not require a release, because the bundle labels already identify a new bundle. Objects
 * of releases without these labels get them with the next release.
 * @param history in any order
 */
export function determineState(history: readonly ReleaseRecord[], desired: DesiredRelease): ReleaseState {
  const [release] = sortNewestFirst(history);
  if (!release) return { kind: "NeedsInstall", reason: "no release exists yet" };
  const label = `release v${release.version}`;
  if (release.status === "uninstalled") return { kind: "NeedsInstall", reason: `${label} was uninstalled` };
  const base = findLastDeployed(history);
  const unlabeled = <T extends DesiredRelease>(one: T): T => ({ ...one, objects: one.objects.map(withoutBundleLabels) });
  const [before, after] = [unlabeled(release), unlabeled(desired)];
  const changes = describeChanges(before, after);
  const sameObjects = digestObjects(before.objects) === digestObjects(after.objects);
  if (isPending(release)) {
    const reason = `${label} is still in status ${release.status}, because the controller stopped before it finished`;
    return { kind: "Interrupted", reason, release, base, sameObjects };
  }
  if (release.status === "failed") {
    const next = sameObjects ? "the desired objects are the same" : `the desired objects differ now: ${changes}`;
    return { kind: "Failed", reason: `${label} failed and ${next}`, release, base, sameObjects };
  }
  if (release.status !== "deployed")
    return { kind: "NeedsUpgrade", reason: `${label} is ${release.status}, and no newer release replaced it`, release, base };
  if (release.objectSet !== undefined) {
    const reason = `${label} was imported, and its objects still belong to the Go operator-controller`;
    return { kind: "NeedsUpgrade", reason, release, base };
  }
  if (changes === "") return { kind: "Unchanged", reason: `${label} contains exactly the desired objects`, release };
  return { kind: "NeedsUpgrade", reason: `${label} differs: ${changes}`, release, base };
}

/** Formats changes, such as "2 objects are new, 1 object is changed"; empty without a difference. */
function describeChanges(release: ReleaseRecord, { objects, labels }: DesiredRelease): string {
  const before = new Map(release.objects.map((object) => [getObjectKey(object), digestObject(object)]));
  const after = new Map(objects.map((object) => [getObjectKey(object), digestObject(object)]));
  const isNew = [...after.keys()].filter((key) => !before.has(key)).length;
  const changes = [...after].filter(([key, digest]) => before.has(key) && before.get(key) !== digest).length;
  const leaves = [...before.keys()].filter((key) => !after.has(key)).length;
  const parts = [
    isNew > 0 ? `${count(isNew)} new` : "",
    changes > 0 ? `${count(changes)} changed` : "",
    leaves > 0 ? `${count(leaves)} no longer desired` : "",
  ];
  const otherLabels =
    labels === undefined ? [] : Object.keys({ ...release.labels, ...labels }).filter((key) => release.labels[key] !== labels[key]);
  if (otherLabels.length > 0) parts.push(`different bundle (${otherLabels.sort().join(", ")})`);
  return parts.filter((part) => part !== "").join(", ");
}

function count(n: number): string {
  return `${formatCount(n, "object")} ${n === 1 ? "is" : "are"}`;
}
