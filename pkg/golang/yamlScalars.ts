import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  type Cursor,
  DOUBLE_QUOTE,
  getCodeAt,
  HASH,
  isBlank,
  isBlankOrEnd,
  isBreak,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUESTION_MARK,
  SINGLE_QUOTE,
  SPACE,
  TAB,
} from "./yamlCursor.ts";

const NEEDS_FOLDING = /[\r\n\x85\u2028\u2029]/; // oxlint-disable-line no-control-regex
const HEX = /^[\da-fA-F]+$/;
const HEX_LENGTHS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\x1b"],
  [" ", " "],
  ['"', '"'],
  ["'", "'"],
  ["\\", "\\"],
  ["N", "\x85"],
  ["_", "\xa0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);

/**
 * Reads a quoted scalar from its first quote. Lines may start at any column, as in libyaml.
 * @throws YAMLException if it does not end in the document, or contains an unknown escape
 */
export function takeQuoted(cursor: Cursor): string {
  const quote = cursor.code;
  cursor.position++;
  return takeSimpleQuoted(cursor, quote) ?? takeFoldedQuoted(cursor, quote);
}

/** Returns the value of a quoted scalar on one line without escapes. For other scalars, returns undefined and does not move. */
function takeSimpleQuoted(cursor: Cursor, quote: number): string | undefined {
  const { text, position } = cursor;
  const end = text.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", position);
  if (end < 0) cursor.fail("found unexpected end of stream", text.length);
  if (quote === SINGLE_QUOTE && getCodeAt(text, end + 1) === SINGLE_QUOTE) return undefined;
  const value = text.slice(position, end);
  if (NEEDS_FOLDING.test(value) || (quote === DOUBLE_QUOTE && value.includes("\\"))) return undefined;
  cursor.position = end + 1;
  return value;
}

function takeFoldedQuoted(cursor: Cursor, quote: number): string {
  let value = "";
  for (;;) {
    if (cursor.isAtDocumentIndicator) cursor.fail("found unexpected document indicator");
    if (cursor.code === 0) cursor.fail("found unexpected end of stream");
    const part = takeQuotedPart(cursor, quote);
    value += part.value;
    if (cursor.code === quote) {
      cursor.position++;
      return value;
    }
    value += takeFold(cursor, part.isContinued);
  }
}

/** Reads up to the closing quote, to the blanks before a line break, or past an escaped line break (the next line continues this one). */
function takeQuotedPart(cursor: Cursor, quote: number): { value: string; isContinued: boolean } {
  const { text } = cursor;
  let value = "";
  let from = cursor.position;
  for (;;) {
    const { code } = cursor;
    if (code === quote) {
      if (quote === DOUBLE_QUOTE || getCodeAt(text, cursor.position + 1) !== SINGLE_QUOTE) break;
      value += text.slice(from, cursor.position + 1);
      cursor.position += 2;
      from = cursor.position;
    } else if (code === BACKSLASH && quote === DOUBLE_QUOTE) {
      value += text.slice(from, cursor.position);
      cursor.position++;
      if (isBreak(cursor.code)) {
        cursor.takeBreak();
        return { value, isContinued: true };
      }
      value += takeEscape(cursor);
      from = cursor.position;
    } else if (isBlank(code)) {
      const blanks = cursor.position;
      cursor.skipBlanks();
      if (isBreak(cursor.code) || cursor.code === 0) {
        cursor.position = blanks;
        break;
      }
    } else if (isBreak(code) || code === 0) break;
    else cursor.position++;
  }
  return { value: value + text.slice(from, cursor.position), isContinued: false };
}

/**
 * Moves past blanks and line breaks. @returns the text that they add to the value @param isContinued whether an escaped line break was passed, which
 * adds no text
 */
function takeFold(cursor: Cursor, isContinued: boolean): string {
  let first: string | undefined = isContinued ? "" : undefined;
  let more = "";
  for (;;) {
    if (isBlank(cursor.code)) cursor.position++;
    else if (!isBreak(cursor.code)) break;
    else if (first === undefined) first = cursor.takeBreak();
    else more += cursor.takeBreak();
  }
  return folded(first ?? "", more);
}

/** Returns the text that a line break and the empty lines after it add to a value. A single break becomes a space; Unicode separators stay. */
function folded(first: string, more: string): string {
  if (first === "\n") return more === "" ? " " : more;
  return first + more;
}

function takeEscape(cursor: Cursor): string {
  const char = cursor.text[cursor.position] ?? "";
  const length = HEX_LENGTHS[char];
  if (length === undefined) {
    const value = ESCAPES.get(char) ?? cursor.fail("found unknown escape character");
    cursor.position++;
    return value;
  }
  const digits = cursor.text.slice(cursor.position + 1, cursor.position + 1 + length);
  if (digits.length < length || !HEX.test(digits)) cursor.fail("did not find expected hexdecimal number");
  const value = Number.parseInt(digits, 16);
  if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff) cursor.fail("found invalid Unicode character escape code");
  cursor.position += 1 + length;
  return String.fromCodePoint(value);
}

/**
 * Reads an unquoted scalar. `endsWithBreak` reports that a line break follows, after which a key may begin.
 * @param indent indentation of the enclosing collection
 */
export function takePlain(cursor: Cursor, indent: number, inFlow: boolean): { value: string; endsWithBreak: boolean } {
  let value = "";
  let gap = "";
  let endsWithBreak = false;
  while (!cursor.isAtDocumentIndicator && cursor.code !== HASH) {
    const from = cursor.position;
    const end = skipPlainLine(cursor, inFlow);
    if (end > from) {
      value += gap + cursor.text.slice(from, end);
      endsWithBreak = false;
    }
    if (!isBreak(cursor.code)) break;
    gap = takePlainGap(cursor, indent);
    endsWithBreak = true;
    if (!inFlow && cursor.column <= indent) break;
  }
  return { value, endsWithBreak };
}

/** Moves to the end of the scalar on this line, or to the line break. @returns the end of the scalar on this line */
function skipPlainLine(cursor: Cursor, inFlow: boolean): number {
  const { text } = cursor;
  let at = cursor.position;
  let end = at;
  for (; ; at++) {
    const code = getCodeAt(text, at);
    if (code > COLON && code < 0x7f && !inFlow) {
      end = at + 1; // most characters
      continue;
    }
    if (code === SPACE || code === TAB) continue;
    if (code === COLON) {
      if (isBlankOrEnd(getCodeAt(text, at + 1))) break;
    } else if (code === HASH) {
      if (end < at) break;
    } else if (code === 0 || isBreak(code)) break;
    else if (inFlow && isFlowIndicator(code)) break;
    end = at + 1;
  }
  cursor.position = at;
  return end;
}

function isFlowIndicator(code: number): boolean {
  return (
    code === COMMA ||
    code === QUESTION_MARK ||
    code === OPEN_BRACKET ||
    code === CLOSE_BRACKET ||
    code === OPEN_BRACE ||
    code === CLOSE_BRACE
  );
}

function takePlainGap(cursor: Cursor, indent: number): string {
  const first = cursor.takeBreak();
  let more = "";
  for (;;) {
    const { code } = cursor;
    if (code === TAB && cursor.column <= indent) cursor.fail("found a tab character that violates indentation");
    if (isBlank(code)) cursor.position++;
    else if (isBreak(code)) more += cursor.takeBreak();
    else return folded(first, more);
  }
}

/**
 * Reads a scalar after `|` or `>`, from that character.
 * @param parentIndent indentation of the enclosing collection; -1 if there is none
 */
export function takeBlock(cursor: Cursor, parentIndent: number): string {
  const isLiteral = cursor.text[cursor.position] === "|";
  cursor.position++;
  const { chomping, increment } = takeBlockHeader(cursor);
  cursor.skipRestOfLine();
  const before = takeEmptyLines(cursor, increment > 0 ? Math.max(parentIndent, 0) + increment : 0, parentIndent);
  const { indent } = before;
  let { breaks } = before;
  let value = "";
  let lineBreak = "";
  let afterBlank = false;
  while (cursor.column === indent && cursor.code !== 0) {
    const startsBlank = isBlank(cursor.code);
    if (!isLiteral && lineBreak === "\n" && !afterBlank && !startsBlank) value += breaks === "" ? " " : breaks;
    else value += lineBreak + breaks;
    afterBlank = startsBlank;
    value += cursor.takeLine();
    lineBreak = isBreak(cursor.code) ? cursor.takeBreak() : "";
    breaks = takeEmptyLines(cursor, indent, parentIndent).breaks;
  }
  if (chomping === "-") return value;
  return value + lineBreak + (chomping === "+" ? breaks : "");
}

function takeBlockHeader(cursor: Cursor): { chomping: string; increment: number } {
  let chomping = "";
  let increment = 0;
  for (;;) {
    const char = cursor.text[cursor.position] ?? "";
    if (chomping === "" && (char === "+" || char === "-")) chomping = char;
    else if (increment === 0 && char >= "0" && char <= "9") {
      if (char === "0") cursor.fail("found an indentation indicator equal to 0");
      increment = Number(char);
    } else return { chomping, increment };
    cursor.position++;
  }
}

/** Moves past empty lines and the indentation of the next line. @param indent 0 if the first line determines it */
function takeEmptyLines(cursor: Cursor, indent: number, parentIndent: number): { breaks: string; indent: number } {
  let breaks = "";
  let deepest = 0;
  for (;;) {
    cursor.skipSpaces(indent === 0 ? Number.POSITIVE_INFINITY : indent);
    deepest = Math.max(deepest, cursor.column);
    if (cursor.code === TAB && (indent === 0 || cursor.column < indent))
      cursor.fail("found a tab character where an indentation space is expected");
    if (!isBreak(cursor.code)) break;
    breaks += cursor.takeBreak();
  }
  return { breaks, indent: indent === 0 ? Math.max(deepest, parentIndent + 1, 1) : indent };
}
