import { goTime } from "../bundle/goTime.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import { foldKey } from "../fbc/keys.ts";
import { withoutHalves } from "../fbc/surrogates.ts";

/**
 * The Go type that JSON is decoded into. `time` is RFC 3339, `helmTime` also accepts the empty string; `object` and `any` are parsed and not
 * checked, `skip` is not even parsed.
 */
export type GoShape =
  | "string"
  | "bool"
  | "int"
  | "bytes"
  | "time"
  | "helmTime"
  | "object"
  | "any"
  | "skip"
  | GoStruct
  | { readonly valuesOf: GoShape }
  | { readonly itemsOf: GoShape };

/** A struct type; its members by their folded names. */
export interface GoStruct {
  readonly fields: ReadonlyMap<string, { readonly name: string; readonly shape: GoShape }>;
}

/** A struct or a map that was decoded: only the members that the JSON holds and that are not null. */
export type GoMembers = ReadonlyMap<string, unknown>;

/** The JSON does not fit the Go type; the message names the member and the kinds, never a value. */
export class GoMismatch extends Error {}

const INTEGER = /^-?\d+$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const MAX_INT64 = 2n ** 63n - 1n;
/** Characters of a member's name that a message repeats. */
const MAX_NAME = 64;

/**
 * Decodes `json` into a struct as encoding/json does: names in any letter case, members that occur twice merged, unknown members ignored. Two
 * things are stricter: a null among the values of a map is a mismatch, and so is anything after the object.
 * The cost is proportional to the length of the text.
 * @throws SyntaxError of the engine, which quotes the text: do not show it.
 * @throws GoMismatch when a member has another type.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/decode.go object
 */
export function decodeGoStruct(text: string, shape: GoStruct): GoMembers {
  const json = withoutHalves(text);
  JSON.parse(json); // checks the syntax: the cursor expects valid JSON
  const cursor = new Cursor(json);
  const decoded = cursor.decode(shape, undefined, "release");
  if (!(decoded instanceof Map)) throw new GoMismatch("release: want an object, found null");
  return decoded as GoMembers;
}

/** A struct type by the names of its members. */
export function goStruct(fields: Readonly<Record<string, GoShape>>): GoStruct {
  return { fields: new Map(Object.entries(fields).map(([name, shape]) => [foldKey(name), { name, shape }])) };
}

class Cursor {
  readonly #json: string;
  #at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  /** Decodes the next value. `before` is what an earlier member of the same name left; undefined stands for null and for nothing. */
  decode(shape: GoShape, before: unknown, path: string): unknown {
    this.#space();
    if (shape === "skip") {
      this.#skip();
      return undefined;
    }
    const start = this.#at;
    const first = this.#json[start];
    if (first === "n") {
      this.#skip();
      const isReference = typeof shape === "object" || shape === "object" || shape === "any";
      return isReference ? undefined : before; // a null leaves a scalar as it is, as in Go
    }
    if (typeof shape === "object") {
      if ("fields" in shape && first === "{") return this.#struct(shape, before, path);
      if ("valuesOf" in shape && first === "{") return this.#map(shape.valuesOf, before, path);
      if ("itemsOf" in shape && first === "[") return this.#list(shape.itemsOf, path);
      throw mismatch(path, "itemsOf" in shape ? "a list" : "an object", first);
    }
    this.#skip();
    return scalar(shape, this.#json.slice(start, this.#at), path);
  }

  #struct({ fields }: GoStruct, before: unknown, path: string): Map<string, unknown> {
    const members = before instanceof Map ? (before as Map<string, unknown>) : new Map<string, unknown>();
    this.#members((key) => {
      const field = fields.get(foldKey(key));
      if (!field) {
        this.decode("skip", undefined, path);
        return;
      }
      const { name, shape } = field;
      const value = this.decode(shape, members.get(name), `${path}.${name}`);
      if (value === undefined) members.delete(name);
      else members.set(name, value);
    });
    return members;
  }

  #map(shape: GoShape, before: unknown, path: string): Map<string, unknown> {
    const members = before instanceof Map ? (before as Map<string, unknown>) : new Map<string, unknown>();
    this.#members((key) => {
      const name = `${path}[${goQuote(key.slice(0, MAX_NAME))}]`;
      this.#space();
      if (shape !== "any" && this.#json[this.#at] === "n") throw mismatch(name, "another value", "n");
      members.set(key, this.decode(shape, undefined, name));
    });
    return members;
  }

  #list(shape: GoShape, path: string): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    for (this.#space(); this.#json[this.#at] !== "]"; this.#space()) {
      items.push(this.decode(shape, undefined, `${path}[${items.length}]`));
      this.#space();
      if (this.#json[this.#at] === ",") this.#at++;
    }
    this.#at++;
    return items;
  }

  /** Calls `take` at the value of each member of the object that begins here. */
  #members(take: (key: string) => void): void {
    this.#at++;
    for (this.#space(); this.#json[this.#at] !== "}"; this.#space()) {
      const start = this.#at;
      this.#skip();
      const key = String(JSON.parse(this.#json.slice(start, this.#at)));
      this.#space();
      this.#at++; // the colon
      take(key);
      this.#space();
      if (this.#json[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  /** Goes behind the next value without recursion, so that no nesting exhausts the stack. */
  #skip(): void {
    let depth = 0;
    do {
      this.#space();
      const char = this.#json[this.#at];
      if (char === '"') this.#skipString();
      else if (char === "{" || char === "[") {
        depth++;
        this.#at++;
      } else if (char === "}" || char === "]") {
        depth--;
        this.#at++;
      } else if (char === "," || char === ":") this.#at++;
      else this.#skipToken();
    } while (depth > 0);
  }

  #skipString(): void {
    let end = this.#json.indexOf('"', this.#at + 1);
    while (isEscaped(this.#json, end)) end = this.#json.indexOf('"', end + 1);
    this.#at = end + 1;
  }

  /** A number, true, false or null. */
  #skipToken(): void {
    let char = this.#json[++this.#at];
    while (char !== undefined && !' \t\r\n,:{}[]"'.includes(char)) char = this.#json[++this.#at];
  }

  #space(): void {
    while (" \t\r\n".includes(this.#json[this.#at] ?? "end")) this.#at++;
  }
}

/** Whether an odd number of backslashes is before `at`; a quote of valid JSON is before them. */
function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}

function scalar(shape: Exclude<GoShape, object | "skip">, token: string, path: string): unknown {
  const kind = token[0];
  if (shape === "any") return JSON.parse(token);
  if (shape === "object") {
    if (kind !== "{") throw mismatch(path, "an object", kind);
    return JSON.parse(token);
  }
  if (shape === "bool") {
    if (kind !== "t" && kind !== "f") throw mismatch(path, "true or false", kind);
    return kind === "t";
  }
  if (shape === "int") return integer(token, path);
  if (kind !== '"') throw mismatch(path, "a string", kind);
  // Bytes are most of a release: without a copy they take no memory beside the text.
  const text = shape === "bytes" && !token.includes("\\") ? token.slice(1, -1) : String(JSON.parse(token));
  if (shape === "bytes" && !isBase64(text)) throw new GoMismatch(`${path}: not base64`);
  if (shape === "time" || (shape === "helmTime" && text !== "")) checkTime(text, path);
  return text;
}

function integer(token: string, path: string): number {
  if (!INTEGER.test(token)) throw mismatch(path, "a whole number", token[0]);
  const value = BigInt(token);
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) throw new GoMismatch(`${path}: does not fit into 64 bits`);
  return Number(value);
}

function isBase64(text: string): boolean {
  const joined = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, "") : text;
  return joined.length % 4 === 0 && BASE64.test(joined);
}

function checkTime(text: string, path: string): void {
  try {
    if (!RFC_3339.test(text)) throw new Error("not RFC 3339");
    goTime(text);
  } catch (err) {
    throw new GoMismatch(`${path}: not a time in RFC 3339`, { cause: messageOf(err) });
  }
}

function mismatch(path: string, wanted: string, first: string | undefined): GoMismatch {
  return new GoMismatch(`${path}: want ${wanted}, found ${kindOf(first)}`);
}

function kindOf(first: string | undefined): string {
  if (first === "{") return "an object";
  if (first === "[") return "a list";
  if (first === '"') return "a string";
  if (first === "t" || first === "f") return "true or false";
  return first === "n" ? "null" : "a number";
}
