import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";

/** Which members together name an entry of a list, with the value of a member that is absent. */
type ListKey = readonly (readonly [member: string, absent: string])[];

/**
 * The lists of Pods that an apply reads as maps and a plain create accepts with repeated keys.
 * @see k8s.io/api/core/v1 types.go, markers listMapKey
 */
const CONTAINER_LISTS: Readonly<Record<string, ListKey>> = {
  env: [["name", ""]],
  ports: [
    ["containerPort", ""],
    ["protocol", "TCP"],
  ],
  volumeMounts: [["mountPath", ""]],
  volumeDevices: [["devicePath", ""]],
};
const POD_LISTS: Readonly<Record<string, ListKey>> = {
  imagePullSecrets: [["name", ""]],
  hostAliases: [["ip", ""]],
};
const CONTAINERS = ["initContainers", "containers"] as const;
const LISTED_VALUE = 80;

/** A list entry that was dropped in favour of a later one with the same key. */
export interface DroppedEntry {
  /** Such as `container "manager"`; empty for a list of the Pod itself. */
  container: string;
  list: string;
  entry: JsonObject;
  /** The entry that stays. */
  kept: JsonObject;
}

/** `spec` with every repeated key collapsed to its last entry, and what was dropped for that. */
export function collapsePodSpec(spec: JsonObject): { spec: JsonObject; dropped: DroppedEntry[] } {
  const dropped: DroppedEntry[] = [];
  const pod = collapseLists(spec, POD_LISTS, "", dropped);
  for (const list of CONTAINERS) {
    const containers = pod[list];
    if (!Array.isArray(containers)) continue;
    pod[list] = containers.map((container: unknown) =>
      isObject(container) ? collapseLists(container, CONTAINER_LISTS, `container "${String(container["name"])}"`, dropped) : container,
    );
  }
  return { spec: pod, dropped };
}

/** One list with every repeated key collapsed to its last entry. */
export function collapseList(list: readonly unknown[], members: ListKey, onDrop: (entry: JsonObject, kept: JsonObject) => void): unknown[] {
  const last = new Map<string, JsonObject>();
  for (const entry of list) if (isObject(entry)) last.set(keyOf(entry, members), entry);
  return list.filter((entry) => {
    if (!isObject(entry)) return true;
    const kept = last.get(keyOf(entry, members));
    if (kept === undefined || kept === entry) return true;
    onDrop(entry, kept);
    return false;
  });
}

/** Such as `container "manager": env "A" is given more than once, the last one counts`. */
export function describeDrop({ container, list, entry }: DroppedEntry): string {
  const members = CONTAINER_LISTS[list] ?? POD_LISTS[list] ?? [["name", ""]];
  const key = members.map(([member, absent]) => textOf(entry[member] ?? absent)).join("/");
  return `${container === "" ? "" : `${container}: `}${list} "${key.slice(0, LISTED_VALUE)}" is given more than once, the last one counts`;
}

function collapseLists(from: JsonObject, lists: Readonly<Record<string, ListKey>>, container: string, dropped: DroppedEntry[]): JsonObject {
  const to = { ...from };
  for (const [list, members] of Object.entries(lists)) {
    const entries = from[list];
    if (Array.isArray(entries)) to[list] = collapseList(entries, members, (entry, kept) => dropped.push({ container, list, entry, kept }));
  }
  return to;
}

function keyOf(entry: JsonObject, members: ListKey): string {
  return JSON.stringify(members.map(([member, absent]) => textOf(entry[member] ?? absent)));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
