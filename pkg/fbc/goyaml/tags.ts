import { codeAt, DOT, isBlank, isBlankOrEnd, PERCENT } from "./characters.ts";
import type { Cursor } from "./cursor.ts";

/** A tag as it is written: `!!str` has handle `!!` and suffix `str`, a whole tag in `!<…>` an empty handle. */
export interface WrittenTag {
  readonly handle: string;
  readonly suffix: string;
}

/** A line such as `%YAML 1.1` or `%TAG ! tag:example.com:`. */
export type Directive =
  | { readonly kind: "version"; readonly version: string }
  | { readonly kind: "tag"; readonly handle: string; readonly prefix: string };

const EXCLAMATION_MARK = 0x21;
const OTHER_URI_CHARACTERS = ";/?:@&=+$,.!~*'()[]";
const ESCAPES = /(?:%[\da-fA-F]{2})+/y;

/** Reads a tag from its exclamation mark on. @throws YAMLException */
export function takeTag(cursor: Cursor): WrittenTag {
  const tag = codeAt(cursor.text, cursor.position + 1) === 0x3c ? takeVerbatimTag(cursor) : takeShortTag(cursor);
  if (!isBlankOrEnd(cursor.code)) cursor.fail("did not find expected whitespace or line break");
  return tag;
}

function takeVerbatimTag(cursor: Cursor): WrittenTag {
  cursor.position += 2;
  const suffix = takeUri(cursor, "");
  if (cursor.text[cursor.position] !== ">") cursor.fail("did not find the expected '>'");
  cursor.position++;
  return { handle: "", suffix };
}

function takeShortTag(cursor: Cursor): WrittenTag {
  const handle = takeHandle(cursor);
  if (isNamed(handle)) return { handle, suffix: takeUri(cursor, "") };
  const suffix = takeUri(cursor, handle);
  return suffix === "" ? { handle: "", suffix: "!" } : { handle: "!", suffix };
}

/** Whether a handle is `!!` or `!name!`. */
function isNamed(handle: string): boolean {
  return handle.length > 1 && handle.endsWith("!");
}

function takeHandle(cursor: Cursor): string {
  if (cursor.code !== EXCLAMATION_MARK) cursor.fail("did not find expected '!'");
  cursor.position++;
  const word = cursor.takeWord();
  if (cursor.code !== EXCLAMATION_MARK) return `!${word}`;
  cursor.position++;
  return `!${word}!`;
}

/** @param head read as a handle before; the URI begins after its exclamation mark. */
function takeUri(cursor: Cursor, head: string): string {
  let uri = head.slice(1);
  const from = cursor.position;
  for (;;) {
    uri += cursor.takeWord();
    if (cursor.code === PERCENT) uri += takeUriEscapes(cursor);
    else if (cursor.code !== 0 && OTHER_URI_CHARACTERS.includes(String.fromCharCode(cursor.code)))
      uri += cursor.text[cursor.position++] ?? "";
    else break;
  }
  if (head === "" && cursor.position === from) cursor.fail("did not find expected tag URI");
  return uri;
}

function takeUriEscapes(cursor: Cursor): string {
  ESCAPES.lastIndex = cursor.position;
  const escapes = ESCAPES.exec(cursor.text)?.[0] ?? cursor.fail("did not find URI escaped octet");
  try {
    const text = decodeURIComponent(escapes);
    cursor.position += escapes.length;
    return text;
  } catch {
    return cursor.fail("found an incorrect UTF-8 octet");
  }
}

/** Reads a directive from its percent sign on, with the line break. @throws YAMLException for a directive other than YAML and TAG. */
export function takeDirective(cursor: Cursor): Directive {
  cursor.position++;
  const name = cursor.takeWord();
  if (name === "") cursor.fail("could not find expected directive name");
  if (!isBlankOrEnd(cursor.code)) cursor.fail("found unexpected non-alphabetical character");
  if (name !== "YAML" && name !== "TAG") cursor.fail("found unknown directive name");
  cursor.skipBlanks();
  const directive = name === "YAML" ? takeVersion(cursor) : takeTagDirective(cursor);
  cursor.skipRestOfLine();
  return directive;
}

function takeVersion(cursor: Cursor): Directive {
  const major = takeVersionNumber(cursor);
  if (cursor.code !== DOT) cursor.fail("did not find expected digit or '.' character");
  cursor.position++;
  return { kind: "version", version: `${major}.${takeVersionNumber(cursor)}` };
}

function takeVersionNumber(cursor: Cursor): number {
  const digits = /^\d*/.exec(cursor.text.slice(cursor.position, cursor.position + 3))?.[0] ?? "";
  if (digits === "") cursor.fail("did not find expected version number");
  if (digits.length > 2) cursor.fail("found extremely long version number");
  cursor.position += digits.length;
  return Number(digits);
}

function takeTagDirective(cursor: Cursor): Directive {
  const handle = takeHandle(cursor);
  if (handle !== "!" && !isNamed(handle)) cursor.fail("did not find expected '!'");
  if (!isBlank(cursor.code)) cursor.fail("did not find expected whitespace");
  cursor.skipBlanks();
  const prefix = takeUri(cursor, "");
  if (!isBlankOrEnd(cursor.code)) cursor.fail("did not find expected whitespace or line break");
  return { kind: "tag", handle, prefix };
}
