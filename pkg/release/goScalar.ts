import { goTime } from "../golang/time.ts";
import { withoutHalves } from "../golang/json.ts";
import type { GoShape } from "./goShape.ts";
import type { StringSink } from "./jsonScanner.ts";

/** A shape of values that have no members of their own. */
export type GoScalar = Extract<GoShape, string>;

const INTEGER = /^-?\d+$/;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const MAX_INT64 = 2n ** 63n - 1n;
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

/** What is wrong with a value of a shape that begins with `first`, such as "want a string, found a list"; undefined if nothing is. */
export function kindMismatch(shape: GoScalar, first: string): string | undefined {
  if (shape === "any" || shape === "skip") return undefined;
  const { firsts, text } = WANTED[shape];
  return firsts.includes(first) ? undefined : wantedKind(text, first);
}

/** The text for a value that begins with `first` where another kind is wanted. */
export function wantedKind(wanted: string, first: string): string {
  return `want ${wanted}, found ${kindOf(first)}`;
}

/** Decodes a value. @param token the value as JSON, of the kind that `kindMismatch` allows. @throws Error that says what is wrong with it. */
export function scalar(shape: GoScalar, token: string): unknown {
  if (shape === "int") return integer(token);
  const value: unknown = parseToken(token);
  if (shape === "time" || (shape === "helmTime" && value !== "")) checkTime(String(value));
  return value;
}

/** Parses JSON. Half of a character becomes U+FFFD, as in Go. */
export function parseToken(token: string): unknown {
  return JSON.parse(withoutHalves(token));
}

/** Checks base64 that comes in pieces, as Go reads it: line ends count for nothing. */
export class Base64Check implements StringSink {
  readonly #reject: () => void;
  #length = 0;
  #padding = 0;
  #isBroken = false;

  /** @param reject called at the end of a string that is not base64. */
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
  if (!INTEGER.test(token)) throw new Error(wantedKind("a whole number", token[0] ?? ""));
  const value = BigInt(token);
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) throw new Error("does not fit into 64 bits");
  return Number(value);
}

function checkTime(text: string): void {
  try {
    if (!RFC_3339.test(text)) throw new Error("not RFC 3339");
    goTime(text);
  } catch (err) {
    throw new Error("not a time in RFC 3339", { cause: err });
  }
}

function kindOf(first: string): string {
  if (first === "{") return "an object";
  if (first === "[") return "a list";
  if (first === '"') return "a string";
  if (first === "t" || first === "f") return "true or false";
  return first === "n" ? "null" : "a number";
}
