import { createHash } from "node:crypto";
import { type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import { canonicalJson } from "../golang/json.ts";
import { changedFields, type FieldChange, type Hidden } from "./diff.ts";
import { objectKey, objectsDigest } from "./identity.ts";
import { onlyBundleLabelsDiffer, withoutBundleLabels } from "./labels.ts";

/** What a release would do to one object. */
export type PlannedAction = "Create" | "Update" | "Delete" | "Unchanged";

/** One object of a plan. `changes` are the fields of an update; `more` is how many of them are left out. */
export interface PlannedObject {
  action: PlannedAction;
  ref: ObjectRef;
  changes: readonly FieldChange[];
  more: number;
  /** The object's rules give rights that they did not give before. */
  widens: boolean;
}

/** What a release would do to the cluster. */
export interface ChangePlan {
  /** Says the same of the same plan, whatever the cluster holds, see `planDigest`. */
  digest: string;
  /** Objects that change first, in the order in which they would; then those that stay as they are. */
  objects: readonly PlannedObject[];
  /** How many of those that stay as they are get other labels that name package and version. */
  relabeled: number;
}

/** What a plan is made of. */
export interface PlanInput {
  digest: string;
  desired: readonly KubeObject[];
  /** By `objectKey`; objects that do not exist are absent. */
  live: ReadonlyMap<string, KubeObject>;
  /** What the API server says the objects would be, by `objectKey`; an object that it was not asked about counts as it is desired. */
  after: ReadonlyMap<string, KubeObject>;
  /** Live objects that the release would remove, in that order. */
  leaving: readonly KubeObject[];
  /** Whether an object gives rights that its earlier state did not give. */
  widens: (before: KubeObject | undefined, after: KubeObject) => boolean;
  /** Takes out of paths and values what is not to be shown. */
  hidden?: Hidden;
}

/**
 * `sha256:` and the SHA-256 (hex) of what is going to be applied in place of what: the identity of bundle and configuration, the objects
 * rendered from them, and the number of the release that is deployed. Never of what else is on the cluster.
 * @param base number of the release that is deployed; 0 without one.
 */
export function planDigest(input: { inputDigest: string | undefined; rendered: readonly KubeObject[]; base: number }): string {
  const identity = canonicalJson([input.inputDigest ?? "", objectsDigest(input.rendered), input.base]);
  return `sha256:${createHash("sha256").update(identity).digest("hex")}`;
}

/**
 * What applying `desired` and removing `leaving` would do, object by object. Labels that name package and version change on every object
 * with every upgrade: they are counted, and are no change.
 */
export function changePlan({ digest, desired, live, after, leaving, widens, hidden }: PlanInput): ChangePlan {
  const applied = desired.map((object): PlannedObject => {
    const before = live.get(objectKey(object));
    const outcome = after.get(objectKey(object)) ?? object;
    const { changes, more } = before
      ? changedFields(withoutBundleLabels(before), withoutBundleLabels(outcome), hidden)
      : { changes: [], more: 0 };
    const action = !before ? "Create" : changes.length > 0 ? "Update" : "Unchanged";
    return { action, ref: refOf(object), changes, more, widens: action !== "Unchanged" && widens(before, outcome) };
  });
  const deleted = leaving.map((object): PlannedObject => ({ action: "Delete", ref: refOf(object), changes: [], more: 0, widens: false }));
  const isChange = ({ action }: PlannedObject): boolean => action !== "Unchanged";
  const relabeled = desired.filter((object) => {
    const before = live.get(objectKey(object));
    return before !== undefined && onlyBundleLabelsDiffer(before, after.get(objectKey(object)) ?? object);
  });
  return {
    digest,
    relabeled: relabeled.length,
    objects: [...applied.filter(isChange), ...deleted, ...applied.filter((object) => !isChange(object))],
  };
}

/** How many objects of a plan there are for each action. */
export function countActions({ objects }: ChangePlan): Record<PlannedAction, number> {
  const counts: Record<PlannedAction, number> = { Create: 0, Update: 0, Delete: 0, Unchanged: 0 };
  for (const { action } of objects) counts[action]++;
  return counts;
}
