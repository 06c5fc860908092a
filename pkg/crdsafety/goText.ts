import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { elementsOf, fieldOf, type GoObject, type GoStruct, type GoType, type GoValue, isZero, scalarText } from "./schema.ts";

/** Exponents below the first and from the second on Go's `%v` writes with an exponent. */
const PLAIN_FROM = -4;
const PLAIN_BELOW = 6;

/** A number as Go's `%v` prints it: an integer by its digits, a float64 as `0.5`, `100` or `4.294967295e+09`. */
export function goNumber(value: GoValue, kind: "int" | "float" | "byte"): string {
  if (kind !== "float" || typeof value !== "number") return scalarText(value);
  const [digits = "0", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= PLAIN_FROM && exponent < PLAIN_BELOW) return scalarText(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/**
 * A pointer to a struct of the CRD API as its String method prints it: all fields, `nil` for what is not set, `*` before what a pointer
 * points to. Structs inside maps print without field names; Go shows addresses for the pointers in them, this their content.
 * @see https://pkg.go.dev/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1#JSONSchemaProps.String
 */
export function goString({ label, fields }: GoStruct, value: GoValue): string {
  const members = fields.map((field) => `${field.name}:${memberText(field.type, fieldOf(value, field))},`);
  return `&${withoutPackage(label)}{${members.join("")}}`;
}

function memberText(type: GoType, value: GoValue): string {
  switch (type.kind) {
    case "pointer":
      if (value === null) return "nil";
      return type.to.kind === "struct" ? goString(type.to, value) : `*${plainText(type.to, value)}`;
    case "slice":
      if (type.of.kind === "struct") return structList(type.label, type.of, value);
      if (type.of.kind === "byte") return value === null ? "nil" : `*${plainText(type, value)}`;
      return plainText(type, value);
    case "map": {
      const members = [...((value ?? new Map()) as ReadonlyMap<string, GoValue>)].sort(([a], [b]) => compareText(a, b));
      return `${withoutPackage(type.label)}{${members.map(([key, member]) => `${key}: ${plainText(type.of, member)},`).join("")}}`;
    }
    case "string":
    case "bool":
    case "int":
    case "float":
    case "byte":
    case "struct":
    default:
      return plainText(type, value);
  }
}

function structList(label: string, of: GoStruct, value: GoValue): string {
  const elements = ((value ?? []) as readonly GoObject[]).map((element) => `${goString(of, element).slice(1)},`);
  const name = label.startsWith("[]") ? withoutPackage(label) : `[]${withoutPackage(of.label)}`;
  return `${name}{${elements.join("")}}`;
}

/** A value as Go's `%v` prints it. */
function plainText(type: GoType, value: GoValue): string {
  switch (type.kind) {
    case "int":
    case "float":
    case "byte":
      return goNumber(value, type.kind);
    case "pointer":
      return value === null ? "<nil>" : `&${plainText(type.to, value)}`;
    case "slice":
      return `[${
        value === null
          ? ""
          : elementsOf(type, value)
              .map((element) => plainText(type.of, element))
              .join(" ")
      }]`;
    case "map": {
      const members = [...((value ?? new Map()) as ReadonlyMap<string, GoValue>)].sort(([a], [b]) => compareText(a, b));
      return `map[${members.map(([key, member]) => `${key}:${plainText(type.of, member)}`).join(" ")}]`;
    }
    case "struct":
      return `{${type.fields.map((field) => plainText(field.type, fieldOf(value, field))).join(" ")}}`;
    case "string":
    case "bool":
    default:
      return scalarText(value);
  }
}

function withoutPackage(label: string): string {
  return label.replaceAll("v1.", "");
}

/** Text that may be laid out on one line or on several. */
export type TextNode = string | TextWrap | TextList;

export interface TextWrap {
  readonly kind: "wrap";
  readonly prefix: string;
  readonly value: TextNode;
  readonly suffix: string;
}

export interface TextList {
  readonly kind: "list";
  readonly records: readonly TextRecord[];
}

/** "-": only in the old value, "+": only in the new one, "": in both or in neither. */
export type Sign = "-" | "+" | "";

export interface TextRecord {
  readonly sign: Sign;
  readonly key: string;
  readonly value: TextNode;
  /** No comma follows. */
  readonly bare?: boolean;
}

export const ELLIPSIS = "...";
const MAX_COLUMNS = 80;

export function wrap(prefix: string, value: TextNode, suffix: string): TextWrap {
  return { kind: "wrap", prefix, value, suffix };
}

export function list(records: readonly TextRecord[]): TextList {
  return { kind: "list", records };
}

/** Whether two texts are the same. */
export function sameText(a: TextNode, b: TextNode): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  if (a.kind === "wrap") return b.kind === "wrap" && a.prefix === b.prefix && a.suffix === b.suffix && sameText(a.value, b.value);
  if (b.kind !== "list" || a.records.length !== b.records.length) return false;
  return a.records.every((record, index) => {
    const other = b.records[index];
    return other !== undefined && record.sign === other.sign && record.key === other.key && sameText(record.value, other.value);
  });
}

/**
 * The lines that differ, in order, each with its sign. A list stays on one line when nothing in it differs and, below a sign, when it
 * takes no more than 80 bytes. Indentation and alignment are left out.
 */
export function signedLines(root: TextNode): string[] {
  const lines: string[] = [""];
  const signs: Sign[] = [""];
  const write = (text: string) => {
    lines[lines.length - 1] += text;
  };
  const newLine = (sign: Sign) => {
    lines.push("");
    signs.push(sign);
  };
  const expand = (node: TextNode, sign: Sign): void => {
    if (typeof node === "string") write(node);
    else if (node.kind === "wrap") {
      write(node.prefix);
      expand(node.value, sign);
      write(node.suffix);
    } else {
      for (const line of batches(node.records)) {
        newLine(sign);
        write(line);
      }
      if (!isBatch(node.records)) {
        for (const record of node.records) {
          newLine(record.sign || sign);
          if (record.key !== "") write(`${record.key}: `);
          expand(record.value, record.sign || sign);
          if (!record.bare) write(",");
        }
      }
      newLine(sign);
    }
  };
  expand(compact(root, "").node, "");
  return lines.flatMap((line, index) => (signs[index] ? [`${signs[index]} ${line}`] : []));
}

/** `node` with every part that fits on one line as that line; and all of it as one line. */
function compact(node: TextNode, sign: Sign): { line: string; node: TextNode } {
  if (typeof node === "string") return { line: node, node };
  if (node.kind === "wrap") {
    const value = compact(node.value, sign);
    const line = `${node.prefix}${value.line}${node.suffix}`;
    return { line, node: typeof value.node === "string" ? line : { ...node, value: value.node } };
  }
  let several = false;
  const parts: string[] = [];
  const records = node.records.map((record) => {
    const value = compact(record.value, record.sign || sign);
    several ||= record.sign !== "" || typeof value.node !== "string";
    parts.push(record.key === "" ? value.line : `${record.key}: ${value.line}`);
    return { ...record, value: value.node };
  });
  const line = parts.join(", ");
  if (sign !== "" && Buffer.byteLength(line) > MAX_COLUMNS) several = true;
  return { line, node: several ? list(records) : line };
}

/** Whether a list holds nothing but plain values, several of which go on one line. */
function isBatch(records: readonly TextRecord[]): boolean {
  return records.length > 0 && records.every(({ sign, key, value }) => sign === "" && key === "" && typeof value === "string");
}

function batches(records: readonly TextRecord[]): string[] {
  if (!isBatch(records)) return [];
  const lines: string[] = [];
  let line = "";
  for (const { value } of records) {
    const text = typeof value === "string" ? value : "";
    if (Buffer.byteLength(line) + Buffer.byteLength(text) + 2 > MAX_COLUMNS && line !== "") {
      lines.push(line.trimEnd());
      line = "";
    }
    line += `${text}, `;
  }
  return line === "" ? lines : [...lines, line.trimEnd()];
}

/** How values are written. */
export interface FormatOptions {
  /** Which side is written; "" writes both, as a difference. */
  readonly side: Sign;
  /** Whether the type comes first: always, for structs, lists and maps, or never. */
  readonly types: "always" | "composites" | "never";
  /** How much is written before an ellipsis stands for the rest; it falls with each level. */
  readonly verbosity: number;
  /** Whether String methods are passed over. */
  readonly plain: boolean;
}

/** Differences are written with this much at least, on every level. */
const LEAST_VERBOSITY = 3;
const MOST_VERBOSITY = 16;

export const DIFFERENCE: FormatOptions = { side: "", types: "always", verbosity: LEAST_VERBOSITY, plain: false };
/** How often more is written when two values that differ would read the same. */
export const LOUDER_STEPS = 7;

/** 2 to the power of the verbosity, the unit of all limits. */
export function unit({ verbosity }: FormatOptions): number {
  return 2 ** clamped(verbosity);
}

/** How many members of a struct, list or map are written. */
function maxMembers(options: FormatOptions): number {
  return Math.floor(unit(options) / 2) * 4;
}

/** One level further down. */
export function deeper(options: FormatOptions): FormatOptions {
  return { ...options, verbosity: options.verbosity - 1 };
}

export function atLeastDefault(options: FormatOptions): FormatOptions {
  return clamped(options.verbosity) < LEAST_VERBOSITY ? { ...options, verbosity: LEAST_VERBOSITY } : options;
}

/** The options of the `step`th try to tell two values apart. */
export function louder(options: FormatOptions, step: number): FormatOptions {
  return { ...options, verbosity: clamped(options.verbosity) + 2 * step, plain: options.plain || step > 0 };
}

function clamped(verbosity: number): number {
  return Math.min(Math.max(verbosity, 0), MOST_VERBOSITY);
}

/** What Go calls printable, the space and the tab included. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} \t]*$/u;

/** Whether every character of `text` can be seen, tabs included. */
export function isPrintable(text: string): boolean {
  return PRINTABLE.test(text);
}

/** `text` as a Go literal: in double quotes, or in backticks when those would need escapes and these do not. */
export function goLiteral(text: string): string {
  const quoted = goQuote(text);
  if (Buffer.byteLength(quoted) === Buffer.byteLength(text) + 2) return quoted;
  return isPrintable(text) && !text.includes("`") ? `\`${text}\`` : quoted;
}

/** The same for bytes, which may begin and end inside a character: what is cut is written as `\xNN`. */
export function goLiteralOfBytes(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes("\ufffd") || Buffer.from(text).equals(bytes)) return goLiteral(text);
  let out = "";
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfCharacter(bytes, at);
    out += size > 0 ? goQuote(bytes.toString("utf8", at, at + size)).slice(1, -1) : `\\x${(bytes[at] ?? 0).toString(16).padStart(2, "0")}`;
    at += Math.max(size, 1);
  }
  return `"${out}"`;
}

/** Bytes of the whole character at `at`; 0 when there is only a part of one. */
function sizeOfCharacter(bytes: Buffer, at: number): number {
  for (let size = 1; size <= 4 && at + size <= bytes.length; size++) {
    const part = bytes.subarray(at, at + size);
    const text = part.toString("utf8");
    if (!text.includes("\ufffd") || (text === "\ufffd" && Buffer.from(text).equals(part))) return size;
  }
  return 0;
}

/** Smallest number of lines of a text that is written on lines of its own. */
const LINES_APART = 4;
const PRINTABLE_OR_SPACE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\s]+$/u;

/** One value as go-cmp writes it on a line that was removed or inserted. `inList`: it is an element. */
export function formatValue(type: GoType, value: GoValue, options: FormatOptions, inList = false): TextNode {
  if (type.kind === "pointer") {
    if (value === null) return "nil";
    if (type.to.kind === "struct" && !options.plain) return formatText(goString(type.to, value), options, "s");
    return wrap("&", formatValue(type.to, value, options), "");
  }
  switch (type.kind) {
    case "string":
      return formatText(scalarText(value), options, "");
    case "struct":
      return typed(type, list(structRecords(type, value, options)), options);
    case "slice":
      if (value === null) return typed(type, "nil", options);
      if (type.of.kind === "byte" && PRINTABLE_OR_SPACE.test(scalarText(value)))
        return typed(type, formatText(scalarText(value), options, ""), options);
      return typed(type, list(elementRecords(elementsOf(type, value), type.of, options)), options);
    case "map":
      return value === null ? typed(type, "nil", options) : typed(type, list(entryRecords(type.of, value, options)), options);
    case "byte":
      return inList ? `0x${Number(value).toString(16).padStart(2, "0")}` : scalarText(value);
    case "int":
    case "float":
      return goNumber(value, type.kind);
    case "bool":
    default:
      return scalarText(value);
  }
}

/** `body` with the type before it, where one is wanted. */
export function typed(type: GoType, body: TextNode, { types }: FormatOptions): TextNode {
  const inBraces = typeof body === "string" || body.kind === "wrap" ? body : wrap("{", body, "}");
  if (types === "never" || type.kind === "pointer" || !("label" in type)) return inBraces;
  if (types === "composites" && body === "nil") return body;
  if (typeof inBraces === "string") return wrap(type.label, wrap("(", inBraces, ")"), "");
  const closed =
    (inBraces.prefix.startsWith("{") && inBraces.suffix.endsWith("}")) ||
    (inBraces.prefix.startsWith("(") && inBraces.suffix.endsWith(")"));
  return wrap(type.label, closed ? inBraces : wrap("(", inBraces, ")"), "");
}

/** A text as a literal, cut when it is long; one of several lines on lines of its own. `mark` stands before texts of String methods. */
function formatText(text: string, options: FormatOptions, mark: "" | "s"): TextNode {
  const maxBytes = unit(options) * 32;
  const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  if (lines.length >= LINES_APART && options.side !== "") {
    const trimmed = lines.map((line) => line.replace(/\r$/, "").replace(/^\r/, ""));
    if (trimmed.every((line) => mayStandApart(line, mark, maxBytes))) return apart(trimmed, options, mark);
  }
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes + ELLIPSIS.length) return `${mark}${goLiteral(text)}`;
  return `${mark}${goLiteralOfBytes(bytes.subarray(0, maxBytes))}${ELLIPSIS}`;
}

function mayStandApart(line: string, mark: string, maxBytes: number): boolean {
  const start = mark !== "" && line.startsWith(mark) ? line.slice(mark.length) : line;
  return !start.startsWith('"""') && !line.startsWith(ELLIPSIS) && isPrintable(line) && Buffer.byteLength(line) <= maxBytes;
}

function apart(lines: readonly string[], options: FormatOptions, mark: string): TextNode {
  const maxLines = unit(options) * 4;
  const record = (value: string): TextRecord => ({ sign: options.side, key: "", value, bare: true });
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines - 1), ELLIPSIS] : lines;
  return wrap("(", list([`${mark}"""`, ...shown, `${mark}"""`].map(record)), ")");
}

function structRecords(type: Extract<GoType, { kind: "struct" }>, value: GoValue, options: FormatOptions): TextRecord[] {
  const most = maxMembers(options);
  const below: FormatOptions = { ...deeper(options), types: "composites" };
  const set = type.fields.filter((field) => !isZero(field.type, fieldOf(value, field)));
  const records = set
    .slice(0, most)
    .map((field): TextRecord => ({ sign: "", key: field.name, value: formatValue(field.type, fieldOf(value, field), below) }));
  return set.length > most ? [...records, ellipsis()] : records;
}

function elementRecords(elements: readonly GoValue[], of: GoType, options: FormatOptions): TextRecord[] {
  const most = maxMembers(options);
  const below: FormatOptions = { ...deeper(options), types: "never" };
  const records = elements
    .slice(0, most)
    .map((element): TextRecord => ({ sign: "", key: "", value: formatValue(of, element, below, true) }));
  return elements.length > most ? [...records, ellipsis()] : records;
}

function entryRecords(of: GoType, value: GoValue, options: FormatOptions): TextRecord[] {
  const most = maxMembers(options);
  const below: FormatOptions = { ...deeper(options), types: "never" };
  const entries = [...(value as ReadonlyMap<string, GoValue>)].sort(([a], [b]) => compareText(a, b));
  const records = entries
    .slice(0, most)
    .map(([key, member]): TextRecord => ({ sign: "", key: goLiteral(key), value: formatValue(of, member, below) }));
  return entries.length > most ? [...records, ellipsis()] : records;
}

export function ellipsis(): TextRecord {
  return { sign: "", key: "", value: ELLIPSIS, bare: true };
}
