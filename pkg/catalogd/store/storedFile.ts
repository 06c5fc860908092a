import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import * as z from "zod";
import { messageOf } from "../../errors/errors.ts";

/** A stored file is not what was written. */
export class DamagedError extends Error {
  override readonly name = "DamagedError";
}

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

/** What a sealed file holds: a small value as JSON, and columns of numbers or bytes. */
export interface Sealed {
  value: unknown;
  columns: Uint8Array<ArrayBuffer>[];
}

const MAX_HEAD_BYTES = 64 * 1024 * 1024;
const CRC_BYTES = 4;
const WORD_BYTES = 4;
const Head = z.object({ columns: z.array(z.int().min(0)), value: z.unknown() });

/**
 * Writes a file that is read whole or not at all: the length of a JSON head, the head, the columns, and a CRC-32 of everything before it.
 * @param columns as this machine has them in memory.
 */
export async function writeSealed(path: string, value: unknown, columns: readonly NodeJS.TypedArray[]): Promise<void> {
  const pieces = columns.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
  const head = Buffer.from(JSON.stringify({ columns: pieces.map(({ length }) => length), value }));
  const length = Buffer.alloc(WORD_BYTES);
  length.writeUInt32LE(head.length);
  const handle = await open(path, "w", 0o600);
  try {
    let crc = 0;
    for (const piece of [length, head, ...pieces]) {
      crc = crc32(piece, crc);
      await handle.writeFile(piece);
    }
    const end = Buffer.alloc(CRC_BYTES);
    end.writeUInt32LE(crc);
    await handle.writeFile(end);
  } finally {
    await handle.close();
  }
}

/** Reads what `writeSealed` wrote. @throws DamagedError when the file is not what was written; Error when it cannot be read. */
export async function readSealed(path: string): Promise<Sealed> {
  const handle = await open(path);
  try {
    return await read(handle);
  } finally {
    await handle.close();
  }
}

async function read(handle: FileHandle): Promise<Sealed> {
  const { size } = await handle.stat();
  let crc = 0;
  let position = 0;
  const next = async (bytes: number): Promise<Buffer<ArrayBuffer>> => {
    if (position + bytes > size) throw new DamagedError("the file is shorter than it says");
    const piece = Buffer.from(new ArrayBuffer(bytes));
    for (let at = 0; at < bytes; ) {
      const { bytesRead } = await handle.read(piece, at, bytes - at, position + at);
      if (bytesRead === 0) throw new DamagedError("the file got shorter while it was read");
      at += bytesRead;
    }
    position += bytes;
    return piece;
  };
  const checked = async (bytes: number): Promise<Buffer<ArrayBuffer>> => {
    const piece = await next(bytes);
    crc = crc32(piece, crc);
    return piece;
  };
  const headBytes = (await checked(WORD_BYTES)).readUInt32LE();
  if (headBytes > MAX_HEAD_BYTES) throw new DamagedError("the file says that it has a head beyond all measure");
  const head = headOf((await checked(headBytes)).toString());
  const columns: Uint8Array<ArrayBuffer>[] = [];
  for (const bytes of head.columns) columns.push(new Uint8Array((await checked(bytes)).buffer));
  if ((await next(CRC_BYTES)).readUInt32LE() !== crc || position !== size)
    throw new DamagedError("the file has another checksum than it was written with");
  return { value: head.value, columns };
}

function headOf(text: string): z.output<typeof Head> {
  try {
    return Head.parse(JSON.parse(text));
  } catch (err) {
    throw new DamagedError("the file has a head that cannot be read", { cause: err });
  }
}
