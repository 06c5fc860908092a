import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { describeObject } from "../../release/identity.ts";
import { formatList } from "../../text/lists.ts";

/** The result of an apply or delete of one object. */
export interface ObjectAction {
  verb: "created" | "updated" | "recreated" | "unchanged" | "deleted" | "absent";
  ref: ObjectRef;
  /** Whether an update changed only the labels for package and version. */
  labelsOnly?: boolean;
}

/** Maximum number of objects that an Event lists. */
const MAX_NAMED = 5;

/**
 * Formats counts, such as "3 created, 1 updated, 7 unchanged". Objects with only new package or version labels are
 * unchanged.
 */
export function summarizeActions(actions: readonly ObjectAction[]): string {
  const counts = new Map<string, number>();
  for (const { verb, labelsOnly } of actions) {
    const counted = labelsOnly ? "unchanged" : verb;
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
  }
  return [...counts].map(([verb, count]) => `${count} ${verb}`).join(", ") || "nothing to do";
}

/** Formats actions, such as "ConfigMap ns/a (created), Service ns/b (updated) and 2 more". */
export function formatActions(actions: readonly ObjectAction[]): string {
  return formatFirst(actions.map(({ verb, ref }) => `${describeObject(ref)} (${verb})`));
}

/** Formats the first five texts and the number of omitted texts. */
export function formatFirst(texts: readonly string[]): string {
  return formatList(texts, { max: MAX_NAMED });
}

/** Returns the actions that changed the cluster, including changes of labels. */
export function selectChanges(actions: readonly ObjectAction[]): ObjectAction[] {
  return actions.filter(({ verb }) => verb !== "unchanged" && verb !== "absent");
}

/** Live objects by `objectKey`; objects that do not exist are absent. */
export type LiveObjects = ReadonlyMap<string, KubeObject>;
