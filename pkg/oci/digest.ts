import { createHash, type Hash } from "node:crypto";

/** A fresh hash for the algorithm of a valid digest. */
function hashFor(digest: string): Hash {
  return createHash(digest.slice(0, digest.indexOf(":")));
}

/** The digest of `bytes` with the algorithm of `like` (sha256 when absent). */
export function digestOf(bytes: Uint8Array | string, like = "sha256:"): string {
  const algorithm = like.slice(0, like.indexOf(":"));
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** Collects a body that may have at most `limit` bytes. @throws Error when it is longer */
export async function readBounded(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw new Error(`exceeded maximum allowed size of ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/**
 * Checks content against its descriptor as it comes in, in any number of pieces and over any number of connections. Until `finish` has
 * returned, the bytes are not to be trusted.
 */
export class Verifier {
  readonly #digest: string;
  readonly #size: number;
  #hash;
  #received = 0;

  constructor(want: { readonly digest: string; readonly size: number }) {
    this.#digest = want.digest;
    this.#size = want.size;
    this.#hash = hashFor(want.digest);
  }

  /** Bytes taken in so far. */
  get received(): number {
    return this.#received;
  }

  /** Takes in the next bytes. @throws Error as soon as there is one byte too many */
  update(chunk: Uint8Array): void {
    this.#received += chunk.byteLength;
    if (this.#received > this.#size) throw new Error(`${this.#digest} has more than the ${this.#size} bytes its descriptor states`);
    this.#hash.update(chunk);
  }

  /** Begins again from the first byte. */
  reset(): void {
    this.#hash = hashFor(this.#digest);
    this.#received = 0;
  }

  /** @throws Error when bytes are missing, or are other bytes */
  finish(): void {
    if (this.#received !== this.#size) throw new Error(`${this.#digest} ended after ${this.#received} of ${this.#size} bytes`);
    const got = `${this.#digest.slice(0, this.#digest.indexOf(":"))}:${this.#hash.digest("hex")}`;
    if (got !== this.#digest) throw new Error(`Digest did not match, expected ${this.#digest}, got ${got}`);
  }
}
