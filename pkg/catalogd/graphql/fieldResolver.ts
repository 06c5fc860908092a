import { isObject } from "../../api/jsonObject.ts";
import { remapFieldName } from "../../fbc/graphql/names.ts";
import { scalarValue } from "../../fbc/graphql/scalars.ts";
import type { PlannedField } from "../../fbc/graphql/catalogSchema.ts";
import type { QueryContext } from "./queryContext.ts";

const MAX_REMEMBERED_KEYS = 10_000;

/** The GraphQL names of keys, remembered. */
export class FieldNames {
  readonly #names = new Map<string, string>();

  of(key: string): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_REMEMBERED_KEYS) this.#names.clear();
    const name = remapFieldName(key);
    this.#names.set(key, name);
    return name;
  }
}

/** Gives the value of `field` of an object: scalars as their type says, lists as lists, objects where a scalar is expected as JSON text. */
export function fieldResolver(field: PlannedField, names: FieldNames): (source: unknown, args: unknown, context: QueryContext) => unknown {
  return (source, _args, context) => {
    const value = isObject(source) ? memberFor(source, field, names) : undefined;
    if (value === undefined || value === null) {
      context.spend(field.name.length + 7);
      return null;
    }
    if (!field.list) return spent(field, scalarValue(value, field.scalar), context);
    // A catalog may hold a single value where others have a list.
    const list = Array.isArray(value) ? value : [value];
    if (!field.nested) return list.map((element) => spent(field, scalarValue(element, field.scalar), context));
    context.spend(field.name.length + 5 + 3 * list.length);
    return list;
  };
}

/** The value under the field's keys; of elements of lists, of which only some were looked at before, also under a key that is spelled otherwise. */
function memberFor(source: Record<string, unknown>, { keys, name }: PlannedField, names: FieldNames): unknown {
  const known = keys.find((key) => Object.hasOwn(source, key)) ?? Object.keys(source).find((key) => names.of(key) === name);
  return known === undefined ? undefined : source[known];
}

function spent<T extends string | number | boolean | null>(field: PlannedField, value: T, context: QueryContext): T {
  context.spend(field.name.length + (typeof value === "string" ? value.length + 6 : 12));
  return value;
}
