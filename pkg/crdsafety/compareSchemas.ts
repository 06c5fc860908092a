import type { CrdCheck } from "../api/crdUpgradeChecks.ts";
import { decodeNode, type RawObject } from "./decodeSchema.ts";
import { flatten, sizeFault } from "./flatten.ts";
import { type GoObject, sameMeaning } from "./goType.ts";
import { PROPERTY_CHECKS } from "./propertyChecks.ts";
import { SCHEMA } from "./schemaType.ts";
import { unhandledChange } from "./unhandled.ts";

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
export function compareSchemas(before: unknown, after: unknown, ignored: ReadonlySet<string>): SchemaFault[] {
  const tooLarge = sizeFault(before) ?? sizeFault(after);
  if (tooLarge !== undefined) {
    const text = `the schema cannot be compared: ${tooLarge}`;
    return ignored.has("unhandled") ? [] : [{ path: "^", check: "unhandled", text, identity: text }];
  }
  const now = flatten(after);
  const faults: SchemaFault[] = [];
  for (const [path, schema] of flatten(before)) {
    const other = now.get(path);
    if (other ? sameJson(schema, other, true) : ignored.has("existingFieldRemoval")) continue;
    for (const fault of compareNodes(decodeNode(schema), other ? decodeNode(other) : {})) {
      if (!ignored.has(fault.check)) faults.push({ path, ...fault });
    }
  }
  return faults.sort((a, b) => order(a.path, b.path));
}

function* compareNodes(before: GoObject, after: GoObject): Generator<Omit<SchemaFault, "path">> {
  for (const { name, fault } of PROPERTY_CHECKS) {
    const text = fault(before, after);
    if (text !== undefined) yield { check: name, text, identity: text };
  }
  const [old, now] = [unchecked(before), unchecked(after)];
  if (sameMeaning(SCHEMA, old, now)) return;
  const { text, lines } = unhandledChange(old, now);
  yield { check: "unhandled", text, identity: lines };
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
