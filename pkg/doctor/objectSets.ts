import { LABEL_OWNER_NAME } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { describeObject } from "../release/identity.ts";
import { formatCount, formatList } from "../text/lists.ts";
import { type ClusterSnapshot, type DoctorFinding, reportOn } from "./clusterSnapshot.ts";

/** Maximum number of object sets listed in a message. */
const NAMED_MAX = 3;

/**
 * Checks whether operator-controller has taken over and removed the object sets of the Go operator-controller. One finding for each extension, and one
 * for sets whose extension does not exist.
 */
export function checkObjectSets({ objectSets, extensions }: Pick<ClusterSnapshot, "objectSets" | "extensions">): DoctorFinding[] {
  return reportOn("ClusterObjectSets", objectSets, (sets) => {
    const known = "value" in extensions ? new Set(extensions.value.map(({ metadata }) => metadata.name)) : undefined;
    const getOwner = ({ metadata }: KubeObject): string => metadata.labels?.[LABEL_OWNER_NAME] ?? "";
    const isOrphan = (set: KubeObject): boolean => known?.has(getOwner(set)) === false;
    const byOwner = Map.groupBy(
      sets.filter((set) => !isOrphan(set)),
      getOwner,
    );
    return [...[...byOwner].map(([name, own]) => describeWaiting(name, own)), ...describeOrphans(sets.filter(isOrphan))];
  });
}

function describeWaiting(name: string, sets: readonly KubeObject[]): DoctorFinding {
  const message = `operator-controller has not taken over the objects of ${formatSets(sets)} yet`;
  return { check: `ClusterExtension ${name}`, status: "warning", message, next: `olmv1 describe ${name}` };
}

function describeOrphans(sets: readonly KubeObject[]): DoctorFinding[] {
  if (sets.length === 0) return [];
  const message = `the extension of ${formatSets(sets)} does not exist, so operator-controller does not remove them`;
  const next =
    "before you remove them, remove the owner references of the objects that you want to keep: the garbage collector deletes them";
  return [{ check: "ClusterObjectSets", status: "warning", message, next }];
}

function formatSets(sets: readonly KubeObject[]): string {
  return `${formatCount(sets.length, "object set")} of the Go operator-controller (${formatList(sets.map(describeObject), { max: NAMED_MAX })})`;
}
