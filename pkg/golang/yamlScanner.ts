import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  Cursor,
  DASH,
  DOT,
  DOUBLE_QUOTE,
  getCodeAt,
  HASH,
  isBlank,
  isBlankOrEnd,
  isBreak,
  OPEN_BRACE,
  OPEN_BRACKET,
  PERCENT,
  QUESTION_MARK,
  SINGLE_QUOTE,
} from "./yamlCursor.ts";
import { takeBlock, takePlain, takeQuoted } from "./yamlScalars.ts";

/** A tag in YAML source text: `!!str` has handle `!!` and suffix `str`, a complete tag in `!<…>` has an empty handle. */
interface WrittenTag {
  readonly handle: string;
  readonly suffix: string;
}

/** A line such as `%YAML 1.1` or `%TAG ! tag:example.com:`. */
type Directive =
  | { readonly kind: "version"; readonly version: string }
  | { readonly kind: "tag"; readonly handle: string; readonly prefix: string };

const EXCLAMATION_MARK = 0x21;
const OTHER_URI_CHARACTERS = ";/?:@&=+$,.!~*'()[]";
const ESCAPES = /(?:%[\da-fA-F]{2})+/y;

/** Reads a tag from its exclamation mark. @throws YAMLException */
function takeTag(cursor: Cursor): WrittenTag {
  const tag = getCodeAt(cursor.text, cursor.position + 1) === 0x3c ? takeVerbatimTag(cursor) : takeShortTag(cursor);
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

/** Reports whether a handle is `!!` or `!name!`. */
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

/** @param head text that was already read as a handle; the URI begins after its exclamation mark */
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

/** Reads a directive from its percent sign, with the line break. @throws YAMLException for a directive other than YAML and TAG */
function takeDirective(cursor: Cursor): Directive {
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

/** Token kinds without a value. */
export type MarkType =
  | "stream end"
  | "document start"
  | "document end"
  | "block sequence start"
  | "block mapping start"
  | "block end"
  | "["
  | "]"
  | "{"
  | "}"
  | "-"
  | ","
  | "?"
  | ":";

/** A token of a YAML text; `start` is the offset of its first character. "?" and ":" mark keys and values, even if `?` is not written. */
export type Token =
  | { readonly type: MarkType; readonly start: number }
  | { readonly type: "directive"; readonly start: number; readonly directive: Directive }
  | { readonly type: "tag"; readonly start: number; readonly tag: WrittenTag }
  | { readonly type: "anchor" | "alias"; readonly start: number; readonly name: string }
  | { readonly type: "scalar"; readonly start: number; readonly value: string; readonly isPlain: boolean };

/** A position at which a key without `?` may begin. There is one for each level of flow collections. */
interface SimpleKey {
  isPossible: boolean;
  isRequired: boolean;
  /** Number of the token that begins the key. */
  token: number;
  start: number;
  line: number;
  column: number;
}

/** libyaml's limit on the distance between the start of a key and its colon, in characters. */
const MAX_KEY_LENGTH = 1_024;

/**
 * Splits YAML into tokens as libyaml does, the original of Go's parsers: lines inside quotes and brackets may start at any column. Reads each
 * character once, when its token is requested.
 * @see https://github.com/yaml/go-yaml/blob/v2.4.3/scannerc.go
 */
export class Scanner {
  readonly #cursor: Cursor;
  readonly #maxDepth: number;
  #indent = -1;
  readonly #indents: number[] = [];
  #flowLevel = 0;
  #isKeyAllowed = true;
  readonly #keys: SimpleKey[] = [noKey(-1)];
  /** The flow level of each possible key, by the number of its first token. */
  readonly #levels = new Map<number, number>();
  #queue: Token[] = [];
  #head = 0;
  /** Number of returned tokens. */
  #taken = 0;
  #isAtEnd = false;

  /** @throws YAMLException for a character that YAML does not allow. */
  constructor(text: string, maxDepth: number) {
    this.#cursor = new Cursor(text);
    this.#maxDepth = maxDepth;
  }

  /** Returns the next token without moving past it. @throws YAMLException */
  peek(): Token {
    for (;;) {
      const token = this.#queue[this.#head];
      if (token && (this.#isAtEnd || !this.#mayNeedKey())) return token;
      this.#fetch();
    }
  }

  /** Returns the next token and moves past it. @throws YAMLException */
  take(): Token {
    const token = this.peek();
    this.#head++;
    this.#taken++;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    return token;
  }

  /** @throws YAMLException with `reason` and the position. */
  fail(reason: string, position?: number): never {
    return this.#cursor.fail(reason, position);
  }

  /** Reports whether a "?" may need to be inserted before the next token. */
  #mayNeedKey(): boolean {
    const level = this.#levels.get(this.#taken);
    const key = level === undefined ? undefined : this.#keys[level];
    return key !== undefined && this.#isStillPossible(key);
  }

  #fetch(): void {
    this.#skipToToken();
    const cursor = this.#cursor;
    const { code } = cursor;
    if (code === 0) return this.#addStreamEnd();
    this.#endBlocks(cursor.column);
    if (code === PERCENT && cursor.column === 0) return this.#addDirective();
    if (cursor.isAtDocumentIndicator) return this.#addDocumentIndicator();
    const isIndicator = isBlankOrEnd(getCodeAt(cursor.text, cursor.position + 1));
    switch (code) {
      case OPEN_BRACKET:
        return this.#startFlow("[");
      case OPEN_BRACE:
        return this.#startFlow("{");
      case CLOSE_BRACKET:
        return this.#endFlow("]");
      case CLOSE_BRACE:
        return this.#endFlow("}");
      case COMMA:
        return this.#addFlowEntry();
      case SINGLE_QUOTE:
      case DOUBLE_QUOTE:
        return this.#addQuoted();
    }
    if (code === DASH && isIndicator) return this.#addBlockEntry();
    if (code === QUESTION_MARK && (isIndicator || this.#flowLevel > 0)) return this.#addKey();
    if (code === COLON && (isIndicator || this.#flowLevel > 0)) return this.#addValue();
    this.#addOther(cursor.text[cursor.position] ?? "");
  }

  #addOther(char: string): void {
    const cursor = this.#cursor;
    const start = cursor.position;
    if (char === "*" || char === "&") {
      this.#allowKeyHere();
      this.#queue.push({ type: char === "*" ? "alias" : "anchor", start, name: this.#anchorName() });
    } else if (char === "!") {
      this.#allowKeyHere();
      this.#queue.push({ type: "tag", start, tag: takeTag(cursor) });
    } else if ((char === "|" || char === ">") && this.#flowLevel === 0) {
      this.#dropKey();
      this.#isKeyAllowed = true;
      this.#queue.push({ type: "scalar", start, value: takeBlock(cursor, this.#indent), isPlain: false });
    } else if ("|>#%@`\t".includes(char)) cursor.fail("found character that cannot start any token");
    else {
      this.#allowKeyHere();
      const { value, endsWithBreak } = takePlain(cursor, this.#indent, this.#flowLevel > 0);
      if (endsWithBreak) this.#isKeyAllowed = true;
      this.#queue.push({ type: "scalar", start, value, isPlain: true });
    }
  }

  #skipToToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      if (this.#flowLevel > 0 || !this.#isKeyAllowed) cursor.skipBlanks();
      else cursor.skipSpaces(Number.POSITIVE_INFINITY);
      if (cursor.code === HASH) cursor.takeLine();
      if (!isBreak(cursor.code)) return;
      cursor.takeBreak();
      if (this.#flowLevel === 0) this.#isKeyAllowed = true;
    }
  }

  #addQuoted(): void {
    this.#allowKeyHere();
    const start = this.#cursor.position;
    this.#queue.push({ type: "scalar", start, value: takeQuoted(this.#cursor), isPlain: false });
  }

  #anchorName(): string {
    const cursor = this.#cursor;
    cursor.position++;
    const name = cursor.takeWord();
    if (name === "" || !(isBlankOrEnd(cursor.code) || "?:,]}%@`".includes(String.fromCharCode(cursor.code))))
      cursor.fail("did not find expected alphabetic or numeric character");
    return name;
  }

  #addStreamEnd(): void {
    this.#endBlocks(-1);
    this.#dropKey();
    this.#isKeyAllowed = false;
    this.#isAtEnd = true;
    this.#queue.push({ type: "stream end", start: this.#cursor.position });
  }

  #addDirective(): void {
    this.#endBlocks(-1);
    this.#dropKey();
    this.#isKeyAllowed = false;
    const start = this.#cursor.position;
    this.#queue.push({ type: "directive", start, directive: takeDirective(this.#cursor) });
  }

  #addDocumentIndicator(): void {
    this.#endBlocks(-1);
    this.#dropKey();
    this.#isKeyAllowed = false;
    this.#addMark(this.#cursor.code === DASH ? "document start" : "document end", 3);
  }

  #startFlow(type: MarkType): void {
    this.#allowKeyHere();
    this.#flowLevel++;
    this.#keys.push(noKey(this.#nextNumber));
    this.#checkDepth();
    this.#isKeyAllowed = true;
    this.#addMark(type, 1);
  }

  #endFlow(type: MarkType): void {
    this.#dropKey();
    if (this.#flowLevel > 0) {
      this.#flowLevel--;
      // As in Go, which does not support a whole flow collection as a key here: such a key is always an error.
      const key = this.#keys.pop();
      if (key) this.#levels.delete(key.token);
    }
    this.#isKeyAllowed = false;
    this.#addMark(type, 1);
  }

  #addFlowEntry(): void {
    this.#dropKey();
    this.#isKeyAllowed = true;
    this.#addMark(",", 1);
  }

  #addBlockEntry(): void {
    if (this.#flowLevel === 0) {
      if (!this.#isKeyAllowed) this.fail("block sequence entries are not allowed in this context");
      this.#startBlock("block sequence start", this.#cursor.column, this.#cursor.position);
    }
    this.#dropKey();
    this.#isKeyAllowed = true;
    this.#addMark("-", 1);
  }

  #addKey(): void {
    if (this.#flowLevel === 0) {
      if (!this.#isKeyAllowed) this.fail("mapping keys are not allowed in this context");
      this.#startBlock("block mapping start", this.#cursor.column, this.#cursor.position);
    }
    this.#dropKey();
    this.#isKeyAllowed = this.#flowLevel === 0;
    this.#addMark("?", 1);
  }

  #addValue(): void {
    const key = this.#keyHere();
    if (this.#isStillPossible(key)) {
      this.#insert(key.token, { type: "?", start: key.start });
      this.#startBlock("block mapping start", key.column, key.start, key.token);
      this.#forget(key);
      this.#isKeyAllowed = false;
    } else {
      if (this.#flowLevel === 0) {
        if (!this.#isKeyAllowed) this.fail("mapping values are not allowed in this context");
        this.#startBlock("block mapping start", this.#cursor.column, this.#cursor.position);
      }
      this.#isKeyAllowed = this.#flowLevel === 0;
    }
    this.#addMark(":", 1);
  }

  #addMark(type: MarkType, length: number): void {
    this.#queue.push({ type, start: this.#cursor.position });
    this.#cursor.position += length;
  }

  #insert(number: number, token: Token): void {
    const ahead = number - this.#taken;
    if (ahead < 0) this.#queue.push(token);
    else this.#queue.splice(this.#head + ahead, 0, token);
  }

  /** Starts a block collection if `column` is right of the enclosing one. @param number number of its first token, if it is not the next one */
  #startBlock(type: MarkType, column: number, start: number, number?: number): void {
    if (this.#flowLevel > 0 || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    this.#checkDepth();
    if (number === undefined) this.#queue.push({ type, start });
    else this.#insert(number, { type, start });
  }

  /** Ends the block collections right of `column`. */
  #endBlocks(column: number): void {
    if (this.#flowLevel > 0) return;
    while (this.#indent > column) {
      this.#queue.push({ type: "block end", start: this.#cursor.position });
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  #checkDepth(): void {
    if (this.#indents.length + this.#flowLevel > this.#maxDepth) this.fail(`nested deeper than ${this.#maxDepth}`);
  }

  /** Allows the next token to begin a key, but not the token after it on the same level of flow collections. */
  #allowKeyHere(): void {
    if (this.#isKeyAllowed) {
      const cursor = this.#cursor;
      this.#dropKey();
      const key = this.#keyHere();
      key.isPossible = true;
      key.isRequired = this.#flowLevel === 0 && this.#indent === cursor.column;
      key.token = this.#nextNumber;
      key.start = cursor.position;
      key.line = cursor.line;
      key.column = cursor.column;
      this.#levels.set(key.token, this.#flowLevel);
    }
    this.#isKeyAllowed = false;
  }

  /** The number of the next added token. */
  get #nextNumber(): number {
    return this.#taken + this.#queue.length - this.#head;
  }

  #keyHere(): SimpleKey {
    return this.#keys[this.#flowLevel] ?? this.fail("found no level of flow collections");
  }

  /** @throws YAMLException if the block mapping requires the key */
  #dropKey(): void {
    const key = this.#keyHere();
    if (!key.isPossible) return;
    if (key.isRequired) this.fail("could not find expected ':'", key.start);
    this.#forget(key);
  }

  #forget(key: SimpleKey): void {
    key.isPossible = false;
    this.#levels.delete(key.token);
  }

  /** Reports whether a colon may still follow `key`. @throws YAMLException if it cannot but is required */
  #isStillPossible(key: SimpleKey): boolean {
    if (!key.isPossible) return false;
    if (key.line === this.#cursor.line && !this.#isTooLong(key)) return true;
    if (key.isRequired) this.fail("could not find expected ':'", key.start);
    this.#forget(key);
    return false;
  }

  #isTooLong({ start }: SimpleKey): boolean {
    const { text, position } = this.#cursor;
    const codes = position - start;
    if (codes <= MAX_KEY_LENGTH || codes > 2 * MAX_KEY_LENGTH) return codes > MAX_KEY_LENGTH;
    return Array.from(text.slice(start, position)).length > MAX_KEY_LENGTH;
  }
}

function noKey(token: number): SimpleKey {
  return { isPossible: false, isRequired: false, token, start: 0, line: 0, column: 0 };
}
