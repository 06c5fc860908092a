import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { escapeControlCharacters } from "../text/escape.ts";
import { formatList } from "../text/lists.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import {
  formatScalar,
  type GoObject,
  type GoSchemaStruct,
  type GoSchemaType,
  type GoValue,
  getElements,
  getField,
  isSameMeaning,
  SCHEMA,
} from "./schema.ts";

/** A value that differs between two schemas: its JSON path, such as `x-kubernetes-validations[0].rule`, and both values as text. */
interface SchemaDifference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** Limits of a message: differences, and characters of each path and value. */
const MAX_DIFFERENCES = 10;
const MAX_LENGTH = 100;

const NONE = "none";

/** The differences between two nodes of a schema. */
export interface SchemaChange {
  /** `format: none -> "email"; title: "a" -> "b"`: at most ten differences with truncated values. */
  readonly text: string;
  /** All differences, not truncated. Equal for equal changes. */
  readonly identity: string;
}

/** Describes the differences between `before` and `after`: fields in the order of the CRD API, map entries by key. */
export function describeSchemaChange(before: GoObject, after: GoObject): SchemaChange {
  const found: SchemaDifference[] = [];
  compareStructs(SCHEMA, before, after, "", found);
  const texts = found
    .slice(0, MAX_DIFFERENCES)
    .map(
      (difference) =>
        `${truncateValue(escapeControlCharacters(difference.path))}: ${truncateValue(difference.before)} -> ${truncateValue(difference.after)}`,
    );
  return {
    text: formatList(texts, { max: MAX_DIFFERENCES, separator: "; ", total: found.length }),
    identity: JSON.stringify(found.map(({ path, before: old, after: now }) => [path, old, now])),
  };
}

function truncateValue(text: string): string {
  return truncateExcerpt(text, { length: MAX_LENGTH });
}

/** Adds the differences between two values of the same type. Undefined means that the value is missing from its list or map. */
function compareValues(
  type: GoSchemaType,
  before: GoValue | undefined,
  after: GoValue | undefined,
  path: string,
  found: SchemaDifference[],
): void {
  if (type.kind === "pointer") {
    compareValues(type.to, before ?? undefined, after ?? undefined, path, found);
    return;
  }
  const known = found.length;
  if (type.kind === "struct") compareStructs(type, before ?? {}, after ?? {}, path, found);
  else if (type.kind === "map") compareMaps(type.of, toMap(before), toMap(after), path, found);
  else if (type.kind === "slice" && type.of.kind !== "byte") {
    compareLists(type.of, before ? getElements(type, before) : [], after ? getElements(type, after) : [], path, found);
  } else {
    const [old, now] = [valueText(type, before), valueText(type, after)];
    if (old !== now) found.push({ path, before: old, after: now });
    return;
  }
  // The added or removed value may have no members, such as a schema that allows everything.
  if (found.length > known || (before === undefined) === (after === undefined)) return;
  const empty = type.kind === "slice" ? "[]" : "{}";
  found.push({ path, before: before === undefined ? NONE : empty, after: after === undefined ? NONE : empty });
}

/** Compares the fields of structs. A field without a JSON name adds nothing to the path. */
function compareStructs({ fields }: GoSchemaStruct, before: GoValue, after: GoValue, path: string, found: SchemaDifference[]): void {
  for (const field of fields) {
    const [old, now] = [getField(before, field), getField(after, field)];
    const name = field.json === undefined ? path : path === "" ? field.json : `${path}.${field.json}`;
    // Go does not distinguish an empty text from an absent one, except for pointers.
    const present = (value: GoValue) => (field.type.kind === "string" && value === "" ? undefined : (value ?? undefined));
    if (!isSameMeaning(field.type, old, now)) compareValues(field.type, present(old), present(now), name, found);
  }
}

/** Skips equal elements at the start and at the end, so that an inserted element is a single difference. */
function compareLists(
  of: GoSchemaType,
  before: readonly GoValue[],
  after: readonly GoValue[],
  path: string,
  found: SchemaDifference[],
): void {
  const shorter = Math.min(before.length, after.length);
  const same = (one: number, other: number): boolean => isSameMeaning(of, before[one] ?? null, after[other] ?? null);
  let start = 0;
  while (start < shorter && same(start, start)) start++;
  let end = 0;
  while (end < shorter - start && same(before.length - 1 - end, after.length - 1 - end)) end++;
  const [old, now] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  for (let at = 0; at < Math.max(old.length, now.length); at++) compareValues(of, old[at], now[at], `${path}[${start + at}]`, found);
}

function compareMaps(
  of: GoSchemaType,
  before: ReadonlyMap<string, GoValue>,
  after: ReadonlyMap<string, GoValue>,
  path: string,
  found: SchemaDifference[],
): void {
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort(compareText);
  for (const key of keys) compareValues(of, before.get(key), after.get(key), `${path}[${key}]`, found);
}

function toMap(value: GoValue | undefined): ReadonlyMap<string, GoValue> {
  return (value ?? new Map()) as ReadonlyMap<string, GoValue>;
}

/** Formats a value. Bytes are already JSON. */
function valueText(type: GoSchemaType, value: GoValue | undefined): string {
  if (value === undefined || value === null) return NONE;
  return type.kind === "string" ? goQuote(formatScalar(value)) : formatScalar(value);
}
