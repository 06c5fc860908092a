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
