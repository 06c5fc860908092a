import { type FileHandle, open } from "node:fs/promises";

/** So much is written at once; what arrives meanwhile is collected for the next time. */
const WRITE_BYTES = 1024 * 1024;

/** A file that a blob is written to as it arrives: writing goes on while more is received, at most twice a MiB is held. */
export class BlobFile {
  readonly #file: FileHandle;
  #collected: Uint8Array[] = [];
  #bytes = 0;
  /** Where what is collected goes. */
  #position = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** A new file. @throws Error when there is one already. */
  static async create(path: string): Promise<BlobFile> {
    return new BlobFile(await open(path, "wx", 0o600));
  }

  /** Takes the next bytes; they must not change any more. @throws Error when bytes before them could not be written. */
  async write(chunk: Uint8Array): Promise<void> {
    this.#collected.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes >= WRITE_BYTES) await this.#writeOut();
  }

  /** Everything is in the file afterwards. @throws Error when it could not be written. */
  async flush(): Promise<void> {
    await this.#writeOut();
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined); // whoever wrote or flushed was told
    await this.#file.close();
  }

  async #writeOut(): Promise<void> {
    await this.#writing;
    const position = this.#position;
    const chunks = this.#collected.splice(0);
    this.#position += this.#bytes;
    this.#bytes = 0;
    this.#writing = writeAll(this.#file, chunks, position);
    this.#writing.catch(() => undefined); // told to the next who writes or flushes
  }
}

/** On a disk that is nearly full a write may end early. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks, position);
  let skip = bytesWritten;
  let at = position;
  for (const chunk of chunks) {
    for (let done = Math.min(skip, chunk.byteLength); done < chunk.byteLength; )
      done += (await file.write(chunk, done, chunk.byteLength - done, at + done)).bytesWritten;
    skip = Math.max(skip - chunk.byteLength, 0);
    at += chunk.byteLength;
  }
}
