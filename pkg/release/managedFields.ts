import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";

/** One entry of metadata.managedFields, as far as it is read here. */
interface Entry extends JsonObject {
  manager?: string;
  operation?: string;
  subresource?: string;
  apiVersion?: string;
  fieldsV1?: JsonObject;
}

/** Field manager under which the Go operator-controller wrote objects, with updates instead of applies. */
export const GO_FIELD_MANAGER = "operator-controller";

/**
 * Labels and annotations with which Helm marks what it wrote. They stay on the object as nobody's: the Go operator-controller asks for them
 * when it gets its extension back, and a Deployment's generation counts changes of its annotations too.
 */
const HELM_MARKS: Readonly<Record<string, readonly string[]>> = {
  "f:labels": ["f:app.kubernetes.io/managed-by"],
  "f:annotations": ["f:meta.helm.sh/release-name", "f:meta.helm.sh/release-namespace"],
};

/**
 * `managedFields` with the fields that `from` wrote by updates in the hands of the applies of `to`, so that the next apply removes those
 * that it leaves out; undefined where `from` has none. Fields that others hold too stay theirs as well. Entries about subresources stay.
 * Helm's marks become nobody's.
 * @param managedFields as the API server gives them; what is no entry stays as it is.
 * @see k8s.io/client-go util/csaupgrade/upgrade.go
 */
export function handedOver(managedFields: readonly JsonObject[], from: string, to: string): JsonObject[] | undefined {
  const given = managedFields.filter((entry) => isOf(entry, from, "Update"));
  if (given.length === 0) return undefined;
  const taken = [...managedFields.filter((entry) => isOf(entry, to, "Apply")), ...given] as Entry[];
  const newest = taken.reduce((a, b) => (timeOf(b) > timeOf(a) ? b : a));
  const fieldsV1 = taken.reduce<JsonObject>((fields, entry) => union(fields, entry.fieldsV1 ?? {}), {});
  const merged: Entry = { ...newest, manager: to, operation: "Apply", fieldsV1: withoutHelmMarks(fieldsV1) };
  return [...managedFields.filter((entry) => !taken.includes(entry as Entry)), merged];
}

/** Whether an entry is about what this manager did to the object itself, not to a subresource. */
export function isOf(entry: Entry, manager: string, operation: string): boolean {
  return entry.manager === manager && entry.operation === operation && (entry.subresource ?? "") === "";
}

function timeOf({ time }: Entry): string {
  return typeof time === "string" ? time : "";
}

/**
 * A map that keeps a mark is not owned as a whole any more, or an apply without it would remove the mark with it. An empty tree stands for the
 * whole as well, so a map of which nothing is owned any more is left out.
 */
function withoutHelmMarks(fieldsV1: JsonObject): JsonObject {
  const metadata = fieldsV1["f:metadata"];
  if (!isObject(metadata)) return fieldsV1;
  const owned = Object.entries(metadata).flatMap(([map, members]): [string, unknown][] => {
    const marks = HELM_MARKS[map] ?? [];
    if (!isObject(members) || !marks.some((mark) => mark in members)) return [[map, members]];
    const rest = Object.entries(members).filter(([member]) => member !== "." && !marks.includes(member));
    return rest.length === 0 ? [] : [[map, Object.fromEntries(rest)]];
  });
  const { "f:metadata": _whole, ...others } = fieldsV1;
  return owned.length === 0 ? others : { ...others, "f:metadata": Object.fromEntries(owned) };
}

/** A set of fields is a tree of its path elements, so the union of two sets is their trees merged. */
export function union(a: JsonObject, b: JsonObject): JsonObject {
  const merged = new Map(Object.entries(a));
  for (const [key, value] of Object.entries(b)) {
    const other = merged.get(key);
    merged.set(key, isObject(other) && isObject(value) ? union(other, value) : value);
  }
  return Object.fromEntries(merged);
}
