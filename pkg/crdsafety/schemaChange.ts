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

/** A value that two schemas do not share: its path in JSON, such as `x-kubernetes-validations[0].rule`, and both values as texts. */
interface Difference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** What a message shows: differences, and characters of each path and value. */
const MAX_DIFFERENCES = 10;
const MAX_LENGTH = 100;

const NONE = "none";

/** How one node of a schema differs from another. */
export interface SchemaChange {
  /** `format: none -> "email"; title: "a" -> "b"`: at most ten differences, long values cut. */
  readonly text: string;
  /** Every difference, uncut: two changes are the same when these are. */
  readonly identity: string;
}

/** Describes how `after` differs from `before`: the fields in the order of the CRD API, the entries of maps by key. */
export function describeSchemaChange(before: GoObject, after: GoObject): SchemaChange {
  const found: Difference[] = [];
  compareStructs(SCHEMA, before, after, "", found);
  const texts = found
    .slice(0, MAX_DIFFERENCES)
    .map((difference) => `${cut(escapeControlCharacters(difference.path))}: ${cut(difference.before)} -> ${cut(difference.after)}`);
  return {
    text: formatList(texts, { max: MAX_DIFFERENCES, separator: "; ", total: found.length }),
    identity: JSON.stringify(found.map(({ path, before: old, after: now }) => [path, old, now])),
  };
}

function cut(text: string): string {
  return truncateExcerpt(text, { length: MAX_LENGTH });
}

/** Adds what differs between two values of one type; undefined is a value that its list or map does not have. */
function compareValues(
  type: GoSchemaType,
  before: GoValue | undefined,
  after: GoValue | undefined,
  path: string,
  found: Difference[],
): void {
  if (type.kind === "pointer") {
    compareValues(type.to, before ?? undefined, after ?? undefined, path, found);
    return;
  }
  const known = found.length;
  if (type.kind === "struct") compareStructs(type, before ?? {}, after ?? {}, path, found);
  else if (type.kind === "map") compareMaps(type.of, mapOf(before), mapOf(after), path, found);
  else if (type.kind === "slice" && type.of.kind !== "byte") {
    compareLists(type.of, before ? getElements(type, before) : [], after ? getElements(type, after) : [], path, found);
  } else {
    const [old, now] = [valueText(type, before), valueText(type, after)];
    if (old !== now) found.push({ path, before: old, after: now });
    return;
  }
  // A value without members may still be new or gone, such as the schema that allows everything.
  if (found.length > known || (before === undefined) === (after === undefined)) return;
  const empty = type.kind === "slice" ? "[]" : "{}";
  found.push({ path, before: before === undefined ? NONE : empty, after: after === undefined ? NONE : empty });
}

/** A field without a name in JSON is the form that its struct has there, so it adds nothing to the path. */
function compareStructs({ fields }: GoSchemaStruct, before: GoValue, after: GoValue, path: string, found: Difference[]): void {
  for (const field of fields) {
    const [old, now] = [getField(before, field), getField(after, field)];
    const name = field.json === undefined ? path : path === "" ? field.json : `${path}.${field.json}`;
    // Go cannot tell an empty text from an absent one, unless it has a pointer to it.
    const present = (value: GoValue) => (field.type.kind === "string" && value === "" ? undefined : (value ?? undefined));
    if (!isSameMeaning(field.type, old, now)) compareValues(field.type, present(old), present(now), name, found);
  }
}

/** Elements at the start and at the end that are equal are left out, so that one that is inserted is one difference. */
function compareLists(of: GoSchemaType, before: readonly GoValue[], after: readonly GoValue[], path: string, found: Difference[]): void {
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
  found: Difference[],
): void {
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort(compareText);
  for (const key of keys) compareValues(of, before.get(key), after.get(key), `${path}[${key}]`, found);
}

function mapOf(value: GoValue | undefined): ReadonlyMap<string, GoValue> {
  return (value ?? new Map()) as ReadonlyMap<string, GoValue>;
}

/** Bytes are JSON already. */
function valueText(type: GoSchemaType, value: GoValue | undefined): string {
  if (value === undefined || value === null) return NONE;
  return type.kind === "string" ? goQuote(formatScalar(value)) : formatScalar(value);
}
