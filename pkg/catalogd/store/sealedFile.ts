import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import * as z from "zod";
import { DamagedError } from "./damagedError.ts";

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
