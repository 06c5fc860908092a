import type { KubeObject } from "../api/k8s.ts";
import { formatCount } from "../text/lists.ts";
import { objectDigest, objectKey, objectsDigest } from "./identity.ts";
import { withoutBundleLabels } from "./labels.ts";
import { isPending, lastDeployed, newestFirst, type ReleaseRecord } from "./record.ts";

/** What the newest release is compared with. */
export interface DesiredRelease {
  /** Prepared objects. */
  objects: readonly KubeObject[];
  /** Which bundle they come from; a difference from the record is a reason to write a new release. */
  labels?: Readonly<Record<string, string>>;
}

/** Where an extension stands, with a sentence that says why. `base` is the last release that was applied completely. */
export type ReleaseState =
  | { readonly kind: "NeedsInstall"; readonly reason: string }
  | { readonly kind: "Unchanged"; readonly reason: string; readonly release: ReleaseRecord }
  | { readonly kind: "NeedsUpgrade"; readonly reason: string; readonly release: ReleaseRecord; readonly base: ReleaseRecord | undefined }
  /** The writer stopped in the middle of a release; `sameObjects`: going on with it is what is wanted. */
  | {
      readonly kind: "Interrupted";
      readonly reason: string;
      readonly release: ReleaseRecord;
      readonly base: ReleaseRecord | undefined;
      readonly sameObjects: boolean;
    }
  /** The newest attempt failed; `sameObjects`: the very same would be tried again. */
  | {
      readonly kind: "Failed";
      readonly reason: string;
      readonly release: ReleaseRecord;
      readonly base: ReleaseRecord | undefined;
      readonly sameObjects: boolean;
    };

/**
 * Names the state of an extension from its releases and what is wanted now:
 *
 * | newest release              | objects   | bundle labels | state        |
 * | none, or uninstalled        |           |               | NeedsInstall |
 * | pending-*, uninstalling     |           |               | Interrupted  |
 * | failed                      |           |               | Failed       |
 * | deployed                    | same      | same          | Unchanged    |
 * | deployed                    | otherwise | or otherwise  | NeedsUpgrade |
 * | superseded, unknown         |           |               | NeedsUpgrade |
 *
 * Labels that name package and version on the objects are no reason for a release: the bundle labels tell of a new bundle, and a release
 * that was written before objects had them gets them with the next one.
 * @param history in any order.
 */
export function determineState(history: readonly ReleaseRecord[], desired: DesiredRelease): ReleaseState {
  const [release] = newestFirst(history);
  if (!release) return { kind: "NeedsInstall", reason: "nothing was released yet" };
  const label = `release v${release.version}`;
  if (release.status === "uninstalled") return { kind: "NeedsInstall", reason: `${label} was uninstalled` };
  const base = lastDeployed(history);
  const unlabeled = <T extends DesiredRelease>(one: T): T => ({ ...one, objects: one.objects.map(withoutBundleLabels) });
  const [before, after] = [unlabeled(release), unlabeled(desired)];
  const changes = describeChanges(before, after);
  const sameObjects = objectsDigest(before.objects) === objectsDigest(after.objects);
  if (isPending(release)) {
    const reason = `${label} was left ${release.status}: its writer stopped in the middle`;
    return { kind: "Interrupted", reason, release, base, sameObjects };
  }
  if (release.status === "failed") {
    const next = sameObjects ? "the same objects are wanted" : `other objects are wanted now: ${changes}`;
    return { kind: "Failed", reason: `${label} failed and ${next}`, release, base, sameObjects };
  }
  if (release.status !== "deployed")
    return { kind: "NeedsUpgrade", reason: `${label} is ${release.status} and was not replaced`, release, base };
  if (changes === "") return { kind: "Unchanged", reason: `${label} holds exactly these objects`, release };
  return { kind: "NeedsUpgrade", reason: `${label} differs: ${changes}`, release, base };
}

/** Such as "2 objects are new, 1 changes"; empty without a difference. */
function describeChanges(release: ReleaseRecord, { objects, labels }: DesiredRelease): string {
  const before = new Map(release.objects.map((object) => [objectKey(object), objectDigest(object)]));
  const after = new Map(objects.map((object) => [objectKey(object), objectDigest(object)]));
  const isNew = [...after.keys()].filter((key) => !before.has(key)).length;
  const changes = [...after].filter(([key, digest]) => before.has(key) && before.get(key) !== digest).length;
  const leaves = [...before.keys()].filter((key) => !after.has(key)).length;
  const parts = [
    isNew > 0 ? `${count(isNew)} new` : "",
    changes > 0 ? `${count(changes)} changed` : "",
    leaves > 0 ? `${count(leaves)} no longer wanted` : "",
  ];
  const otherLabels =
    labels === undefined ? [] : Object.keys({ ...release.labels, ...labels }).filter((key) => release.labels[key] !== labels[key]);
  if (otherLabels.length > 0) parts.push(`another bundle (${otherLabels.sort().join(", ")})`);
  return parts.filter((part) => part !== "").join(", ");
}

function count(n: number): string {
  return `${formatCount(n, "object")} ${n === 1 ? "is" : "are"}`;
}
