import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import * as z from "zod";
import { getErrorMessage } from "../../errors/errors.ts";

/** A stored file does not match its checksum or format. */
export class DamagedError extends Error {
  override readonly name = "DamagedError";
}

const CHECK_BYTES = 512 * 1024;

/** An open file that stays readable while it is held, even after it was replaced or deleted on disk. */
export class HeldFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly #damaged: (err: DamagedError) => void;

  /** @param damaged called if the file cannot be read or is too short. */
  constructor(handle: FileHandle, bytes: number, damaged: (err: DamagedError) => void) {
    this.handle = handle;
    this.bytes = bytes;
    this.#damaged = damaged;
  }

  /**
   * Reads at least one and up to `length` bytes at `position`.
   * @returns the number of bytes.
   * @throws DamagedError if the file ends there or cannot be read; Error if the file has been
   * closed.
   */
  async read(buffer: Uint8Array, at: number, length: number, position: number): Promise<number> {
    try {
      const { bytesRead } = await this.handle.read(buffer, at, length, position);
      if (bytesRead > 0) return bytesRead;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "EBADF") throw err; // closed by this process, so the file is not damaged
      throw this.damage(`cannot read the content: ${getErrorMessage(err)}`, err);
    }
    throw this.damage("the content file is shorter than recorded in its index");
  }

  /** Reports that the file is damaged. @returns the error to throw. */
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
 * Reads a whole file in pieces and verifies it.
 * @throws DamagedError if the file has another size or CRC-32; Error if it cannot be read.
 */
export async function checkFile(handle: FileHandle, want: { bytes: number; crc32: number }, signal?: AbortSignal): Promise<void> {
  const { size } = await handle.stat();
  if (size !== want.bytes) throw new DamagedError(`unexpected file size: ${size} bytes instead of ${want.bytes}`);
  const buffer = Buffer.allocUnsafeSlow(CHECK_BYTES);
  let crc = 0;
  for (let position = 0; position < size; ) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHECK_BYTES, position);
    if (bytesRead === 0) throw new DamagedError("the file was truncated while it was read");
    crc = crc32(buffer.subarray(0, bytesRead), crc);
    position += bytesRead;
  }
  if (crc !== want.crc32) throw new DamagedError("the file does not match its stored checksum");
}

/** Contents of a sealed file: a small JSON value and columns of numbers or bytes. */
export interface Sealed {
  value: unknown;
  columns: Uint8Array<ArrayBuffer>[];
}

const MAX_HEAD_BYTES = 64 * 1024 * 1024;
const CRC_BYTES = 4;
const WORD_BYTES = 4;
const Head = z.object({ columns: z.array(z.int().min(0)), value: z.unknown() });

/**
 * Writes a file that is only read as a whole. It contains the length of a JSON header, the header,
 * the columns, and a CRC-32 of everything before.
 * @param columns in the byte order of this machine.
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

/** Reads a file written by `writeSealed`. @throws DamagedError if it is damaged; Error if it cannot be read. */
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
    if (position + bytes > size) throw new DamagedError("the file is shorter than recorded in its header");
    const piece = Buffer.from(new ArrayBuffer(bytes));
    for (let at = 0; at < bytes; ) {
      const { bytesRead } = await handle.read(piece, at, bytes - at, position + at);
      if (bytesRead === 0) throw new DamagedError("the file was truncated while it was read");
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
  if (headBytes > MAX_HEAD_BYTES) throw new DamagedError("the file header is too large");
  const head = parseHead((await checked(headBytes)).toString());
  const columns: Uint8Array<ArrayBuffer>[] = [];
  for (const bytes of head.columns) columns.push(new Uint8Array((await checked(bytes)).buffer));
  if ((await next(CRC_BYTES)).readUInt32LE() !== crc || position !== size)
    throw new DamagedError("the file does not match its stored checksum");
  return { value: head.value, columns };
}

function parseHead(text: string): z.output<typeof Head> {
  try {
    return Head.parse(JSON.parse(text));
  } catch (err) {
    throw new DamagedError("the file header is invalid", { cause: err });
  }
}
