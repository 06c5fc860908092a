import { goNumber, goString } from "../goPrint.ts";
import { elementsOf, fieldOf, type GoType, type GoValue, isZero, scalarText } from "../goType.ts";
import { goLiteral, goLiteralOfBytes, isPrintable } from "./goLiteral.ts";
import { deeper, type FormatOptions, maxMembers, unit } from "./options.ts";
import { ELLIPSIS, list, type TextNode, type TextRecord, wrap } from "./textTree.ts";

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
  const entries = [...(value as ReadonlyMap<string, GoValue>)].sort(([a], [b]) => (a < b ? -1 : 1));
  const records = entries
    .slice(0, most)
    .map(([key, member]): TextRecord => ({ sign: "", key: goLiteral(key), value: formatValue(of, member, below) }));
  return entries.length > most ? [...records, ellipsis()] : records;
}

export function ellipsis(): TextRecord {
  return { sign: "", key: "", value: ELLIPSIS, bare: true };
}
