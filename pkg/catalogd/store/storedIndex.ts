import type { IndexColumns } from "./contentIndex.ts";
import { DamagedError } from "./damagedError.ts";

/** How many columns an index has on disk. */
export const STORED_COLUMNS = 8;

/** An index's columns as they are on disk; the strings are two, their lengths in bytes and their bytes. */
export function storedFrom(columns: Readonly<IndexColumns>): NodeJS.TypedArray[] {
  const { strings, lengths, schemas, packages, names, hashes, checksums } = columns;
  const sizes = Uint32Array.from(strings, (text) => Buffer.byteLength(text));
  const texts = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const text of strings) at += texts.write(text, at);
  return [lengths, schemas, packages, names, hashes, checksums, sizes, texts];
}

/** The columns of what `storedFrom` made. @throws DamagedError when it is something else. */
export function columnsFrom(stored: readonly Uint8Array<ArrayBuffer>[]): IndexColumns {
  const [lengths, schemas, packages, names, hashes, checksums, sizes, texts] = stored;
  if (!lengths || !schemas || !packages || !names || !hashes || !checksums || !sizes || !texts)
    throw new DamagedError("the index lacks columns");
  return {
    strings: stringsFrom(words(sizes), Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength)),
    lengths: words(lengths),
    schemas: words(schemas),
    packages: words(packages),
    names: words(names),
    hashes,
    checksums: words(checksums),
  };
}

/** The numbers of a column of 32-bit numbers. */
export function words(column: Uint8Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return new Uint32Array(column.buffer, column.byteOffset, column.byteLength / Uint32Array.BYTES_PER_ELEMENT);
}

function stringsFrom(sizes: Uint32Array, texts: Buffer): string[] {
  let at = 0;
  return Array.from(sizes, (size) => texts.toString("utf8", at, (at += size)));
}
