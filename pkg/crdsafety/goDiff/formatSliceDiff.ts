import { goQuote } from "../../errors/goQuote.ts";
import { type GoValue, scalarText } from "../goType.ts";
import { type Chunk, chunks } from "./chunks.ts";
import { editScript } from "./editScript.ts";
import { typed } from "./formatValue.ts";
import { goLiteral, goLiteralOfBytes, isPrintable } from "./goLiteral.ts";
import { type FormatOptions, unit } from "./options.ts";
import { ELLIPSIS, list, type TextNode, type TextRecord, wrap } from "./textTree.ts";
import type { DiffNode } from "./tree.ts";

/** Texts of at least this many bytes are compared piece by piece. */
const LONG = 32;
const BYTES_A_CHUNK = 64;
/** Texts with at least this many line ends, and no longer lines than this, are compared line by line. */
const LINE_ENDS = 4;
const LONGEST_LINE = 1_024;
/** Comparing by lines must not take this many times the edits of comparing by bytes, unless quoting would blow the text up. */
const LINES_PREFERRED = 4;
const QUOTING_BLOWS_UP = 1.1;

/** Whether a difference is told piece by piece: between two long texts, or two lists of bytes that have little in common. */
export function isSliceDiff({ type, x, y, same, diff }: DiffNode, { side }: FormatOptions): boolean {
  if (side !== "" || diff === 0 || x === undefined || y === undefined) return false;
  const isBytes = type.kind === "slice" && type.of.kind === "byte";
  if (type.kind !== "string" && !isBytes) return false;
  const [before, after] = [lengthOf(x), lengthOf(y)];
  if (isBytes && (before === 0 || after === 0)) return false;
  return (isBytes && diff > same) || (before >= LONG && after >= LONG);
}

/** The pieces that differ between two texts: lines as they are, or chunks of 64 bytes as literals. */
export function formatSliceDiff({ type, x, y }: DiffNode, options: FormatOptions): TextNode {
  const [before, after] = [scalarText(x), scalarText(y)];
  const most = unit(options) * 4;
  let delimiter = "";
  let records: TextRecord[];
  if (byLines(before, after)) {
    const lines = chunks(before.split("\n"), after.split("\n"), { size: 1, most });
    const apart = linesApart(lines);
    if (apart) {
      const body = wrap("(", list(apart), ")");
      return type.kind === "slice" ? typed(type, body, { ...options, types: "always" }) : body;
    }
    delimiter = "\n";
    records = lines.map(({ sign, part }) => ({ sign, key: "", value: goLiteral(part[0] ?? "") }));
  } else {
    const parts = chunks([...Buffer.from(before)], [...Buffer.from(after)], { size: BYTES_A_CHUNK, most });
    records = parts.map(({ sign, part }) => ({ sign, key: "", value: goLiteralOfBytes(Buffer.from(part)) }));
  }
  const join = type.kind === "slice" ? "bytes.Join(" : "strings.Join(";
  return wrap(join, wrap("{", list(records), "}"), `, ${goQuote(delimiter)})`);
}

function lengthOf(value: GoValue): number {
  return Buffer.byteLength(scalarText(value));
}

function byLines(before: string, after: string): boolean {
  const both = before + after;
  const lines = both.split("\n");
  // The last line counts only where something follows it.
  const longest = Math.max(0, ...lines.slice(0, -1).map((line) => Buffer.byteLength(line)));
  if (lines.length - 1 < LINE_ENDS || longest > LONGEST_LINE || !lines.every((line) => /^[\p{L}\p{M}\p{N}\p{P}\p{S}\s]*$/u.test(line)))
    return false;
  const lineEdits = efficiency(before.split("\n"), after.split("\n"));
  const byteEdits = efficiency([...Buffer.from(before)], [...Buffer.from(after)]);
  return lineEdits < LINES_PREFERRED * byteEdits || Buffer.byteLength(goQuote(both)) / Buffer.byteLength(both) > QUOTING_BLOWS_UP;
}

/** The part of the edits that change something. */
function efficiency<T>(before: readonly T[], after: readonly T[]): number {
  const edits = editScript(before.length, after.length, (x, y) => (before[x] === after[y] ? { same: 1, diff: 0 } : { same: 0, diff: 2 }));
  return edits.filter((edit) => edit !== "same").length / edits.length;
}

/** The lines between triple quotes; undefined where they would not be told from each other or from the quotes. */
function linesApart(lines: readonly Chunk<string>[]): TextRecord[] | undefined {
  const quotes: TextRecord = { sign: "", key: "", value: '"""', bare: true };
  const records: TextRecord[] = [quotes];
  let removed = new Set<string>();
  let inserted = new Set<string>();
  for (const { sign, part, elided } of lines) {
    const line = (part[0] ?? "").replace(/\r$/, "").replace(/^\r/, "");
    if (!elided) {
      const visible = line.replace(/\s/gu, "");
      if (line.startsWith('"""') || line.startsWith(ELLIPSIS) || !isPrintable(line)) return undefined;
      if ((sign === "-" && inserted.has(visible)) || (sign === "+" && removed.has(visible))) return undefined;
      if (sign === "-") removed.add(visible);
      if (sign === "+") inserted.add(visible);
    }
    if (sign === "") {
      removed = new Set();
      inserted = new Set();
    }
    records.push({ sign, key: "", value: elided ? ELLIPSIS : line, bare: true });
  }
  return [...records, quotes];
}
