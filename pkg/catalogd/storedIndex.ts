import { z } from "zod";
import { HASH_BYTES, type IndexColumns } from "./contentIndex.ts";

/** The form of an index on disk: one row a line, `[length, schema, package, name, hash]`. */
export const StoredColumns = z.object({
  strings: z.array(z.string()),
  lines: z.array(z.tuple([z.int().min(1), z.int().min(0), z.int().min(0), z.int().min(0), z.base64url().length(22)])),
});
export type StoredColumns = z.output<typeof StoredColumns>;

/** The form on disk. */
export function storedFrom(columns: IndexColumns): StoredColumns {
  const { strings, lengths, schemas, packages, names, hashes } = columns;
  const hash = (line: number): string =>
    Buffer.from(hashes.buffer, hashes.byteOffset + line * HASH_BYTES, HASH_BYTES).toString("base64url");
  const row = (line: number): StoredColumns["lines"][number] => [
    lengths[line] ?? 0,
    schemas[line] ?? 0,
    packages[line] ?? 0,
    names[line] ?? 0,
    hash(line),
  ];
  return { strings, lines: Array.from({ length: lengths.length }, (_, line) => row(line)) };
}

/** The columns of what `storedFrom` made. */
export function columnsFrom(stored: StoredColumns): IndexColumns {
  const { strings, lines } = stored;
  const hashes = new Uint8Array(lines.length * HASH_BYTES);
  lines.forEach(([, , , , hash], line) => hashes.set(Buffer.from(hash, "base64url"), line * HASH_BYTES));
  return {
    strings,
    lengths: Uint32Array.from(lines, (row) => row[0]),
    schemas: Uint32Array.from(lines, (row) => row[1]),
    packages: Uint32Array.from(lines, (row) => row[2]),
    names: Uint32Array.from(lines, (row) => row[3]),
    hashes,
  };
}
