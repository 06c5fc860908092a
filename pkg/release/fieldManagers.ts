import { FIELD_MANAGER } from "../api/constants.ts";
import { isObject } from "../api/jsonObject.ts";
import type { JsonObject, ObjectMeta } from "../api/k8s.ts";
import { valueAt } from "./jsonPointer.ts";

/** One entry of metadata.managedFields, as far as it is read here. */
interface Entry {
  manager: string;
  operation: string;
  subresource: string;
  fields: JsonObject;
}

/**
 * The fields that our last apply of an object still owns, as the API server notes them; undefined where it notes none. Whoever changes or
 * removes one of them takes it from this set, so that metadata alone tells whether anything of what we applied is other than we applied it.
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function appliedFields(metadata: Pick<ObjectMeta, "managedFields">): JsonObject | undefined {
  return entriesOf(metadata).find(
    ({ manager, operation, subresource }) => manager === FIELD_MANAGER && operation === "Apply" && subresource === "",
  )?.fields;
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

function entriesOf({ managedFields = [] }: Pick<ObjectMeta, "managedFields">): Entry[] {
  return managedFields.flatMap(({ manager, operation, subresource, fieldsV1 }) =>
    isObject(fieldsV1)
      ? [
          {
            manager: String(manager),
            operation: String(operation),
            subresource: typeof subresource === "string" ? subresource : "",
            fields: fieldsV1,
          },
        ]
      : [],
  );
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
