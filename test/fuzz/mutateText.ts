import { pick, type Random, upTo } from "../support/random.ts";

/** Mutates the bytes of one file, in ways that need not be valid YAML. */
export type TextMutation = (content: Buffer, random: Random) => Buffer;

/** Replacements for a line or a value; each has broken some parser. */
const ODD_VALUES = [
  "99999999999999999999999999",
  "-9223372036854775809",
  "1e400",
  ".inf",
  ".nan",
  "0x1F",
  "0o17",
  "1_000",
  "0b11",
  "12:30:45",
  "2001-12-14t21:59:43.10-05:00",
  "!!binary aGVsbG8=",
  "!!set {a, b}",
  "!!str",
  "!<tag:yaml.org,2002:int> 5",
  "<<: *nothing",
  "*unknown",
  "&a [*a]",
  "? complex",
  "{{ .Values.x }}",
  "__proto__: {polluted: true}",
  "constructor: {prototype: {polluted: true}}",
  "toString",
  '"\\ud800"',
  '"\\0"',
  "\u2028\u2029\u0085",
  "\u{1f600}\u202e\u200b\ufeff",
  "a\u0000b",
  "--- # document",
  "...",
  "%YAML 1.2",
  "%TAG ! tag:x,2000:",
  "- - - - -",
  "|+",
  ">2-",
  "~",
  "yes",
  "''",
  '"',
  "[",
  "}",
];

const BYTE_ORDER_MARKS = [Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

/** All mutations of bytes by name. */
export const TEXT_MUTATIONS: Readonly<Record<string, TextMutation>> = {
  "flip bytes": (content, random) => {
    const changed = Buffer.from(content);
    for (let times = 1 + upTo(random, 8); times > 0 && changed.length > 0; times--) {
      const at = upTo(random, changed.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << upTo(random, 8));
    }
    return changed;
  },
  truncate: (content, random) => content.subarray(0, upTo(random, content.length + 1)),
  "remove a piece": (content, random) => {
    const from = upTo(random, content.length + 1);
    return Buffer.concat([content.subarray(0, from), content.subarray(from + upTo(random, 200))]);
  },
  "repeat a piece": (content, random) => {
    const from = upTo(random, content.length + 1);
    const piece = content.subarray(from, from + 1 + upTo(random, 400));
    const copies = Array.from({ length: 1 + upTo(random, 50) }, () => piece);
    return Buffer.concat([content.subarray(0, from), ...copies, content.subarray(from)]);
  },
  "insert bytes": (content, random) => {
    const at = upTo(random, content.length + 1);
    const bytes = Buffer.from(Array.from({ length: 1 + upTo(random, 12) }, () => upTo(random, 256)));
    return Buffer.concat([content.subarray(0, at), bytes, content.subarray(at)]);
  },
  "write CRLF": (content) => Buffer.from(content.toString("utf8").replaceAll("\n", "\r\n")),
  "write CR": (content) => Buffer.from(content.toString("utf8").replaceAll("\n", "\r")),
  "add a byte order mark": (content, random) => Buffer.concat([pick(random, BYTE_ORDER_MARKS), content]),
  "write UTF-16": (content) => Buffer.from(content.toString("utf8"), "utf16le"),
  "indent with tabs": (content) => Buffer.from(content.toString("utf8").replaceAll("  ", "\t")),
  "replace a value": onLine((line, random) => line.replace(/:.*$/, `: ${pick(random, ODD_VALUES)}`)),
  "replace a key": onLine((line, random) => line.replace(/[^\s-][^:]*:/, `${pick(random, ODD_VALUES)}:`)),
  "replace a line": onLine((line, random) => `${/^\s*/.exec(line)?.[0] ?? ""}${pick(random, ODD_VALUES)}`),
  "change the indentation of a line": onLine((line, random) => `${" ".repeat(upTo(random, 20))}${line.trimStart()}`),
  "drop a line": onLine(() => undefined),
  "anchor a value": onLine((line) => line.replace(/:\s*/, ": &x ")),
  "refer to an anchor": onLine((line) => line.replace(/:.*$/, ": *x")),
  "nest deeply": (content, random) => {
    const depth = pick(random, [50, 900, 5_000, 200_000]);
    const [open, close] = pick(random, [
      ["[", "]"],
      ["{a: ", "}"],
      ["- ", ""],
      ['{"a":', "}"],
    ] as const);
    const nested = `${open.repeat(depth)}x${close.repeat(depth)}`;
    return insertText(content, `deep: ${nested}\n`, random);
  },
  "multiply by aliases": (content, random) => {
    const levels = 3 + upTo(random, 12);
    const lines = Array.from({ length: levels }, (_, i) => `b${i + 1}: &b${i + 1} [${Array(10).fill(`*b${i}`).join(", ")}]`);
    return insertText(content, `${["b0: &b0 [x, y, z]", ...lines].join("\n")}\n`, random);
  },
  "merge a chain of maps": (content, random) => {
    const levels = 2 + upTo(random, 400);
    const lines = Array.from({ length: levels }, (_, i) => `m${i + 1}: &m${i + 1} {<<: *m${i}, k${i}: v}`);
    return insertText(content, `${["m0: &m0 {a: b}", ...lines].join("\n")}\n`, random);
  },
  "write a long number": (content, random) =>
    Buffer.from(content.toString("utf8").replace(/\b\d+\b/, "9".repeat(pick(random, [17, 400, 100_000])))),
  "write a long text": onLine((line, random) => line.replace(/:.*$/, `: "${"x".repeat(pick(random, [254, 70_000, 1_000_000]))}"`)),
};

/** Returns a mutation of one line; `change` returns undefined to remove it. */
function onLine(change: (line: string, random: Random) => string | undefined): TextMutation {
  return (content, random) => {
    const lines = content.toString("utf8").split("\n");
    const at = upTo(random, lines.length);
    const changed = change(lines[at] ?? "", random);
    lines.splice(at, 1, ...(changed === undefined ? [] : [changed]));
    return Buffer.from(lines.join("\n"));
  };
}

/** Inserts a text at the start of a line; mostly at the start of the file, where it is most likely valid. */
function insertText(content: Buffer, text: string, random: Random): Buffer {
  const from = random() < 0.7 ? 0 : content.indexOf("\n", upTo(random, content.length + 1)) + 1;
  return Buffer.concat([content.subarray(0, from), Buffer.from(text), content.subarray(from)]);
}
