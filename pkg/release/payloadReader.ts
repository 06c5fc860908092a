import { isObject } from "../api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { countSeparators } from "../bundle/limits.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { parseExactJson } from "../golang/json.ts";
import { jsonFaultIn } from "../golang/jsonSyntax.ts";
import { GoStructReader } from "./goStructReader.ts";
import { ManifestLines } from "./manifestLines.ts";
import { PAYLOAD_LIMITS } from "./payloadLimits.ts";
import type { ReleaseRecord } from "./record.ts";
import { releaseHead } from "./releaseHead.ts";
import { RELEASE_SHAPE } from "./releaseShape.ts";

/** The payload is not that of a release. The message names the member; it quotes no value, since a release may hold Secrets. */
export class PayloadFault extends Error {}

/** Where a payload comes from. */
export interface PayloadSource {
  /** The bundle's labels if the payload has none. */
  readonly labels: Readonly<Record<string, string>>;
  /** The index; its key is for messages. */
  readonly index: { readonly key: string };
}

/**
 * Reads a payload that comes in pieces, as Go's decoder reads it: what `payloadPieces` or the Go operator-controller wrote. It keeps the objects and
 * one line of the manifest at a time, never the payload.
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

  /** Reads the next bytes; they must not change afterwards. `end` throws the first fault. */
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
   * Returns the release when all bytes were added.
   * @throws PayloadFault for a payload that cannot be decoded; Error for one with more separators than `PAYLOAD_LIMITS` allow.
   */
  end(): ReleaseRecord {
    const { labels, index } = this.#source;
    const { separators } = PAYLOAD_LIMITS;
    if (this.#separators > separators)
      throw new Error(`${decodeFailure(index.key)}: it holds more than the ${separators} lines, list items and members allowed`);
    const head = releaseHead(this.#decoded(), labels);
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

/** The beginning of each error about a payload that cannot be decoded. */
export function decodeFailure(secret: string): string {
  return `failed to decode release from index secret ${goQuote(secret)}`;
}

function decodeFault(err: unknown): PayloadFault {
  return new PayloadFault(`failed to decode release: ${messageOf(err)}`, { cause: err });
}

/** Reads the object of a line. @param i its index among the lines. @throws PayloadFault */
function objectFrom(line: string, i: number): KubeObject {
  const object = parse(line, `failed to decode object ${i + 1} of the release's manifest`);
  if (!isKubeObject(object)) throw new PayloadFault(`object ${i + 1} of the release's manifest names no apiVersion, kind or name`);
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
    throw new PayloadFault(`${doing}: ${faultIn(json)}`, { cause: err });
  }
  if (!isObject(value)) throw new PayloadFault(`${doing}: not a JSON object`);
  return value;
}

/** Describes the fault of JSON; the engine would quote it, and a release may hold Secrets. */
function faultIn(json: string): string {
  const fault = jsonFaultIn(json);
  return fault ? `line ${fault.line}, column ${fault.column}: ${fault.reason}` : "no JSON";
}
