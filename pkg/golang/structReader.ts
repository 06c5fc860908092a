import { getErrorMessage } from "../errors/errors.ts";
import { MAX_INT64, replaceLoneSurrogates } from "./json.ts";
import { JsonScanner, type JsonVisitor, type StringSink, type Visit } from "./jsonScanner.ts";
import { foldKey } from "./members.ts";
import { goQuote } from "./quote.ts";
import { normalizeTime } from "./time.ts";

/**
 * The Go type that JSON is decoded into. `time` is RFC 3339, `helmTime` also accepts the empty string; `object` and `any` are parsed but not checked;
 * `skip` is not parsed. `lines` is a string that is passed to the reader's sink. `bytes` and `checked` are checked but not kept.
 */
export type GoShape =
  | "string"
  | "bool"
  | "int"
  | "bytes"
  | "lines"
  | "time"
  | "helmTime"
  | "object"
  | "any"
  | "skip"
  | GoStruct
  | { readonly valuesOf: GoShape }
  | { readonly itemsOf: GoShape }
  | { readonly checked: GoShape };

/** A struct type, with members by folded name. */
export interface GoStruct {
  readonly fields: ReadonlyMap<string, { readonly name: string; readonly shape: GoShape }>;
}

/** A decoded struct or map, with only the members that are present and not null. */
export type GoMembers = ReadonlyMap<string, unknown>;

/** Thrown if the JSON does not match the Go type. The message contains the member and the types, but no value. */
export class GoMismatch extends Error {}

/** Defines the shape of a Go struct by the shapes of its fields. */
export function goStruct(fields: Readonly<Record<string, GoShape>>): GoStruct {
  return { fields: new Map(Object.entries(fields).map(([name, shape]) => [foldKey(name), { name, shape }])) };
}

/** The shape of a value without members. */
type GoScalar = Extract<GoShape, string>;

const INTEGER = /^-?\d+$/;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const BASE64 = /^[A-Za-z0-9+/]*(?<padding>=*)$/;
const MAX_PADDING = 2;
const BACKSLASH = 0x5c;

const STRING = { firsts: '"', text: "a string" };
const WANTED: Readonly<Record<Exclude<GoScalar, "any" | "skip">, { readonly firsts: string; readonly text: string }>> = {
  object: { firsts: "{", text: "an object" },
  bool: { firsts: "tf", text: "true or false" },
  int: { firsts: "-0123456789", text: "a whole number" },
  string: STRING,
  bytes: STRING,
  lines: STRING,
  time: STRING,
  helmTime: STRING,
};

/** Returns a type error for a value that begins with `first`, such as "want a string, found a list"; undefined if the type matches. */
function kindMismatch(shape: GoScalar, first: string): string | undefined {
  if (shape === "any" || shape === "skip") return undefined;
  const { firsts, text } = WANTED[shape];
  return firsts.includes(first) ? undefined : formatExpectedKind(text, first);
}

/** Formats the type error for a value that begins with `first`. */
function formatExpectedKind(expected: string, first: string): string {
  return `want ${expected}, found ${getKind(first)}`;
}

/** Decodes a value. @param token the value as JSON, of a type that `kindMismatch` allows @throws Error with the reason if it is invalid */
function scalar(shape: GoScalar, token: string): unknown {
  if (shape === "int") return integer(token);
  const value: unknown = parseToken(token);
  if (shape === "time" || (shape === "helmTime" && value !== "")) checkTime(String(value));
  return value;
}

/** Parses JSON. Lone surrogates become U+FFFD, as in Go. */
export function parseToken(token: string): unknown {
  return JSON.parse(replaceLoneSurrogates(token));
}

/** Validates base64 in pieces as Go does, ignoring line ends. */
class Base64Check implements StringSink {
  readonly #reject: () => void;
  #length = 0;
  #padding = 0;
  #isBroken = false;

  /** @param reject called at the end of an invalid string */
  constructor(reject: () => void) {
    this.#reject = reject;
  }

  add(piece: Uint8Array): void {
    if (this.#isBroken) return;
    const written = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const decoded = written.includes(BACKSLASH) ? String(parseToken(`"${written.toString("utf8")}"`)) : written.toString("latin1");
    const text = /[\r\n]/.test(decoded) ? decoded.replace(/[\r\n]/g, "") : decoded;
    const padding = BASE64.exec(text)?.groups?.["padding"]?.length;
    this.#isBroken = padding === undefined || (this.#padding > 0 && padding < text.length);
    this.#length += text.length;
    this.#padding += padding ?? 0;
  }

  end(): void {
    if (this.#isBroken || this.#padding > MAX_PADDING || this.#length % 4 !== 0) this.#reject();
  }
}

function integer(token: string): number {
  if (!INTEGER.test(token)) throw new Error(formatExpectedKind("a whole number", token[0] ?? ""));
  const value = BigInt(token);
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) throw new Error("does not fit into 64 bits");
  return Number(value);
}

function checkTime(text: string): void {
  try {
    if (!RFC_3339.test(text)) throw new Error("not RFC 3339");
    normalizeTime(text);
  } catch (err) {
    throw new Error("not an RFC 3339 time", { cause: err });
  }
}

function getKind(first: string): string {
  if (first === "{") return "an object";
  if (first === "[") return "a list";
  if (first === '"') return "a string";
  if (first === "t" || first === "f") return "true or false";
  return first === "n" ? "null" : "a number";
}

/** The shape of a value with members. */
type GoContainer = Exclude<GoShape, string | { readonly checked: GoShape }>;

/** A struct, map or list that is being read. */
interface Frame {
  readonly shape: GoContainer;
  /** Stores the values; undefined if they are only checked. */
  readonly into: Map<string, unknown> | unknown[] | undefined;
  /** Name and shape of the current member. */
  name: string;
  valueShape: GoShape;
  /** Index of the current item. */
  index: number;
}

/** Maximum length of a member's name in a message. */
const MAX_NAME = 64;

/**
 * Decodes JSON in pieces into a struct as encoding/json does: names in any letter case, repeated members merged, unknown members ignored. It is
 * stricter in two ways: a null value in a map and text after the object are errors. Takes linear time, and only keeps members that are in the shape.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/decode.go object
 */
export class GoStructReader {
  readonly #scanner: JsonScanner;
  readonly #visitor: StructVisitor;

  /**
   * @param mostValues maximum number of kept members and items @param lines called at the start of each string of shape `lines`; a later string
   * replaces an earlier one
   */
  constructor(shape: GoStruct, mostValues: number, lines: () => StringSink) {
    this.#visitor = new StructVisitor(shape, mostValues, lines);
    this.#scanner = new JsonScanner(this.#visitor);
  }

  /** Reads the next bytes. The caller must not change them afterwards. @throws JsonSyntaxError */
  add(bytes: Uint8Array): void {
    this.#scanner.add(bytes);
  }

  /** Returns the struct. Call it after all bytes were added. @throws JsonSyntaxError; GoMismatch for the first member with a wrong type. */
  end(): GoMembers {
    this.#scanner.end();
    if (this.#visitor.mismatch) throw this.#visitor.mismatch;
    return this.#visitor.struct;
  }
}

class StructVisitor implements JsonVisitor {
  readonly struct = new Map<string, unknown>();
  /** The first type error; after it, only the syntax is checked. */
  mismatch: GoMismatch | undefined;
  readonly #shape: GoStruct;
  readonly #mostValues: number;
  readonly #lines: () => StringSink;
  readonly #frames: Frame[] = [];
  /** The shape of the captured value. */
  #captured: GoScalar = "skip";
  #values = 0;

  constructor(shape: GoStruct, mostValues: number, lines: () => StringSink) {
    this.#shape = shape;
    this.#mostValues = mostValues;
    this.#lines = lines;
  }

  begin(byte: number): Visit {
    if (this.mismatch) return "skip";
    const first = String.fromCharCode(byte);
    const frame = this.#frames.at(-1);
    if (!frame) return first === "{" ? this.#enter(this.#shape, this.struct) : this.#reject(formatExpectedKind("an object", first));
    frame.index++;
    const isChecked = typeof frame.valueShape === "object" && "checked" in frame.valueShape;
    const shape = shapeIn(frame.valueShape);
    if (shape === "skip") return "skip";
    if (first === "n") return this.#beginNull(frame, shape);
    if (typeof shape !== "string") return this.#beginContainer(isChecked ? undefined : frame, shape, first);
    return this.#beginScalar(frame.into !== undefined && !isChecked, shape, first);
  }

  key(text: string): void {
    const frame = this.#frames.at(-1);
    if (!frame || this.mismatch) return;
    const name = String(parseToken(text));
    if (!("fields" in frame.shape)) frame.name = name;
    else {
      const field = frame.shape.fields.get(foldKey(name));
      frame.name = field?.name ?? "";
      frame.valueShape = field?.shape ?? "skip";
    }
  }

  end(text?: string): void {
    if (text === undefined) this.#frames.pop();
    else {
      try {
        this.#store(scalar(this.#captured, text));
      } catch (err) {
        this.#reject(getErrorMessage(err));
      }
    }
  }

  #beginNull(frame: Frame, shape: GoShape): Visit {
    if ("valuesOf" in frame.shape) {
      if (shape !== "any") return this.#reject(formatExpectedKind("another value", "n"));
      this.#store(undefined);
    } else if (Array.isArray(frame.into)) this.#store(undefined);
    else if (typeof shape === "object" || shape === "object" || shape === "any") frame.into?.delete(frame.name);
    return "skip"; // a null does not change a scalar, as in Go
  }

  /** @param frame receives the value */
  #beginContainer(frame: Frame | undefined, shape: GoContainer, first: string): Visit {
    const isList = "itemsOf" in shape;
    if (first !== (isList ? "[" : "{")) return this.#reject(formatExpectedKind(isList ? "a list" : "an object", first));
    if (!frame?.into) return this.#enter(shape, undefined);
    const before = frame.into instanceof Map && "fields" in frame.shape ? frame.into.get(frame.name) : undefined;
    const into = isList ? [] : before instanceof Map ? (before as Map<string, unknown>) : new Map<string, unknown>();
    this.#store(into);
    return this.#enter(shape, into);
  }

  #beginScalar(isKept: boolean, shape: GoScalar, first: string): Visit {
    const mismatch = kindMismatch(shape, first);
    if (mismatch !== undefined) return this.#reject(mismatch);
    if (shape === "lines") return this.#lines();
    if (shape === "bytes") return new Base64Check(() => this.#reject("not base64"));
    if (!isKept && shape !== "int" && shape !== "time" && shape !== "helmTime") return "skip";
    this.#captured = shape;
    return "capture";
  }

  #enter(shape: GoContainer, into: Frame["into"]): Visit {
    const valueShape = "itemsOf" in shape ? shape.itemsOf : "valuesOf" in shape ? shape.valuesOf : "skip";
    this.#frames.push({ shape, into, name: "", valueShape, index: -1 });
    return "enter";
  }

  #store(value: unknown): void {
    const { into, name, valueShape } = this.#frames.at(-1) ?? {};
    if (typeof valueShape === "object" && "checked" in valueShape) return;
    if (!into) return;
    if (++this.#values > this.#mostValues) this.#reject(`exceeds the maximum of ${this.#mostValues} values`);
    else if (Array.isArray(into)) into.push(value);
    else into.set(name ?? "", value);
  }

  #reject(reason: string): Visit {
    this.mismatch = new GoMismatch(`release${this.#frames.map(partOfPath).join("")}: ${reason}`);
    return "skip";
  }
}

function shapeIn(shape: GoShape): Exclude<GoShape, { readonly checked: GoShape }> {
  return typeof shape === "object" && "checked" in shape ? shapeIn(shape.checked) : shape;
}

function partOfPath({ shape, name, index }: Frame): string {
  if ("itemsOf" in shape) return `[${index}]`;
  return "fields" in shape ? `.${name}` : `[${goQuote(name.slice(0, MAX_NAME))}]`;
}
