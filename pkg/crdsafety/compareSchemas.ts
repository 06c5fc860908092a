import { createHash } from "node:crypto";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import type { CrdCheck } from "../api/crdUpgradeChecks.ts";
import { decodeNode, type RawObject } from "./decodeSchema.ts";
import type { FlatSchema } from "./flatten.ts";
import { type GoObject, sameMeaning } from "./goType.ts";
import { PROPERTY_CHECKS } from "./propertyChecks.ts";
import { SCHEMA } from "./schemaType.ts";
import { unhandledChange } from "./unhandled.ts";

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
  return faults.sort((a, b) => order(a.path, b.path));
}

function tooLargeToCompare(because: string, ignored: ReadonlySet<string>): SchemaFault[] {
  const text = `the schema cannot be compared: ${because}`;
  return ignored.has("unhandled") ? [] : [{ path: "^", check: "unhandled", text, identity: text }];
}

function* compareNodes(before: GoObject, after: GoObject): Generator<Omit<SchemaFault, "path">> {
  for (const { name, fault } of PROPERTY_CHECKS) {
    const text = fault(before, after);
    if (text !== undefined) yield { check: name, text: bounded(text), identity: digest(text) };
  }
  const [old, now] = [unchecked(before), unchecked(after)];
  if (sameMeaning(SCHEMA, old, now)) return;
  const { text, lines } = unhandledChange(old, now);
  yield { check: "unhandled", text: bounded(text), identity: digest(lines) };
}

/** No message shows more. Alternatives are told with everything below them, and so are those around them. */
function bounded(text: string): string {
  return text.length > MESSAGE_MAX_BYTES ? `${text.slice(0, MESSAGE_MAX_BYTES)}…` : text;
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

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
