import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { messageOf } from "../../errors/errors.ts";
import { DamagedError } from "./damagedError.ts";

const CHECK_BYTES = 512 * 1024;

/** A file that stays readable while it is held, even when it has been replaced or deleted. */
export class HeldFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly #damaged: (err: DamagedError) => void;

  /** @param damaged is told when the file cannot be read as it was written. */
  constructor(handle: FileHandle, bytes: number, damaged: (err: DamagedError) => void) {
    this.handle = handle;
    this.bytes = bytes;
    this.#damaged = damaged;
  }

  /**
   * Reads up to `length` bytes at `position`, at least one.
   * @returns how many.
   * @throws DamagedError when there are none or they cannot be read; Error when the file has been closed.
   */
  async read(buffer: Uint8Array, at: number, length: number, position: number): Promise<number> {
    try {
      const { bytesRead } = await this.handle.read(buffer, at, length, position);
      if (bytesRead > 0) return bytesRead;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "EBADF") throw err; // closed by us, which says nothing about the file
      throw this.damage(`the content cannot be read: ${messageOf(err)}`, err);
    }
    throw this.damage("the content file is shorter than its index says");
  }

  /** Tells whom it may concern that the file is not what was written. @returns the error to throw. */
  damage(message: string, cause?: unknown): DamagedError {
    const err = new DamagedError(message, { cause });
    this.#damaged(err);
    return err;
  }

  close(): void {
    void this.handle.close().catch(() => undefined);
  }
}

/**
 * Reads a file whole, a piece at a time.
 * @throws DamagedError when it has another size or CRC-32; Error when it cannot be read.
 */
export async function checkFile(handle: FileHandle, want: { bytes: number; crc32: number }, signal?: AbortSignal): Promise<void> {
  const { size } = await handle.stat();
  if (size !== want.bytes) throw new DamagedError(`the file has ${size} bytes instead of ${want.bytes}`);
  const buffer = Buffer.allocUnsafeSlow(CHECK_BYTES);
  let crc = 0;
  for (let position = 0; position < size; ) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHECK_BYTES, position);
    if (bytesRead === 0) throw new DamagedError("the file got shorter while it was read");
    crc = crc32(buffer.subarray(0, bytesRead), crc);
    position += bytesRead;
  }
  if (crc !== want.crc32) throw new DamagedError("the file has another checksum than it was written with");
}
