import { isUtf8 } from "node:buffer";
import { YAMLException } from "js-yaml";
import { getErrorMessage } from "../errors/errors.ts";
import { keepNumberTokens, replaceLoneSurrogates } from "../golang/json.ts";
import { findJsonSyntaxFault } from "../golang/jsonSyntax.ts";
import { parseFirstYamlDocument } from "../golang/yaml.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { toMeta } from "./content.ts";
import { ByteQueue, countNewlines, JsonObjectScanner, MAX_DEPTH, MAX_VALUES, type Scan, YamlSplitter } from "./documentScanner.ts";
import { ContentError, type ContentPlace, type PlacedMeta } from "./types.ts";

/** Limits of decoding. */
export interface DecodeOptions {
  /** Maximum size of a document in bytes. The largest real document has 1.3 MB. Default: 64 MiB. */
  maxDocumentBytes?: number;
  /** Maximum values in a JSON object. Checked before the object is parsed. Default: 2,000,000. */
  maxValues?: number;
  /** A buffer to reuse for several consecutive streams. */
  buffer?: ByteQueue;
  /** Called for each empty document, which contains only comments, null or white space. */
  onEmpty?: (place: ContentPlace) => void;
}

/** Bytes that determine whether a stream is JSON or YAML. */
const GUESS_BYTES = 4_096;
const DEFAULT_MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;
const JSON_START = /^[\t-\r \u0085\p{Z}]*\{/u;
/** White space according to Go's unicode.IsSpace. */
const SPACE = /^[\t-\r \u0085\p{Z}]$/u;
const NULL = Buffer.from("null");
/** Bytes that Go reads to find the next character. */
const STEP_BYTES = 4;
const EXPONENT = /\d[eE]\+?\d/;
/** Number of digits of the smallest integer that exceeds float64. */
const MANY_DIGITS = 309;
const NEWLINE = 0x0a;
const UTF16 = "invalid UTF-8: the file begins with a UTF-16 byte order mark; save the file as UTF-8";

/**
 * Decodes a stream of YAML documents, concatenated JSON objects, or JSON Lines. Keeps one document at a time in memory. Skips empty documents.
 * In JSON, a number in property olm.maxOpenShiftVersion keeps its text for `encodeCanonicalJson`. In YAML, it is an ordinary number, like in Go.
 * @param file the name of the stream in errors.
 * @throws ContentError with file, document, line and reason, after yielding the metas before the error.
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
 * Implements `decodeMetas` for callers that push bytes. Call `push` for each chunk and then `end`, and consume all metas that each call yields.
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
  /** "space": the stream is not JSON, and the decoder skips white space before YAML. */
  #format: "unknown" | "json" | "space" | "yaml" = "unknown";
  #document = 0;
  /** Number of lines before the first byte of the queue. */
  #lines = 0;
  /** Error of the JSON decoder. Thrown if the stream is not YAML either. */
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
            this.#reportEmpty(scan.line + 1);
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
        throw this.#error(this.#document + 1, scan.line + 1, `object too large: more than ${this.#maxValues} values`);
      } else if (!atEnd) {
        return;
      } else if (scan.kind === "partial") {
        const text = bytes.toString("utf8", scan.start);
        this.#giveUpJson(scan, findJsonSyntaxFault(text) ?? { line: 1, reason: "unexpected end" });
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

  /** Reports an empty document. @param line counted from the first line of the queue. */
  #reportEmpty(line: number): void {
    this.#document++;
    this.#onEmpty?.({ file: this.#file, document: this.#document, line: this.#lines + line });
  }

  #parseJson(written: string, scan: Scan): unknown {
    const text = replaceLoneSurrogates(written);
    try {
      const value: unknown = JSON.parse(text);
      if (mayOverflow(text) && hasInfinity(value)) throw new RangeError("number out of range of float64");
      return keepNumberTokens(value, text);
    } catch (err) {
      this.#giveUpJson(scan, findJsonSyntaxFault(text) ?? { line: 1, reason: getErrorMessage(err) });
      return undefined;
    }
  }

  /** Falls back to YAML if at most one object was decoded, because `{a: b}` and `{"a": 1}\n---` are YAML. Otherwise, throws the error. */
  #giveUpJson(scan: Scan, fault: { line: number; reason: string }): void {
    const error = this.#error(this.#document + 1, scan.line + fault.line, fault.reason);
    if (this.#document > 1) throw error;
    this.#notJson = error;
    this.#format = "space";
  }

  /** Skips white space up to and including the first newline. Continues with YAML only after four more bytes at each step, like Go's decoder. */
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
        throw this.#error(this.#document + 1, countNewlines(bytes, split.start) + 1, `invalid Yaml document separator: ${split.rest}`);
      this.#checkSize(split.end);
      if (!isUtf8(bytes.subarray(0, split.end))) throw this.#error(this.#document + 1, 1, isUtf16(bytes) ? UTF16 : "invalid UTF-8");
      const text = bytes.toString("utf8", 0, split.end);
      const first = this.#lines + 1;
      this.#consume(split.next, countNewlines(bytes, split.next));
      const value = this.#parseYaml(text, first);
      if (value !== null) yield this.#meta(value, first);
      this.#notJson = undefined;
    }
  }

  #parseYaml(text: string, first: number): unknown {
    try {
      // Go's reader ends every line with a newline, including the last line.
      const value = parseFirstYamlDocument(text.endsWith("\n") ? text : `${text}\n`, { maxInteger: 0n });
      if (value === null) this.#reportEmpty(first - this.#lines);
      return value;
    } catch (err) {
      if (this.#notJson) throw this.#notJson;
      const mark = err instanceof YAMLException ? err.mark?.line : undefined;
      const reason = truncateExcerpt(err instanceof YAMLException ? err.reason : getErrorMessage(err));
      const place = { file: this.#file, document: this.#document + 1, line: first + (mark ?? 0) };
      throw new ContentError(place, reason, { cause: err });
    }
  }

  #meta(value: unknown, line: number): PlacedMeta {
    this.#document++;
    const place = { file: this.#file, document: this.#document, line };
    try {
      return { ...toMeta(value), place };
    } catch (err) {
      throw this.#notJson ?? new ContentError(place, truncateExcerpt(getErrorMessage(err)), { cause: err });
    }
  }

  #checkSize(bytes: number): void {
    if (bytes > this.#maxBytes) throw this.#error(this.#document + 1, 1, `document too large: more than ${this.#maxBytes} bytes`);
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

/** Reports whether a JSON text may contain a number that exceeds float64, which Go rejects. Reads each character at most twice. */
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
