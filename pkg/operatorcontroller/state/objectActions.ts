import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { describeObject } from "../../release/identity.ts";
import { formatList } from "../../text/lists.ts";

/** What an apply or delete did to one object. */
export interface ObjectAction {
  verb: "created" | "updated" | "recreated" | "unchanged" | "deleted" | "absent";
  ref: ObjectRef;
  /** Of an update: nothing but the labels that name package and version is another. */
  labelsOnly?: boolean;
}

/** Objects named in an Event; of the others the number is told. */
const NAMED = 5;

/** Such as "3 created, 1 updated, 7 unchanged"; what got other labels of package and version only is unchanged. */
export function summarizeActions(actions: readonly ObjectAction[]): string {
  const counts = new Map<string, number>();
  for (const { verb, labelsOnly } of actions) {
    const counted = labelsOnly ? "unchanged" : verb;
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
  }
  return [...counts].map(([verb, count]) => `${count} ${verb}`).join(", ") || "nothing to do";
}

/** Such as "ConfigMap ns/a (created), Service ns/b (updated) and 2 more". */
export function formatActions(actions: readonly ObjectAction[]): string {
  return formatFirst(actions.map(({ verb, ref }) => `${describeObject(ref)} (${verb})`));
}

/** The first five texts, and how many more there are. */
export function formatFirst(texts: readonly string[]): string {
  return formatList(texts, { max: NAMED });
}

/** Actions after which the cluster is another, if only by labels. */
export function selectChanges(actions: readonly ObjectAction[]): ObjectAction[] {
  return actions.filter(({ verb }) => verb !== "unchanged" && verb !== "absent");
}

/** Live objects by `objectKey`; objects that do not exist are absent. */
export type LiveObjects = ReadonlyMap<string, KubeObject>;
