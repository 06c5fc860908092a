import { createHash } from "node:crypto";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { type FieldChange, findChangedFields, type Redaction } from "./diff.ts";
import { digestObjects, getObjectKey } from "./identity.ts";
import { differsOnlyInBundleLabels, withoutBundleLabels } from "./labels.ts";

/** The action of a release on one object. */
export type PlannedAction = "Create" | "Update" | "Delete" | "Unchanged";

/** One object of a plan. `changes` are the fields of an update; `more` is the number of omitted ones. */
export interface PlannedObject {
  action: PlannedAction;
  ref: ObjectRef;
  changes: readonly FieldChange[];
  more: number;
  /** True if the object grants permissions that it did not grant before. */
  widens: boolean;
}

/** The changes that a release would make on the cluster. */
export interface ChangePlan {
  /** Identifies the plan, regardless of the state of the cluster; see `digestPlan`. */
  digest: string;
  /** Changed objects in the order of their changes, then unchanged ones. */
  objects: readonly PlannedObject[];
  /** Number of unchanged objects whose labels for package and version change. */
  relabeled: number;
}

/** The input of a plan. */
export interface PlanInput {
  digest: string;
  desired: readonly KubeObject[];
  /** Live objects by `getObjectKey`; objects that do not exist are absent. */
  live: ReadonlyMap<string, KubeObject>;
  /** The results of the dry run by `getObjectKey`. An object without a result counts as desired. */
  after: ReadonlyMap<string, KubeObject>;
  /** Live objects that the release would remove, in that order. */
  leaving: readonly KubeObject[];
  /** Reports whether an object grants permissions that its earlier state did not grant. */
  widens: (before: KubeObject | undefined, after: KubeObject) => boolean;
  /** Redacts paths and values. */
  hidden?: Redaction;
}

/**
 * Returns `sha256:` and the SHA-256 (hex) of bundle, configuration, rendered objects, and the number of the deployed release. Independent of other
 * cluster state.
 * @param base number of the deployed release; 0 if no release is deployed
 */
export function digestPlan(input: { inputDigest: string | undefined; rendered: readonly KubeObject[]; base: number }): string {
  const identity = encodeCanonicalJson([input.inputDigest ?? "", digestObjects(input.rendered), input.base]);
  return `sha256:${createHash("sha256").update(identity).digest("hex")}`;
}

/**
 * Computes the effect of applying `desired` and removing `leaving`, for each object. The labels for package and version change on every object with
 * every upgrade, so they are counted but not reported as changes.
 */
export function computeChangePlan({ digest, desired, live, after, leaving, widens, hidden }: PlanInput): ChangePlan {
  const applied = desired.map((object): PlannedObject => {
    const before = live.get(getObjectKey(object));
    const outcome = after.get(getObjectKey(object)) ?? object;
    const { changes, more } = before
      ? findChangedFields(withoutBundleLabels(before), withoutBundleLabels(outcome), hidden)
      : { changes: [], more: 0 };
    const action = !before ? "Create" : changes.length > 0 ? "Update" : "Unchanged";
    return { action, ref: toObjectRef(object), changes, more, widens: action !== "Unchanged" && widens(before, outcome) };
  });
  const deleted = leaving.map(
    (object): PlannedObject => ({ action: "Delete", ref: toObjectRef(object), changes: [], more: 0, widens: false }),
  );
  const isChange = ({ action }: PlannedObject): boolean => action !== "Unchanged";
  const relabeled = desired.filter((object) => {
    const before = live.get(getObjectKey(object));
    return before !== undefined && differsOnlyInBundleLabels(before, after.get(getObjectKey(object)) ?? object);
  });
  return {
    digest,
    relabeled: relabeled.length,
    objects: [...applied.filter(isChange), ...deleted, ...applied.filter((object) => !isChange(object))],
  };
}

/** Returns the number of objects of a plan for each action. */
export function countActions({ objects }: ChangePlan): Record<PlannedAction, number> {
  const counts: Record<PlannedAction, number> = { Create: 0, Update: 0, Delete: 0, Unchanged: 0 };
  for (const { action } of objects) counts[action]++;
  return counts;
}
