import { FIELD_MANAGER } from "../api/constants.ts";
import type { JsonObject, ObjectMeta } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { getValueAt } from "./jsonPointer.ts";

/** The used parts of an entry in metadata.managedFields. */
interface FieldsEntry extends JsonObject {
  manager?: string;
  operation?: string;
  subresource?: string;
  apiVersion?: string;
  fieldsV1?: JsonObject;
}

/** Field manager of the Go operator-controller, which wrote objects with updates instead of applies. */
export const GO_FIELD_MANAGER = "operator-controller";

/**
 * Labels and annotations that Helm adds. They stay on the object without an owner, because the Go operator-controller needs them if you return the
 * extension to it, and because changed annotations increase a Deployment's generation.
 */
const HELM_MARKS: Readonly<Record<string, readonly string[]>> = {
  "f:labels": ["f:app.kubernetes.io/managed-by"],
  "f:annotations": ["f:meta.helm.sh/release-name", "f:meta.helm.sh/release-namespace"],
};

/**
 * Transfers the fields that `from` wrote by updates to the applies of `to`, so that the next apply removes those that it omits; undefined if
 * `from` has none. Other owners of these fields, and entries for subresources, stay. Helm's marks lose their owner.
 * @param managedFields as the API server returns them; malformed entries stay unchanged
 * @see k8s.io/client-go v0.36.3 util/csaupgrade/upgrade.go
 */
export function handOverFields(managedFields: readonly JsonObject[], from: string, to: string): JsonObject[] | undefined {
  const given = managedFields.filter((entry) => isManagedBy(entry, from, "Update"));
  if (given.length === 0) return undefined;
  const taken = [...managedFields.filter((entry) => isManagedBy(entry, to, "Apply")), ...given] as FieldsEntry[];
  const newest = taken.reduce((a, b) => (parseTime(b) > parseTime(a) ? b : a));
  const fieldsV1 = taken.reduce<JsonObject>((fields, entry) => mergeFieldTrees(fields, entry.fieldsV1 ?? {}), {});
  const merged: FieldsEntry = { ...newest, manager: to, operation: "Apply", fieldsV1: removeHelmMarks(fieldsV1) };
  return [...managedFields.filter((entry) => !taken.includes(entry as FieldsEntry)), merged];
}

/** Reports whether an entry is for writes of this manager to the object itself, not to a subresource. */
export function isManagedBy(entry: FieldsEntry, manager: string, operation: string): boolean {
  return entry.manager === manager && entry.operation === operation && (entry.subresource ?? "") === "";
}

/**
 * Returns the manager of the latest entry that contains a field; undefined if no entry does. Ignores entries of subresources.
 * @param path such as ["f:spec"]
 */
export function findLastManager(managedFields: readonly JsonObject[], path: readonly string[]): string | undefined {
  return findLastWrite(managedFields, path)?.manager;
}

/** Returns the latest write of a field: its manager, and the time in RFC 3339. Like `findLastManager`. */
export function findLastWrite(
  managedFields: readonly JsonObject[],
  path: readonly string[],
): { readonly manager: string; readonly time: string } | undefined {
  const contains = ({ fieldsV1, subresource }: FieldsEntry): boolean =>
    !subresource && path.reduce<unknown>((tree, step) => (isObject(tree) ? tree[step] : undefined), fieldsV1) !== undefined;
  const entries = (managedFields as readonly FieldsEntry[]).filter(contains);
  if (entries.length === 0) return undefined;
  const last = entries.reduce((a, b) => (parseTime(b) > parseTime(a) ? b : a));
  return { manager: last.manager ?? "", time: parseTime(last) };
}

function parseTime({ time }: FieldsEntry): string {
  return typeof time === "string" ? time : "";
}

/**
 * A map that keeps a mark must not be owned as a whole, because an apply without the map would remove the mark too. An empty tree also stands for the
 * whole map, so a map without owned fields is omitted.
 */
function removeHelmMarks(fieldsV1: JsonObject): JsonObject {
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

/** Merges two sets of fields: a set is a tree of its path elements. */
export function mergeFieldTrees(a: JsonObject, b: JsonObject): JsonObject {
  const merged = new Map(Object.entries(a));
  for (const [key, value] of Object.entries(b)) {
    const other = merged.get(key);
    merged.set(key, isObject(other) && isObject(value) ? mergeFieldTrees(other, value) : value);
  }
  return Object.fromEntries(merged);
}

/** The used parts of an entry in metadata.managedFields. */
interface ManagedFieldsEntry {
  manager: string;
  operation: string;
  subresource: string;
  apiVersion: string;
  /** When the API server last changed the entry or its fields, in whole seconds. */
  time: string;
  fields: JsonObject;
}

/**
 * Returns the fields that our last apply of an object still owns; undefined if the API server records none. A manager that changes or removes one of
 * these fields becomes its owner, so the metadata shows whether applied fields changed.
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function getAppliedFields(metadata: Pick<ObjectMeta, "managedFields">): JsonObject | undefined {
  return appliedEntry(metadata)?.fields;
}

/**
 * Reports whether our apply changed an object although the object that was read before already had all applied fields. This means that another
 * manager changed one of our fields in between. The API server only updates the time of our entry if an apply changes something; writes to other
 * fields, such as the status, do not affect it. False if unknown, for example in the same second as the previous apply.
 * @param before the object that was read
 * @param after the response to the apply, with the same values in all of our fields
 * @see k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/managedfieldsupdater.go
 */
export function detectsConcurrentChange(before: Pick<ObjectMeta, "managedFields">, after: Pick<ObjectMeta, "managedFields">): boolean {
  const [was, is] = [appliedEntry(before), appliedEntry(after)];
  if (was === undefined || is === undefined || was.apiVersion !== is.apiVersion) return false;
  return is.time > was.time && encodeCanonicalJson(was.fields) === encodeCanonicalJson(is.fields); // If the fields differ, the apply itself changed.
}

/** Reports whether this manager has applied the object and still owns a part of it. */
export function hasApplied(metadata: Pick<ObjectMeta, "managedFields">, manager: string): boolean {
  return readEntries(metadata).some((entry) => entry.manager === manager && entry.operation === "Apply");
}

/**
 * Returns the other managers that own the value at `path` of a live object, or a part of it; in the order of managedFields.
 * @param path members and indexes of `object`
 */
export function findOtherManagers(object: { readonly metadata: Pick<ObjectMeta, "managedFields"> }, path: readonly string[]): string[] {
  const owners = readEntries(object.metadata).filter(({ manager, fields }) => manager !== FIELD_MANAGER && owns(fields, object, path));
  return [...new Set(owners.map(({ manager }) => manager))];
}

/** Reports whether our applies own the value at `path` of an object; true if the API server records none of our fields. */
export function isApplied(object: { readonly metadata: Pick<ObjectMeta, "managedFields"> }, path: readonly string[]): boolean {
  const fields = getAppliedFields(object.metadata);
  return fields === undefined || owns(fields, object, path);
}

function appliedEntry(metadata: Pick<ObjectMeta, "managedFields">): ManagedFieldsEntry | undefined {
  return readEntries(metadata).find(
    ({ manager, operation, subresource }) => manager === FIELD_MANAGER && operation === "Apply" && subresource === "",
  );
}

function readEntries({ managedFields = [] }: Pick<ObjectMeta, "managedFields">): ManagedFieldsEntry[] {
  return managedFields.flatMap(({ manager, operation, subresource, apiVersion, time, fieldsV1 }) =>
    isObject(fieldsV1)
      ? [
          {
            manager: String(manager),
            operation: String(operation),
            subresource: toText(subresource),
            apiVersion: toText(apiVersion),
            time: toText(time),
            fields: fieldsV1,
          },
        ]
      : [],
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A node without children owns everything inside it, for example an atomic list. */
function owns(fields: JsonObject, object: unknown, path: readonly string[]): boolean {
  let node = fields;
  let value = object;
  for (const [depth, member] of path.entries()) {
    const next = findChild(node, getValueAt(value, [member]), member, Array.isArray(value));
    if (next === undefined) return depth > 0 && Object.keys(node).length === 0;
    node = next;
    value = getValueAt(value, [member]);
  }
  return true;
}

/** Fields are recorded as "f:name", list items as "k:{keys}", "v:value" or "i:index". */
function findChild(node: JsonObject, value: unknown, member: string, isItem: boolean): JsonObject | undefined {
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
