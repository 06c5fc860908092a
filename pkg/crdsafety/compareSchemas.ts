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
  /** The field that it looks at, and that nobody else looks at after it. */
  readonly field: string;
  /** What is wrong with going from `before` to `after`; undefined when that is safe. */
  readonly fault: (before: GoObject, after: GoObject) => string | undefined;
}

/** The checks with the texts of crdify, which users see. @see https://github.com/kubernetes-sigs/crdify */
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

/** Values may be added where there are some: whoever read the old ones still can. */
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

/** Bounds may be dropped and widened. */
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
  const [old, now] = [alternatives(before), alternatives(after)];
  if (old.length === 0 && now.length > 0) return `oneOf constraint added when there was none previously: [${now.join(" ")}]`;
  const [oldOnes, newOnes] = [new Set(old), new Set(now)];
  const removed = old.filter((one) => !newOnes.has(one));
  if (removed.length > 0) return `allowed oneOf schemas removed: [${removed.join(" ")}]`;
  const added = now.filter((one) => !oldOnes.has(one));
  return added.length > 0 ? `allowed oneOf schemas added: [${added.join(" ")}]` : undefined;
}

/** The alternatives as texts, without what does not constrain values. */
function alternatives(node: GoObject): string[] {
  const texts = list(node, "OneOf").map((schema) => {
    const { Description: _d, Title: _t, Example: _e, ExternalDocs: _x, ...rest } = schema as GoObject;
    return formatGoString(SCHEMA, rest);
  });
  return [...new Set(texts)].sort();
}

function list(node: GoObject, field: string): readonly unknown[] {
  return (node[field] ?? []) as readonly unknown[];
}

/** What Go says of changes that no check looks at, before it shows them. */
export const UNHANDLED = "unhandled changes found";

/** Texts up to this many characters are kept to tell faults apart, longer ones by a digest. */
const SHORT = 256;

/** What is wrong at one place of a schema. */
export interface SchemaFault {
  path: string;
  check: CrdCheck;
  text: string;
  /** Two faults at a place are the same one when this is. */
  identity: string;
}

/**
 * What could break whoever goes from schema `before` to schema `after`, by path and check. What is new in `after` is not looked at: it
 * breaks nobody who does not know it.
 * @param ignored checks whose findings are left out; without `existingFieldRemoval` nothing is told about places that are gone.
 */
export function compareSchemas(before: FlatSchema, after: FlatSchema, ignored: ReadonlySet<string>): SchemaFault[] {
  if ("tooLarge" in before) return tooLargeToCompare(before.tooLarge, ignored);
  if ("tooLarge" in after) return tooLargeToCompare(after.tooLarge, ignored);
  const faults: SchemaFault[] = [];
  for (const [path, schema] of before.nodes) {
    const other = after.nodes.get(path);
    if (other ? sameJson(schema, other, true) : ignored.has("existingFieldRemoval")) continue;
    for (const fault of compareNodes(decodeNode(schema), other ? decodeNode(other) : {})) {
      if (!ignored.has(fault.check)) faults.push({ path, ...fault });
    }
  }
  return faults.sort((a, b) => compareText(a.path, b.path));
}

function tooLargeToCompare(because: string, ignored: ReadonlySet<string>): SchemaFault[] {
  const text = `the schema cannot be compared: ${because}`;
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

/** Without the fields that checks look at, and without the description, which may change. */
function unchecked(node: GoObject): GoObject {
  const checked = new Set(["Description", ...PROPERTY_CHECKS.map(({ field }) => field)]);
  return Object.fromEntries(Object.entries(node).filter(([field]) => !checked.has(field)));
}

/** Whether two JSON values are equal; at the top without the members that have paths of their own. */
function sameJson(a: unknown, b: unknown, top = false): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((element, index) => sameJson(element, b[index]));
  if (Array.isArray(b)) return false;
  const has = (name: string) => !(top && (name === "properties" || name === "items" || name === "description"));
  const names = Object.keys(a).filter(has);
  if (names.length !== Object.keys(b).filter(has).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && sameJson((a as RawObject)[name], (b as RawObject)[name]));
}
