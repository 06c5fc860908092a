import { YAMLException } from "js-yaml";

export const TAB = 0x09;
export const SPACE = 0x20;
export const DOUBLE_QUOTE = 0x22;
export const HASH = 0x23;
export const PERCENT = 0x25;
export const SINGLE_QUOTE = 0x27;
export const COMMA = 0x2c;
export const DASH = 0x2d;
export const DOT = 0x2e;
export const COLON = 0x3a;
export const QUESTION_MARK = 0x3f;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

const NEXT_LINE = 0x85;
const LINE_SEPARATOR = 0x2028;
const PARAGRAPH_SEPARATOR = 0x2029;

/** The UTF-16 code unit at `position`; 0 beyond the end of the text (the text itself cannot contain NUL). */
export function getCodeAt(text: string, position: number): number {
  return position < text.length ? text.charCodeAt(position) : 0;
}

/** Whether `code` is a space or a tab. */
export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** Whether `code` is a line break of YAML 1.1. */
export function isBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === NEXT_LINE || code === LINE_SEPARATOR || code === PARAGRAPH_SEPARATOR;
}

/** Whether `code` is a blank, a line break or the end of the text. */
export function isBlankOrEnd(code: number): boolean {
  return code === SPACE || code === 0x0a || code === 0 || (code !== 0x0a && (code === TAB || isBreak(code)));
}

/** Whether `code` is a letter of ASCII, a digit, `_` or `-`. */
function isWordCharacter(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x5f || code === DASH
  );
}

const INVALID = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/; // oxlint-disable-line no-control-regex
const UNUSUAL_BREAK = /[\r\x85\u2028\u2029]/; // oxlint-disable-line no-control-regex
const BYTE_ORDER_MARK = 0xfeff;

/** A position in a YAML text that moves forward. */
export class Cursor {
  readonly text: string;
  /** Offset of the next character. */
  position = 0;
  /** Line of the next character, from 0. */
  line = 0;
  /** Offset of the first character of the line. */
  lineStart = 0;
  readonly #lineEnd: RegExp | undefined;

  /** @throws YAMLException for a character that YAML does not allow */
  constructor(text: string) {
    const invalid = text.search(INVALID);
    if (invalid >= 0) YAMLException.throwAt(text, invalid, "control characters are not allowed", "");
    this.text = text;
    this.#lineEnd = UNUSUAL_BREAK.test(text) ? /[\r\n\x85\u2028\u2029]/g : undefined; // oxlint-disable-line no-control-regex
    if (getCodeAt(text, 0) !== BYTE_ORDER_MARK) return;
    this.lineStart = 1;
    this.position = getCodeAt(text, 1) === BYTE_ORDER_MARK ? 2 : 1; // as in libyaml, where a second byte order mark counts as one column of indentation
  }

  /** The next character; 0 at the end of the text. */
  get code(): number {
    return getCodeAt(this.text, this.position);
  }

  get column(): number {
    return this.position - this.lineStart;
  }

  /** Whether the next three characters are `---` or `...` on their own at the start of a line. */
  get isAtDocumentIndicator(): boolean {
    if (this.position !== this.lineStart) return false;
    const { code, text, position } = this;
    if (code !== DASH && code !== DOT) return false;
    return getCodeAt(text, position + 1) === code && getCodeAt(text, position + 2) === code && isBlankOrEnd(getCodeAt(text, position + 3));
  }

  /** Moves to the next line break, or to the end of the text. @returns the text in between. */
  takeLine(): string {
    const from = this.position;
    let end: number;
    if (this.#lineEnd) {
      this.#lineEnd.lastIndex = from;
      end = this.#lineEnd.exec(this.text)?.index ?? -1;
    } else end = this.text.indexOf("\n", from);
    this.position = end < 0 ? this.text.length : end;
    return this.text.slice(from, this.position);
  }

  /** Moves past a line break. @returns the text that the break adds to a value. */
  takeBreak(): string {
    const { code } = this;
    this.position++;
    if (code === 0x0d && this.code === 0x0a) this.position++;
    this.line++;
    this.lineStart = this.position;
    return code === 0x2028 || code === 0x2029 ? String.fromCharCode(code) : "\n";
  }

  /** Moves past letters, digits, `_` and `-`, and returns them. */
  takeWord(): string {
    const from = this.position;
    while (isWordCharacter(this.code)) this.position++;
    return this.text.slice(from, this.position);
  }

  /** Moves over spaces, up to `column`. */
  skipSpaces(column: number): void {
    while (this.code === SPACE && this.column < column) this.position++;
  }

  skipBlanks(): void {
    while (isBlank(this.code)) this.position++;
  }

  /** Moves to the next line. @throws YAMLException if the rest of this line contains anything except blanks and a comment. */
  skipRestOfLine(): void {
    this.skipBlanks();
    if (this.code === HASH) this.takeLine();
    if (isBreak(this.code)) this.takeBreak();
    else if (this.code !== 0) this.fail("did not find expected comment or line break");
  }

  /** @throws YAMLException with `reason` and the position. */
  fail(reason: string, position: number = this.position): never {
    return YAMLException.throwAt(this.text, position, reason, "");
  }
}
