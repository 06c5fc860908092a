import { countValues } from "../../bundle/yamlDocument.ts";
import { packageOf } from "../../fbc/content.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { excerpt } from "../../fbc/boundedTexts.ts";
import type { Meta } from "../../fbc/types.ts";
import { slimOffer } from "../../resolve/dependencies/offerIndex.ts";
import { slim } from "../slimMeta.ts";

/** How much is accepted of a response of a catalog. */
export interface ReadLimits {
  /** One object of it, which is parsed whole. */
  readonly objectBytes: number;
  readonly objectValues: number;
  /** What resolution reads of a package, as JSON. */
  readonly keptBytes: number;
  /** Maps, lists and scalars of what resolution reads of a package. */
  readonly keptValues: number;
}

/** One response of a catalog, and what is read of it. */
export interface ReadTask {
  /** Path of the request; errors name it. */
  readonly path: string;
  /** Objects of one package for resolution, or bundles of all packages for the dependency solver. */
  readonly wanted: { readonly kind: "package"; readonly name: string } | { readonly kind: "offers" };
  readonly limits: ReadLimits;
}

/** Reads the objects of one response piece by piece, and returns of each only what resolution reads. */
export class ResponseReader {
  readonly #wanted: ReadTask["wanted"];
  readonly #limits: ReadLimits;
  readonly #decoder: MetaDecoder;
  #bytes = 0;
  #values = 0;

  constructor({ path, wanted, limits }: ReadTask) {
    this.#wanted = wanted;
    this.#limits = limits;
    this.#decoder = new MetaDecoder(path, { maxDocumentBytes: limits.objectBytes, maxValues: limits.objectValues });
  }

  /**
   * Returns the objects that end in `chunk`.
   * @throws ContentError for content that cannot be read. @throws Error that names the limit and the object at which it was exceeded.
   */
  push(chunk: Uint8Array): Meta[] {
    return [...this.#kept(this.#decoder.push(chunk))];
  }

  /** Returns the objects that end with the response. @throws as `push`. */
  end(): Meta[] {
    return [...this.#kept(this.#decoder.end())];
  }

  *#kept(metas: Iterable<Meta>): Generator<Meta> {
    for (const meta of metas) {
      if (this.#wanted.kind === "offers") yield slimOffer(meta);
      else if (packageOf(meta) === this.#wanted.name) yield this.#count(slim(meta));
    }
  }

  #count(meta: Meta): Meta {
    const { keptBytes, keptValues } = this.#limits;
    this.#bytes += JSON.stringify(meta.blob).length;
    this.#values = countValues(meta.blob, this.#values, keptValues);
    if (this.#bytes > keptBytes) throw tooLarge(`${keptBytes} bytes`, meta);
    if (this.#values > keptValues) throw tooLarge(`${keptValues} values`, meta);
    return meta;
  }
}

function tooLarge(limit: string, { schema, name }: Meta): Error {
  return new Error(`the package holds more than the ${limit} allowed for resolution, reached at ${excerpt(`${schema} ${name}`)}`);
}
