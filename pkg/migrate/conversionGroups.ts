import type { InstalledCsv } from "./clusterServiceVersion.ts";

/** An operator to convert. */
export interface GroupMember {
  readonly packageName: string;
  readonly csv: Pick<InstalledCsv, "namespace" | "name" | "requires" | "provides">;
}

/** Returns the keys of everything that an operator provides: its package and its APIs. */
export function listProvided({ packageName, csv }: Pick<GroupMember, "packageName"> & { csv: Pick<InstalledCsv, "provides"> }): string[] {
  return [`package:${packageName}`, ...csv.provides];
}

/** Reports whether an operator depends on another one. OLM v0 satisfies dependencies only in the same namespace. */
function dependsOn(one: GroupMember, other: GroupMember): boolean {
  if (one === other || one.csv.namespace !== other.csv.namespace) return false;
  const provided = new Set(listProvided(other));
  return one.csv.requires.some((key) => provided.has(key));
}

/**
 * Groups operators that must be converted together: OLM v0 would reinstall a dependency as long as it runs a dependent. Each group is sorted:
 * dependents before their dependencies, in the given order if they are independent or depend on each other. Groups have the order of their first
 * members.
 */
export function groupByDependency<Member extends GroupMember>(members: readonly Member[]): Member[][] {
  const left = new Set(members);
  const groups: Member[][] = [];
  for (const first of members) {
    if (!left.delete(first)) continue;
    const group = [first];
    // The loop also visits members that it adds.
    for (const one of group)
      for (const other of left) if (dependsOn(one, other) || dependsOn(other, one)) if (left.delete(other)) group.push(other);
    groups.push(sortDependentsFirst(members.filter((member) => group.includes(member))));
  }
  return groups;
}

function sortDependentsFirst<Member extends GroupMember>(group: readonly Member[]): Member[] {
  const left = [...group];
  const sorted: Member[] = [];
  while (left.length > 0) {
    const at = left.findIndex((one) => !left.some((other) => dependsOn(other, one)));
    sorted.push(...left.splice(Math.max(at, 0), 1));
  }
  return sorted;
}
