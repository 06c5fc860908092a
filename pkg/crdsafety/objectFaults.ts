import { encodeGoJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { formatCount } from "../text/lists.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import type { RawObject } from "./schema.ts";

/** Returns whether a text matches a pattern of a schema; undefined if the pattern cannot be evaluated. */
export type PatternMatcher = (pattern: string, text: string) => boolean | undefined;

/** The path and the error, without the value: `spec.size: is required`. */
export type ObjectFault = string;

const MAX_PATH = 200;
/** Maximum number of faults of one object. */
const MAX_FAULTS = 1_000;
/** Number of characters of a text that count as one step. */
const STEP_CHARACTERS = 64;

/** Called with the cost of each part of a check in steps: about one step per compared value and schema. May throw to stop the check. */
export type Spend = (steps: number) => void;

/**
 * Validates an object against a schema and returns the faults in the order of the schema. Checks type, nullable, enum, bounds, lengths, patterns,
 * required, members of objects and lists, and combinations of these. Does not check formats, CEL rules, and the uniqueness that list types require.
 * Ignores unknown members, which the API server prunes, and missing members with a default.
 * @param schema not larger than `findSizeFault` allows
 * @param spend may stop a check that costs too much, because nested alternatives multiply
 * @returns at most a thousand faults
 */
export function findObjectFaults(schema: unknown, object: unknown, matches: PatternMatcher, spend: Spend = () => undefined): ObjectFault[] {
  const faults: ObjectFault[] = [];
  new Checker({ matches, spend, enums: new Map() }, faults, MAX_FAULTS).check(schema, object, "");
  return faults;
}

/** The shared state of a check. */
interface CheckContext {
  matches: PatternMatcher;
  spend: Spend;
  /** Cache of the allowed values as JSON, by the `enum` list in the schema. */
  enums: Map<unknown, ReadonlySet<string>>;
}

class Checker {
  readonly #context: CheckContext;
  readonly #faults: ObjectFault[];
  readonly #most: number;

  /** @param most maximum number of faults. */
  constructor(context: CheckContext, faults: ObjectFault[], most: number) {
    this.#context = context;
    this.#faults = faults;
    this.#most = most;
  }

  check(schema: unknown, value: unknown, path: string): void {
    if (!isObject(schema)) return;
    this.#context.spend(1);
    if (value === null || value === undefined) {
      if (schema["nullable"] !== true && schema["default"] === undefined && readType(schema) !== undefined) this.#add(path, "is null");
      return;
    }
    const expected = readType(schema);
    if (expected !== undefined && !isOfType(expected, value)) {
      this.#add(path, `is not of type ${expected}`);
      return;
    }
    const { enum: allowed } = schema;
    if (Array.isArray(allowed) && allowed.length > 0 && !this.#isAllowed(allowed, value)) {
      this.#add(path, "is not an allowed value");
    }
    if (typeof value === "number" || typeof value === "bigint") this.#checkNumber(schema, Number(value), path);
    if (typeof value === "string") this.#checkText(schema, value, path);
    if (Array.isArray(value)) this.#checkList(schema, value, path);
    else if (isObject(value)) this.#checkObject(schema, value, path);
    this.#checkCombinations(schema, value, path);
  }

  #isAllowed(allowed: readonly unknown[], value: unknown): boolean {
    const { enums, spend } = this.#context;
    const known = enums.get(allowed) ?? new Set(allowed.map((one) => encodeGoJson(one)));
    enums.set(allowed, known);
    const json = encodeGoJson(value);
    spend(json.length / STEP_CHARACTERS);
    return known.has(json);
  }

  #checkNumber(schema: RawObject, value: number, path: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    if (typeof minimum === "number" && (exclusiveMinimum === true ? value <= minimum : value < minimum)) {
      this.#add(path, `is less than ${exclusiveMinimum === true ? "or equal to " : ""}${minimum}`);
    }
    if (typeof maximum === "number" && (exclusiveMaximum === true ? value >= maximum : value > maximum)) {
      this.#add(path, `is more than ${exclusiveMaximum === true ? "or equal to " : ""}${maximum}`);
    }
    if (typeof multipleOf === "number" && multipleOf > 0 && !Number.isInteger(value / multipleOf)) {
      this.#add(path, `is not a multiple of ${multipleOf}`);
    }
  }

  #checkText(schema: RawObject, value: string, path: string): void {
    this.#context.spend(value.length / STEP_CHARACTERS);
    const length = countCodePoints(value);
    const { pattern } = schema;
    this.#checkCount(schema, "Length", length, "character", path);
    if (typeof pattern === "string" && this.#context.matches(pattern, value) === false)
      this.#add(path, `does not match ${encodeGoJson(pattern)}`);
  }

  #checkList(schema: RawObject, value: readonly unknown[], path: string): void {
    this.#checkCount(schema, "Items", value.length, "element", path);
    if (schema["uniqueItems"] === true) {
      const texts = new Set(
        value.map((element) => {
          const text = encodeGoJson(element);
          this.#context.spend(1 + text.length / STEP_CHARACTERS);
          return text;
        }),
      );
      if (texts.size < value.length) this.#add(path, "has duplicate elements");
    }
    const { items } = schema;
    if (Array.isArray(items)) return;
    for (const [index, element] of value.entries()) this.check(items, element, `${path}[${index}]`);
  }

  #checkObject(schema: RawObject, value: RawObject, path: string): void {
    const { required, additionalProperties } = schema;
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const findProperty = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : undefined);
    const names = Object.keys(value);
    this.#context.spend(names.length);
    const kept = names.filter((name) => preservesUnknown(schema) || findProperty(name) !== undefined);
    this.#checkCount(schema, "Properties", kept.length, "member", path);
    for (const name of Array.isArray(required) ? required : []) {
      if (typeof name !== "string" || Object.hasOwn(value, name)) continue;
      const property = findProperty(name);
      if (!isObject(property) || property["default"] === undefined) this.#add(joinPath(path, name), "is required");
    }
    for (const [name, member] of Object.entries(value)) {
      const property = findProperty(name);
      if (property !== undefined) this.check(property, member, joinPath(path, name));
      else if (isObject(additionalProperties)) this.check(additionalProperties, member, joinPath(path, name));
    }
  }

  #checkCount(schema: RawObject, of: "Length" | "Items" | "Properties", count: number, unit: string, path: string): void {
    const [least, most] = [schema[`min${of}`], schema[`max${of}`]];
    if (typeof least === "number" && count < least) this.#add(path, `has fewer than ${formatCount(least, unit)}`);
    if (typeof most === "number" && count > most) this.#add(path, `has more than ${formatCount(most, unit)}`);
  }

  #checkCombinations({ allOf, anyOf, oneOf, not }: RawObject, value: unknown, path: string): void {
    for (const one of Array.isArray(allOf) ? allOf : []) this.check(one, value, path);
    // Evaluates every alternative even after a match, so that the matcher receives all texts in its first pass.
    if (Array.isArray(anyOf) && anyOf.length > 0 && this.#countMatching(anyOf, value, path) === 0)
      this.#add(path, "matches no schema of anyOf");
    if (Array.isArray(oneOf) && oneOf.length > 0) {
      const matching = this.#countMatching(oneOf, value, path);
      if (matching !== 1) this.#add(path, matching === 0 ? "matches no schema of oneOf" : "matches several schemas of oneOf");
    }
    if (isObject(not) && this.#countMatching([not], value, path) > 0) this.#add(path, "matches the schema of not");
  }

  #countMatching(schemas: readonly unknown[], value: unknown, path: string): number {
    return schemas.filter((schema) => {
      const faults: ObjectFault[] = [];
      new Checker(this.#context, faults, 1).check(schema, value, path);
      return faults.length === 0;
    }).length;
  }

  #add(path: string, text: string): void {
    if (this.#faults.length >= this.#most) return;
    const shown = truncateExcerpt(path, { length: MAX_PATH });
    this.#faults.push(shown === "" ? text : `${shown}: ${text}`);
  }
}

/** Returns the number of characters of a text, counted like Go. */
function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (!isLowSurrogate(text, at)) count++;
  return count;
}

/** Returns whether `at` is the low surrogate of a pair. */
function isLowSurrogate(text: string, at: number): boolean {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return isLow && at > 0 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

/** Returns the required type of a value; undefined if the schema has none. */
function readType(schema: RawObject): string | undefined {
  if (schema["x-kubernetes-int-or-string"] === true) return "integer or string";
  return typeof schema["type"] === "string" && schema["type"] !== "" ? schema["type"] : undefined;
}

function isOfType(type: string, value: unknown): boolean {
  const isInteger = typeof value === "bigint" || Number.isInteger(value);
  switch (type) {
    case "integer or string":
      return isInteger || typeof value === "string";
    case "integer":
      return isInteger;
    case "number":
      return typeof value === "number" || typeof value === "bigint";
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}

function preservesUnknown({ additionalProperties, ...schema }: RawObject): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true || isObject(additionalProperties) || additionalProperties === true;
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
