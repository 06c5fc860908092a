import { constants, createReadStream } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Descriptor } from "../manifest.ts";
import { Verifier } from "../verify.ts";
import type { BlobBytes } from "./imageStore.ts";
import { undefinedIfMissing } from "./layoutFile.ts";

/**
 * A blob on its way to disk. What is there of it when the program ends stays, and the next one goes on behind it. Two at once do no harm: each writes the
 * same bytes to the same places.
 */
export class PartFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Writes what is missing of the blob, to disk and not to its cache alone.
   * @throws Error of the source; of other content than the descriptor states, and then nothing of it stays
   */
  async fill(blob: Descriptor, bytes: BlobBytes, signal: AbortSignal): Promise<void> {
    const held = (await stat(this.path).catch(undefinedIfMissing))?.size ?? 0;
    if (held > 0 && held <= blob.size && (await this.#fillFrom(held, blob, bytes, signal)) === undefined) return;
    if (held > 0) await rm(this.path, { force: true });
    const wrong = await this.#fillFrom(0, blob, bytes, signal);
    if (wrong === undefined) return;
    await rm(this.path, { force: true });
    throw wrong;
  }

  /** @returns what is wrong with the whole content */
  async #fillFrom(start: number, blob: Descriptor, bytes: BlobBytes, signal: AbortSignal): Promise<Error | undefined> {
    const verifier = new Verifier(blob);
    let wrong: Error | undefined;
    const check = (work: () => void): void => {
      try {
        work();
      } catch (err) {
        wrong = err as Error;
        throw err;
      }
    };
    const checked = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of bytes(start)) {
        check(() => verifier.update(chunk));
        yield chunk;
      }
    };
    try {
      if (start > 0) for await (const chunk of createReadStream(this.path, { end: start - 1, signal })) verifier.update(chunk as Buffer);
      if (start === 0 || start < blob.size) await this.#write(Readable.from(checked(), { objectMode: false }), start, signal);
      check(() => verifier.finish());
      return undefined;
    } catch (err) {
      if (wrong) return wrong;
      throw err;
    }
  }

  async #write(content: Readable, start: number, signal: AbortSignal): Promise<void> {
    // Not emptied when it is opened: another program may be writing the same.
    const file = await open(this.path, constants.O_RDWR | constants.O_CREAT);
    await pipeline(content, file.createWriteStream({ start, flush: true }), { signal });
  }
}
