import { FIELD_MANAGER } from "../api/constants.ts";
import type { JsonObject, ObjectMeta } from "../api/k8s.ts";
import { canonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { valueAt } from "./jsonPointer.ts";

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
 * @see k8s.io/client-go v0.36.3 util/csaupgrade/upgrade.go
 */
export function handOverFields(managedFields: readonly JsonObject[], from: string, to: string): JsonObject[] | undefined {
  const given = managedFields.filter((entry) => isEntryOf(entry, from, "Update"));
  if (given.length === 0) return undefined;
  const taken = [...managedFields.filter((entry) => isEntryOf(entry, to, "Apply")), ...given] as Entry[];
  const newest = taken.reduce((a, b) => (timeOf(b) > timeOf(a) ? b : a));
  const fieldsV1 = taken.reduce<JsonObject>((fields, entry) => mergeFieldTrees(fields, entry.fieldsV1 ?? {}), {});
  const merged: Entry = { ...newest, manager: to, operation: "Apply", fieldsV1: withoutHelmMarks(fieldsV1) };
  return [...managedFields.filter((entry) => !taken.includes(entry as Entry)), merged];
}

/** Whether an entry is about what this manager did to the object itself, not to a subresource. */
export function isEntryOf(entry: Entry, manager: string, operation: string): boolean {
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
export function mergeFieldTrees(a: JsonObject, b: JsonObject): JsonObject {
  const merged = new Map(Object.entries(a));
  for (const [key, value] of Object.entries(b)) {
    const other = merged.get(key);
    merged.set(key, isObject(other) && isObject(value) ? mergeFieldTrees(other, value) : value);
  }
  return Object.fromEntries(merged);
}

/** One entry of metadata.managedFields, as far as it is read here. */
interface ManagedFieldsEntry {
  manager: string;
  operation: string;
  subresource: string;
  apiVersion: string;
  /** When the API server last changed the entry or what it holds, in whole seconds. */
  time: string;
  fields: JsonObject;
}

/**
 * The fields that our last apply of an object still owns, as the API server notes them; undefined where it notes none. Whoever changes or
 * removes one of them takes it from this set, so that metadata alone tells whether anything of what we applied is other than we applied it.
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function appliedFields(metadata: Pick<ObjectMeta, "managedFields">): JsonObject | undefined {
  return appliedEntry(metadata)?.fields;
}

/**
 * Whether our apply wrote an object although the object as it was read before had all that it applies: somebody changed a field of ours
 * between the two. The API server gives our entry a new time with an apply that changes anything, and lets it be otherwise; what others write
 * elsewhere, such as the status, does not touch it. False where it cannot be told, as within the second of the apply before.
 * @param before as it was read. @param after the answer to the apply, which differs from it in no field of ours.
 * @see k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/managedfieldsupdater.go
 */
export function wroteAlthoughSame(before: Pick<ObjectMeta, "managedFields">, after: Pick<ObjectMeta, "managedFields">): boolean {
  const [was, is] = [appliedEntry(before), appliedEntry(after)];
  if (was === undefined || is === undefined || was.apiVersion !== is.apiVersion) return false;
  return is.time > was.time && canonicalJson(was.fields) === canonicalJson(is.fields); // other fields: we apply others than we did
}

/** Whether this manager has applied the object and still owns anything of it. */
export function hasApplied(metadata: Pick<ObjectMeta, "managedFields">, manager: string): boolean {
  return entriesOf(metadata).some((entry) => entry.manager === manager && entry.operation === "Apply");
}

/**
 * Who else than we owns the value at `path` of a live object, or something below it; in the order of managedFields.
 * @param path members and positions of `object`, from the outside in.
 */
export function managersOf(object: { readonly metadata: Pick<ObjectMeta, "managedFields"> }, path: readonly string[]): string[] {
  const owners = entriesOf(object.metadata).filter(({ manager, fields }) => manager !== FIELD_MANAGER && owns(fields, object, path));
  return [...new Set(owners.map(({ manager }) => manager))];
}

/** Whether our applies own the value at `path` of an object; true where the API server notes no fields of ours at all. */
export function isApplied(object: { readonly metadata: Pick<ObjectMeta, "managedFields"> }, path: readonly string[]): boolean {
  const fields = appliedFields(object.metadata);
  return fields === undefined || owns(fields, object, path);
}

function appliedEntry(metadata: Pick<ObjectMeta, "managedFields">): ManagedFieldsEntry | undefined {
  return entriesOf(metadata).find(
    ({ manager, operation, subresource }) => manager === FIELD_MANAGER && operation === "Apply" && subresource === "",
  );
}

function entriesOf({ managedFields = [] }: Pick<ObjectMeta, "managedFields">): ManagedFieldsEntry[] {
  return managedFields.flatMap(({ manager, operation, subresource, apiVersion, time, fieldsV1 }) =>
    isObject(fieldsV1)
      ? [
          {
            manager: String(manager),
            operation: String(operation),
            subresource: textOf(subresource),
            apiVersion: textOf(apiVersion),
            time: textOf(time),
            fields: fieldsV1,
          },
        ]
      : [],
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A node without children owns all that is below it, as of a list that is replaced as a whole. */
function owns(fields: JsonObject, object: unknown, path: readonly string[]): boolean {
  let node = fields;
  let value = object;
  for (const [depth, member] of path.entries()) {
    const next = childOf(node, valueAt(value, [member]), member, Array.isArray(value));
    if (next === undefined) return depth > 0 && Object.keys(node).length === 0;
    node = next;
    value = valueAt(value, [member]);
  }
  return true;
}

/** Members are noted as "f:name", items of a list as "k:{keys}", "v:value" or "i:position". */
function childOf(node: JsonObject, value: unknown, member: string, isItem: boolean): JsonObject | undefined {
  const found = isItem ? Object.keys(node).find((key) => isItemKey(key, value, member)) : `f:${member}`;
  const child = found === undefined ? undefined : node[found];
  return isObject(child) ? child : undefined;
}

function isItemKey(key: string, item: unknown, position: string): boolean {
  if (key === `i:${position}`) return true;
  if (key.startsWith("v:")) return key === `v:${JSON.stringify(item)}`;
  if (!key.startsWith("k:") || !isObject(item)) return false;
  const keys: unknown = JSON.parse(key.slice(2));
  return isObject(keys) && Object.entries(keys).every(([name, value]) => item[name] === value);
}
