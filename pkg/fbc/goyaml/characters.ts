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

/** The UTF-16 code at `position`; 0 beyond the end of the text, which cannot contain NUL. */
export function codeAt(text: string, position: number): number {
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
export function isWordCharacter(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x5f || code === DASH
  );
}
