import { createHash } from "node:crypto";
import { type CrdCheck, MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { formatGoNumber, formatGoString } from "./goText.ts";
import { decodeNode, type FlatSchema, formatScalar, type GoObject, isSameMeaning, type RawObject, SCHEMA } from "./schema.ts";
import { describeSchemaChange } from "./schemaChange.ts";

/** A check of one attribute of a schema. */
interface PropertyCheck {
  readonly name: CrdCheck;
  /** The schema field that this check compares. */
  readonly field: string;
  /** Returns why the change from `before` to `after` is unsafe; undefined if it is safe. */
  readonly fault: (before: GoObject, after: GoObject) => string | undefined;
}

/** The checks with the texts of crdify. @see https://github.com/kubernetes-sigs/crdify */
const PROPERTY_CHECKS: readonly PropertyCheck[] = [
  { name: "type", field: "Type", fault: (before, after) => changed("type changed", text(before, "Type"), text(after, "Type")) },
  { name: "required", field: "Required", fault: newRequired },
  { name: "enum", field: "Enum", fault: enumFault },
  { name: "default", field: "Default", fault: defaultFault },
  ...["Maximum", "MaxItems", "MaxLength", "MaxProperties"].map((field) => boundCheck(field, "maximum")),
  ...["Minimum", "MinItems", "MinLength", "MinProperties"].map((field) => boundCheck(field, "minimum")),
  { name: "pattern", field: "Pattern", fault: patternFault },
  { name: "nullable", field: "Nullable", fault: nullableFault },
  { name: "oneOf", field: "OneOf", fault: oneOfFault },
];

function text(node: GoObject, field: string): string {
  return formatScalar(node[field]);
}

function changed(what: string, before: string, after: string): string | undefined {
  return before === after ? undefined : `${what} : ${goQuote(before)} -> ${goQuote(after)}`;
}

function newRequired(before: GoObject, after: GoObject): string | undefined {
  const known = new Set(list(before, "Required"));
  const added = [...new Set(list(after, "Required") as string[])].filter((name) => !known.has(name)).sort();
  return added.length > 0 ? `new required fields: [${added.join(" ")}]` : undefined;
}

/** Allows adding values to an existing enum, because existing values stay valid. */
function enumFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [rawTexts(before), rawTexts(after)];
  if (old.length === 0 && now.length > 0) return `enum constraint added when there was none previously : [${now.join(" ")}]`;
  const kept = new Set(now);
  const removed = old.filter((value) => !kept.has(value));
  return removed.length > 0 ? `allowed enum values removed : [${removed.join(" ")}]` : undefined;
}

function rawTexts(node: GoObject): string[] {
  return [...new Set(list(node, "Enum").map((value) => rawText(value as GoObject)))].sort();
}

function rawText(json: GoObject): string {
  return formatScalar(json["Raw"]);
}

function defaultFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [before["Default"] as GoObject | null | undefined, after["Default"] as GoObject | null | undefined];
  if (!old) return now ? `default added when there was none previously : ${goQuote(rawText(now))}` : undefined;
  return now ? changed("default value changed", rawText(old), rawText(now)) : `default value removed : ${goQuote(rawText(old))}`;
}

/** Allows removing and widening bounds. */
function boundCheck(field: string, bound: "maximum" | "minimum"): PropertyCheck {
  const kind = field === "Maximum" || field === "Minimum" ? "float" : "int";
  const worse = bound === "maximum" ? "decreased" : "increased";
  return {
    name: `${field[0]?.toLowerCase() ?? ""}${field.slice(1)}` as CrdCheck,
    field,
    fault: (before, after) => {
      const [old, now] = [(before[field] ?? null) as number | bigint | null, (after[field] ?? null) as number | bigint | null];
      if (now === null) return undefined;
      if (old === null) return `${bound} constraint added when there was none previously : ${formatGoNumber(now, kind)}`;
      const tighter = bound === "maximum" ? now < old : now > old;
      return tighter ? `${bound} ${worse} : ${formatGoNumber(old, kind)} -> ${formatGoNumber(now, kind)}` : undefined;
    },
  };
}

function patternFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [text(before, "Pattern"), text(after, "Pattern")];
  return changed(old === "" ? "pattern added" : now === "" ? "pattern removed" : "pattern changed", old, now);
}

function nullableFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [before["Nullable"] === true, after["Nullable"] === true];
  if (old === now) return undefined;
  return `nullable ${now ? "added" : "removed"} : ${old} -> ${now}`;
}

function oneOfFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [listAlternatives(before), listAlternatives(after)];
  if (old.length === 0 && now.length > 0) return `oneOf constraint added when there was none previously: [${now.join(" ")}]`;
  const [oldOnes, newOnes] = [new Set(old), new Set(now)];
  const removed = old.filter((one) => !newOnes.has(one));
  if (removed.length > 0) return `allowed oneOf schemas removed: [${removed.join(" ")}]`;
  const added = now.filter((one) => !oldOnes.has(one));
  return added.length > 0 ? `allowed oneOf schemas added: [${added.join(" ")}]` : undefined;
}

/** Returns the alternatives as text, without fields that do not affect validation. */
function listAlternatives(node: GoObject): string[] {
  const texts = list(node, "OneOf").map((schema) => {
    const { Description: _d, Title: _t, Example: _e, ExternalDocs: _x, ...rest } = schema as GoObject;
    return formatGoString(SCHEMA, rest);
  });
  return [...new Set(texts)].sort();
}

function list(node: GoObject, field: string): readonly unknown[] {
  return (node[field] ?? []) as readonly unknown[];
}

/** The text that the Go implementation prints before changes that no check handles. */
export const UNHANDLED = "unhandled changes found";

/** Maximum length of a text in the identity of a fault, in characters. Longer texts are replaced by a digest. */
const SHORT = 256;

/** An incompatible change at one path of a schema. */
export interface SchemaFault {
  path: string;
  check: CrdCheck;
  text: string;
  /** Identifies the fault: equal for equal faults at the same path. */
  identity: string;
}

/**
 * Returns the incompatible changes from schema `before` to schema `after` by path and check. Ignores new fields in `after`, which do not
 * affect existing clients.
 * @param ignored checks to skip. `existingFieldRemoval` also skips all findings about removed fields.
 */
export function compareSchemas(before: FlatSchema, after: FlatSchema, ignored: ReadonlySet<string>): SchemaFault[] {
  if ("tooLarge" in before) return reportTooLarge(before.tooLarge, ignored);
  if ("tooLarge" in after) return reportTooLarge(after.tooLarge, ignored);
  const faults: SchemaFault[] = [];
  for (const [path, schema] of before.nodes) {
    const other = after.nodes.get(path);
    if (other ? isSameJson(schema, other, true) : ignored.has("existingFieldRemoval")) continue;
    for (const fault of compareNodes(decodeNode(schema), other ? decodeNode(other) : {})) {
      if (!ignored.has(fault.check)) faults.push({ path, ...fault });
    }
  }
  return faults.sort((a, b) => compareText(a.path, b.path));
}

function reportTooLarge(reason: string, ignored: ReadonlySet<string>): SchemaFault[] {
  const text = `the schema cannot be compared: ${reason}`;
  return ignored.has("unhandled") ? [] : [{ path: "^", check: "unhandled", text, identity: text }];
}

function* compareNodes(before: GoObject, after: GoObject): Generator<Omit<SchemaFault, "path">> {
  for (const { name, fault } of PROPERTY_CHECKS) {
    const text = fault(before, after);
    if (text !== undefined) yield { check: name, text: truncateExcerpt(text, { length: MESSAGE_MAX_BYTES }), identity: digest(text) };
  }
  const [old, now] = [unchecked(before), unchecked(after)];
  if (isSameMeaning(SCHEMA, old, now)) return;
  // Go prints the lines of a go-cmp difference between the parentheses.
  const change = describeSchemaChange(old, now);
  yield { check: "unhandled", text: `${UNHANDLED} (${change.text})`, identity: digest(change.identity) };
}

function digest(text: string): string {
  return text.length < SHORT ? text : createHash("sha256").update(text).digest("hex");
}

/** Returns the fields that no check handles, except the description, which can change. */
function unchecked(node: GoObject): GoObject {
  const checked = new Set(["Description", ...PROPERTY_CHECKS.map(({ field }) => field)]);
  return Object.fromEntries(Object.entries(node).filter(([field]) => !checked.has(field)));
}

/** Returns whether two JSON values are equal. At the top level, ignores members that have their own paths. */
function isSameJson(a: unknown, b: unknown, top = false): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((element, index) => isSameJson(element, b[index]));
  if (Array.isArray(b)) return false;
  const has = (name: string) => !(top && (name === "properties" || name === "items" || name === "description"));
  const names = Object.keys(a).filter(has);
  if (names.length !== Object.keys(b).filter(has).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSameJson((a as RawObject)[name], (b as RawObject)[name]));
}
