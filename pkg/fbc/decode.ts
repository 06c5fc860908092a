import { isUtf8 } from "node:buffer";
import { YAMLException } from "js-yaml";
import { messageOf } from "../errors/errors.ts";
import { withNumberTokens, withoutHalves } from "../golang/json.ts";
import { jsonFaultIn } from "../golang/jsonSyntax.ts";
import { parseFirstYamlDocument } from "../golang/yaml.ts";
import { excerpt } from "../text/truncate.ts";
import { metaFrom } from "./content.ts";
import { ByteQueue, JsonObjectScanner, MAX_DEPTH, MAX_VALUES, newlinesIn, type Scan, YamlSplitter } from "./documentScanner.ts";
import { ContentError, type ContentPlace, type PlacedMeta } from "./types.ts";

/** Limits of decoding. */
export interface DecodeOptions {
  /** A document of more bytes than this is refused; the largest real one has 1.3 MB. Default 64 MiB. */
  maxDocumentBytes?: number;
  /** A JSON object of more values than this is refused before it is parsed. Default 2,000,000. */
  maxValues?: number;
  /** A buffer to use, for callers that decode many streams one after another. */
  buffer?: ByteQueue;
  /** Is told of each document that holds nothing: comments, null, white space. */
  onEmpty?: (place: ContentPlace) => void;
}

/** So many bytes decide between JSON and YAML. */
const GUESS_BYTES = 4_096;
const DEFAULT_MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;
const JSON_START = /^[\t-\r \u0085\p{Z}]*\{/u;
/** White space as Go's unicode.IsSpace has it. */
const SPACE = /^[\t-\r \u0085\p{Z}]$/u;
const NULL = Buffer.from("null");
/** Go looks at so many bytes to find the next character. */
const STEP_BYTES = 4;
const EXPONENT = /\d[eE]\+?\d/;
/** From so many digits on a number without exponent exceeds float64. */
const MANY_DIGITS = 309;
const NEWLINE = 0x0a;
const UTF16 = "invalid UTF-8: this is UTF-16, as its first bytes say; save it as UTF-8";

/**
 * The metas in a stream of bytes: YAML documents, JSON objects one after another, or JSON Lines. One document at a time is in memory.
 * Documents that hold nothing (comments, null) are passed over. In JSON the number of property olm.maxOpenShiftVersion keeps its text, which
 * `canonicalJson` writes again; in YAML it is a number like others, as for Go.
 * @param file names the stream in errors.
 * @throws ContentError with file, document, line and reason; metas before the fault were yielded.
 */
export async function* decodeMetas(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  file: string,
  options: DecodeOptions = {},
): AsyncGenerator<PlacedMeta> {
  const decoder = new MetaDecoder(file, options);
  for await (const chunk of chunks) yield* decoder.push(chunk);
  yield* decoder.end();
}

/**
 * The decoder behind `decodeMetas` for callers that have bytes at hand: `push` them piece by piece, then `end`; take all that each call yields.
 * @see k8s.io/apimachinery v0.36.3 pkg/util/yaml/decoder.go, YAMLOrJSONDecoder
 */
export class MetaDecoder {
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #queue: ByteQueue;
  readonly #onEmpty: ((place: ContentPlace) => void) | undefined;
  readonly #maxValues: number;
  readonly #json: JsonObjectScanner;
  readonly #yaml = new YamlSplitter();
  /** "space": white space before YAML, after what is not JSON. */
  #format: "unknown" | "json" | "space" | "yaml" = "unknown";
  #document = 0;
  /** Lines consumed before the queue's first byte. */
  #lines = 0;
  /** Why the stream is not JSON after all; told when it is not YAML either. */
  #notJson: ContentError | undefined;

  constructor(file: string, options: DecodeOptions = {}) {
    this.#file = file;
    this.#maxBytes = options.maxDocumentBytes ?? DEFAULT_MAX_DOCUMENT_BYTES;
    this.#maxValues = options.maxValues ?? MAX_VALUES;
    this.#json = new JsonObjectScanner(this.#maxValues);
    this.#queue = options.buffer ?? new ByteQueue();
    this.#queue.clear();
    this.#onEmpty = options.onEmpty;
  }

  *push(chunk: Uint8Array): Generator<PlacedMeta> {
    this.#queue.append(chunk);
    if (this.#format === "unknown" && this.#queue.length < GUESS_BYTES) return;
    yield* this.#decode(false);
    this.#checkSize(this.#queue.length);
  }

  *end(): Generator<PlacedMeta> {
    yield* this.#decode(true);
  }

  *#decode(atEnd: boolean): Generator<PlacedMeta> {
    if (this.#format === "unknown") this.#format = JSON_START.test(this.#queue.bytes.toString("utf8", 0, GUESS_BYTES)) ? "json" : "yaml";
    if (this.#format === "json") yield* this.#decodeJson(atEnd);
    if (this.#format === "space") this.#skipSpace(atEnd);
    if (this.#format === "yaml") yield* this.#decodeYaml(atEnd);
  }

  *#decodeJson(atEnd: boolean): Generator<PlacedMeta> {
    for (;;) {
      const bytes = this.#queue.bytes;
      const scan = this.#json.scan(bytes);
      if (scan.kind === "object") {
        this.#checkSize(scan.end - scan.start);
        const text = bytes.toString("utf8", scan.start, scan.end);
        const value = this.#parseJson(text, scan);
        if (value === undefined) return;
        this.#consume(scan.end, scan.lines);
        yield this.#meta(value, this.#lines - scan.lines + scan.line + 1);
      } else if (scan.kind === "other") {
        if (this.#mayBeNull(bytes, scan.start)) {
          if (bytes.length < scan.start + NULL.length && !atEnd) return;
          if (bytes.length >= scan.start + NULL.length) {
            this.#empty(scan.line + 1);
            this.#consume(scan.start + NULL.length, scan.line);
            this.#json.reset();
            continue;
          }
        }
        const char = String.fromCodePoint(bytes.toString("utf8", scan.start, scan.start + 4).codePointAt(0) ?? 0);
        this.#giveUpJson(scan, { line: 1, reason: `expected an object, found ${JSON.stringify(char)}` });
        return;
      } else if (scan.kind === "deep") {
        throw this.#error(this.#document + 1, scan.line + 1, `nested deeper than ${MAX_DEPTH}`);
      } else if (scan.kind === "many") {
        throw this.#error(this.#document + 1, scan.line + 1, `more than ${this.#maxValues} values in one object`);
      } else if (!atEnd) {
        return;
      } else if (scan.kind === "partial") {
        const text = bytes.toString("utf8", scan.start);
        this.#giveUpJson(scan, jsonFaultIn(text) ?? { line: 1, reason: "unexpected end" });
        return;
      } else {
        this.#consume(bytes.length, scan.line);
        return;
      }
    }
  }

  #mayBeNull(bytes: Buffer, start: number): boolean {
    const length = Math.min(NULL.length, bytes.length - start);
    return bytes.compare(NULL, 0, length, start, start + length) === 0;
  }

  /** Notes a document that holds nothing, on a line counted from the queue's first. */
  #empty(line: number): void {
    this.#document++;
    this.#onEmpty?.({ file: this.#file, document: this.#document, line: this.#lines + line });
  }

  #parseJson(written: string, scan: Scan): unknown {
    const text = withoutHalves(written);
    try {
      const value: unknown = JSON.parse(text);
      if (mayOverflow(text) && hasInfinity(value)) throw new RangeError("a number that is no float64");
      return withNumberTokens(value, text);
    } catch (err) {
      this.#giveUpJson(scan, jsonFaultIn(text) ?? { line: 1, reason: messageOf(err) });
      return undefined;
    }
  }

  /** After at most one object the rest is tried as YAML, since `{a: b}` and `{"a": 1}\n---` are YAML; later it is a fault. */
  #giveUpJson(scan: Scan, fault: { line: number; reason: string }): void {
    const error = this.#error(this.#document + 1, scan.line + fault.line, fault.reason);
    if (this.#document > 1) throw error;
    this.#notJson = error;
    this.#format = "space";
  }

  /** Passes white space up to the first newline, with it. Like Go's decoder, it needs four bytes at each step, or what follows is not YAML. */
  #skipSpace(atEnd: boolean): void {
    const bytes = this.#queue.bytes;
    let end = 0;
    for (;;) {
      if (bytes.length - end < STEP_BYTES) {
        this.#consume(end, 0);
        if (atEnd && this.#notJson) throw this.#notJson;
        return;
      }
      const char = String.fromCodePoint(bytes.toString("utf8", end, end + STEP_BYTES).codePointAt(0) ?? 0);
      if (!SPACE.test(char)) break;
      end += Buffer.byteLength(char);
      if (char === "\n") break;
    }
    this.#consume(end, end > 0 && bytes[end - 1] === NEWLINE ? 1 : 0);
    this.#format = "yaml";
  }

  *#decodeYaml(atEnd: boolean): Generator<PlacedMeta> {
    for (;;) {
      const bytes = this.#queue.bytes;
      const split = this.#yaml.next(bytes, atEnd);
      if (!split) return;
      if (split.kind === "separator")
        throw this.#error(this.#document + 1, newlinesIn(bytes, split.start) + 1, `invalid Yaml document separator: ${split.rest}`);
      this.#checkSize(split.end);
      if (!isUtf8(bytes.subarray(0, split.end))) throw this.#error(this.#document + 1, 1, isUtf16(bytes) ? UTF16 : "invalid UTF-8");
      const text = bytes.toString("utf8", 0, split.end);
      const first = this.#lines + 1;
      this.#consume(split.next, newlinesIn(bytes, split.next));
      const value = this.#parseYaml(text, first);
      if (value !== null) yield this.#meta(value, first);
      this.#notJson = undefined;
    }
  }

  #parseYaml(text: string, first: number): unknown {
    try {
      // Go's reader ends every line with a newline, the last one too.
      const value = parseFirstYamlDocument(text.endsWith("\n") ? text : `${text}\n`, { maxInteger: 0n });
      if (value === null) this.#empty(first - this.#lines);
      return value;
    } catch (err) {
      if (this.#notJson) throw this.#notJson;
      const mark = err instanceof YAMLException ? err.mark?.line : undefined;
      const reason = excerpt(err instanceof YAMLException ? err.reason : messageOf(err));
      const place = { file: this.#file, document: this.#document + 1, line: first + (mark ?? 0) };
      throw new ContentError(place, reason, { cause: err });
    }
  }

  #meta(value: unknown, line: number): PlacedMeta {
    this.#document++;
    const place = { file: this.#file, document: this.#document, line };
    try {
      return { ...metaFrom(value), place };
    } catch (err) {
      throw this.#notJson ?? new ContentError(place, excerpt(messageOf(err)), { cause: err });
    }
  }

  #checkSize(bytes: number): void {
    if (bytes > this.#maxBytes) throw this.#error(this.#document + 1, 1, `a document of more than ${this.#maxBytes} bytes`);
  }

  #consume(bytes: number, lines: number): void {
    this.#queue.consume(bytes);
    this.#lines += lines;
  }

  #error(document: number, line: number, reason: string): ContentError {
    return new ContentError({ file: this.#file, document, line: this.#lines + line }, reason);
  }
}

function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

/** Whether the JSON `text` may contain a number beyond float64, which a Go program refuses. Looks at each character at most twice. */
function mayOverflow(text: string): boolean {
  if (EXPONENT.test(text)) return true;
  for (let at = MANY_DIGITS - 1; at < text.length; at += MANY_DIGITS) {
    let length = 0;
    for (let left = at; isDigitAt(text, left) && length < MANY_DIGITS; left--) length++;
    for (let right = at + 1; length > 0 && isDigitAt(text, right) && length < MANY_DIGITS; right++) length++;
    if (length >= MANY_DIGITS) return true;
  }
  return false;
}

function isDigitAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

function hasInfinity(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasInfinity);
}
