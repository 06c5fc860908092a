/** How a text can be written. */
interface Allowed {
  plain: boolean;
  single: boolean;
  block: boolean;
}

/** Words of YAML 1.1 that are no text. */
const WORDS =
  /^(?:~|null|Null|NULL|[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE|\.nan|\.NaN|\.NAN|[+-]?\.(?:inf|Inf|INF))$/;
const INTEGER = /^[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const DATE = String.raw`\d{4}-\d{1,2}-\d{1,2}`;
const TIME = String.raw`\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?`;
/** With a zone where a T stands between date and time, and without one where a space does. */
const TIMESTAMP = new RegExp(`^${DATE}(?:[Tt]${TIME}(?:Z|[+-]\\d\\d:\\d\\d)| ${TIME})?$`);
/** What go-yaml does not print as it is: control characters but the line feed, surrogates of their own, and all beyond the basic plane. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const SPECIAL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff\u{10000}-\u{10ffff}]/u;
const FIRST_INDICATOR = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|$))/;
const ESCAPED = new Map([
  [0x00, "\\0"],
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x1b, "\\e"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
  [0x85, "\\N"],
]);

/** From this column on a line is broken at its next single space. */
const WIDTH = 80;

/** Where a text is written. */
export interface ScalarPlace {
  /** Characters before it on its line. */
  readonly column: number;
  /** Of the lines that follow; undefined for a key, which has only one line. */
  readonly indent: number | undefined;
}

/** A text as go-yaml writes it: plain where it is read back as text, over several lines where it has any, otherwise in quotes; broken after column 80. */
export function yamlScalar(text: string, place: ScalarPlace): string {
  const allowed = allowedForms(text);
  if (text.includes("\n")) {
    return allowed.block && place.indent !== undefined ? literalBlock(text, place.indent) : doubleQuoted(text, place);
  }
  if (!isText(text)) return doubleQuoted(text, place);
  if (allowed.plain) return folded(text, place, (char) => char, false);
  if (!allowed.single) return doubleQuoted(text, place);
  return `'${folded(text, { ...place, column: place.column + 1 }, (char) => (char === "'" ? "''" : char), true)}'`;
}

/** Whether YAML 1.1 reads `text` as text where it stands without quotes. */
function isText(text: string): boolean {
  if (text === "" || WORDS.test(text)) return false;
  if (!/^[-+.0-9]/.test(text)) return true;
  const digits = text.replaceAll("_", "");
  return !(TIMESTAMP.test(text) || INTEGER.test(digits) || FLOAT.test(digits) || BASE_60.test(text));
}

function allowedForms(text: string): Allowed {
  const special = SPECIAL.test(text);
  const spaceBeforeBreak = / \n/.test(text);
  const breakBeforeSpace = /\n /.test(text);
  const single = !special && !spaceBeforeBreak && !breakBeforeSpace;
  const edges = /^[ \n]|[ \n]$/.test(text);
  const indicators = FIRST_INDICATOR.test(text) || /^(?:---|\.\.\.)/.test(text) || /:(?:[ \t]|$)/.test(text) || /[ \t\n]#/.test(text);
  return {
    single,
    plain: single && !edges && !indicators && !text.includes("\n"),
    block: !special && !spaceBeforeBreak && !text.endsWith(" "),
  };
}

function literalBlock(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? "2" : "";
  const chomping = text.endsWith("\n") ? (text === "\n" || text.endsWith("\n\n") ? "+" : "") : "-";
  const margin = " ".repeat(indent);
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  const lines = body.split("\n").map((line) => (line === "" ? "" : margin + line));
  return `|${hint}${chomping}\n${lines.join("\n")}`;
}

function doubleQuoted(text: string, place: ScalarPlace): string {
  return `"${folded(text, { ...place, column: place.column + 1 }, escaped, true, "\\")}"`;
}

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const escape = ESCAPED.get(code);
  if (escape !== undefined) return escape;
  if (!SPECIAL.test(char)) return char;
  if (code <= 0xff) return `\\x${hex(code, 2)}`;
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

/**
 * The characters of `text`, each as `write` has it, with line breaks in place of single spaces behind the width.
 * @param quoted whether the spaces at its ends are no place for a break.
 * @param continued what begins a line where another space follows; undefined: no break is made there.
 */
function folded(
  text: string,
  { column, indent }: ScalarPlace,
  write: (char: string) => string,
  quoted: boolean,
  continued?: string,
): string {
  const chars = Array.from(text);
  const pieces: string[] = [];
  let at = column;
  let afterSpace = false;
  for (const [i, char] of chars.entries()) {
    const isEdge = quoted && (i === 0 || i === chars.length - 1);
    const beforeSpace = chars[i + 1] === " ";
    if (char === " " && indent !== undefined && !afterSpace && at > WIDTH && !isEdge && (!beforeSpace || continued !== undefined)) {
      pieces.push("\n", " ".repeat(indent), beforeSpace ? (continued ?? "") : "");
      at = indent + (beforeSpace ? 1 : 0);
    } else {
      const written = write(char);
      pieces.push(written);
      at += written.length === char.length ? 1 : written.length;
    }
    afterSpace = char === " ";
  }
  return pieces.join("");
}

function hex(code: number, digits: number): string {
  return code.toString(16).toUpperCase().padStart(digits, "0");
}
