import { createHash, type Hash } from "node:crypto";

/** Creates a hash with the algorithm in `digest`, which must be valid. */
function hashFor(digest: string): Hash {
  return createHash(digest.slice(0, digest.indexOf(":")));
}

/** Returns the digest of `bytes` with the algorithm of `like` (default: sha256). */
export function computeDigest(bytes: Uint8Array | string, like = "sha256:"): string {
  const algorithm = like.slice(0, like.indexOf(":"));
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** Reads a body of at most `limit` bytes. @throws Error if it is longer */
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
 * Verifies content against its descriptor while it arrives, in any number of chunks and over any
 * number of connections. Do not trust the bytes before `finish` has returned.
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

  /** Number of bytes received so far. */
  get received(): number {
    return this.#received;
  }

  /** Adds the next bytes. @throws Error as soon as there is one byte too many */
  update(chunk: Uint8Array): void {
    this.#received += chunk.byteLength;
    if (this.#received > this.#size) throw new Error(`${this.#digest} is larger than the ${this.#size} bytes in its descriptor`);
    this.#hash.update(chunk);
  }

  /** Restarts at the first byte. */
  reset(): void {
    this.#hash = hashFor(this.#digest);
    this.#received = 0;
  }

  /** @throws Error if bytes are missing or do not match the digest */
  finish(): void {
    if (this.#received !== this.#size) throw new Error(`${this.#digest} is truncated: received ${this.#received} of ${this.#size} bytes`);
    const got = `${this.#digest.slice(0, this.#digest.indexOf(":"))}:${this.#hash.digest("hex")}`;
    if (got !== this.#digest) throw new Error(`Digest did not match, expected ${this.#digest}, got ${got}`);
  }
}
