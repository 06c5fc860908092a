import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { countSeparators } from "../../bundle/limits.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { parseExactJson } from "../../golang/json.ts";
import type { StringSink } from "../../golang/jsonScanner.ts";
import { findJsonSyntaxFault } from "../../golang/jsonSyntax.ts";
import { isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { GoStructReader, parseToken } from "../../golang/structReader.ts";
import type { ReleaseRecord } from "../record.ts";
import { PAYLOAD_LIMITS } from "./encode.ts";
import { RELEASE_SHAPE, readReleaseHead } from "./payloadShape.ts";

const [BACKSLASH, LOWER_N, LOWER_U] = [0x5c, 0x6e, 0x75];
const ESCAPED_NEWLINE = "\\u000a";

/** Splits a string that arrives in pieces into lines. */
export class ManifestLines implements StringSink {
  readonly #take: (line: string) => void;
  /** The beginning of the current line. */
  #pieces: Uint8Array[] = [];

  /** @param take called for each non-blank line, in order */
  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  add(piece: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < piece.byteLength; ) {
      if (piece[at] !== BACKSLASH) {
        at++;
        continue;
      }
      const length = piece[at + 1] === LOWER_U ? ESCAPED_NEWLINE.length : 2;
      if (piece[at + 1] === LOWER_N || (length > 2 && isEscapedNewline(piece.subarray(at, at + length)))) {
        this.#pieces.push(piece.subarray(from, at));
        this.#endLine();
        from = at + length;
      }
      at += length;
    }
    if (from < piece.byteLength) this.#pieces.push(piece.subarray(from));
  }

  end(): void {
    this.#endLine();
  }

  #endLine(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    const line = String(parseToken(`"${Buffer.concat(pieces).toString("utf8")}"`));
    if (line.trim() !== "") this.#take(line);
  }
}

function isEscapedNewline(escape: Uint8Array): boolean {
  return Buffer.from(escape).toString("latin1").toLowerCase() === ESCAPED_NEWLINE;
}

/** Thrown if a payload is not a release. The message contains the path of the member but no value, because a release may contain Secrets. */
class PayloadFault extends Error {}

/** The origin of a payload. */
export interface PayloadSource {
  /** The bundle's labels if the payload has none. */
  readonly labels: Readonly<Record<string, string>>;
  /** The index. Messages contain its key. */
  readonly index: { readonly key: string };
}

/**
 * Reads a payload in pieces, with the rules of Go's decoder. Accepts payloads of this and of the Go operator-controller. Keeps only the objects and
 * one line of the manifest in memory, never the whole payload.
 */
export class PayloadReader {
  readonly #source: PayloadSource;
  readonly #struct: GoStructReader;
  #separators = 0;
  #fault: Error | undefined;
  #objects: KubeObject[] = [];
  #objectFault: Error | undefined;

  constructor(source: PayloadSource) {
    this.#source = source;
    this.#struct = new GoStructReader(RELEASE_SHAPE, PAYLOAD_LIMITS.values, () => {
      this.#objects = [];
      this.#objectFault = undefined;
      return new ManifestLines((line) => this.#addObject(line));
    });
  }

  /** Reads the next bytes, which must not change afterwards. Errors are thrown later, by `end`. */
  add(bytes: Uint8Array): void {
    if (this.#separators > PAYLOAD_LIMITS.separators) return;
    this.#separators += countSeparators(bytes);
    if (this.#fault) return;
    try {
      this.#struct.add(bytes);
    } catch (err) {
      this.#fault = decodeFault(err);
    }
  }

  /**
   * Returns the release after all bytes were added.
   * @throws PayloadFault if the payload cannot be decoded; Error if it has more separators than `PAYLOAD_LIMITS` allow
   */
  end(): ReleaseRecord {
    const { labels, index } = this.#source;
    const { separators } = PAYLOAD_LIMITS;
    if (this.#separators > separators)
      throw new Error(`${formatDecodeFailure(index.key)}: it contains more than the ${separators} lines, list items and members allowed`);
    const head = readReleaseHead(this.#decoded(), labels);
    if (this.#objectFault) throw this.#objectFault;
    return { ...head, objects: this.#objects };
  }

  #decoded(): ReturnType<GoStructReader["end"]> {
    if (this.#fault) throw this.#fault;
    try {
      return this.#struct.end();
    } catch (err) {
      throw decodeFault(err);
    }
  }

  #addObject(line: string): void {
    if (this.#objectFault) return;
    try {
      this.#objects.push(objectFrom(line, this.#objects.length));
    } catch (err) {
      if (!(err instanceof PayloadFault)) throw err;
      this.#objectFault = err;
    }
  }
}

/** Returns the prefix of each error about a payload that cannot be decoded. */
export function formatDecodeFailure(secret: string): string {
  return `failed to decode release from index secret ${goQuote(secret)}`;
}

function decodeFault(err: unknown): PayloadFault {
  return new PayloadFault(`failed to decode release: ${getErrorMessage(err)}`, { cause: err });
}

/** Parses the object of a line. @param i index of the line @throws PayloadFault */
function objectFrom(line: string, i: number): KubeObject {
  const object = parse(line, `failed to decode object ${i + 1} of the release's manifest`);
  if (!isKubeObject(object)) throw new PayloadFault(`object ${i + 1} of the release's manifest has no apiVersion, kind or name`);
  return object;
}

function isKubeObject(object: JsonObject): object is KubeObject {
  const metadata = isObject(object["metadata"]) ? object["metadata"] : {};
  return typeof object["apiVersion"] === "string" && typeof object["kind"] === "string" && typeof metadata["name"] === "string";
}

function parse(json: string, doing: string): JsonObject {
  let value: unknown;
  try {
    value = parseExactJson(json);
  } catch (err) {
    throw new PayloadFault(`${doing}: ${findJsonFault(json)}`, { cause: err });
  }
  if (!isObject(value)) throw new PayloadFault(`${doing}: not a JSON object`);
  return value;
}

/** Describes a JSON error. The engine's message would quote the text, which may contain Secrets. */
function findJsonFault(json: string): string {
  const fault = findJsonSyntaxFault(json);
  return fault ? `line ${fault.line}, column ${fault.column}: ${fault.reason}` : "not JSON";
}
