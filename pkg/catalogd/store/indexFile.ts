import { join } from "node:path";
import * as z from "zod";
import { ARTIFACTS, type ArtifactName, type ContentOrigin, FindingsSummary } from "./content.ts";
import { ContentIndex, type IndexColumns } from "./contentIndex.ts";
import { DamagedError, readSealed, writeSealed } from "./storedFile.ts";

/** Number of columns of an index on disk. */
const STORED_COLUMNS = 8;

/**
 * Converts the columns of an index to their form on disk. The strings become two columns: lengths
 * in bytes, and bytes.
 */
export function toStoredColumns(columns: Readonly<IndexColumns>): NodeJS.TypedArray[] {
  const { strings, lengths, schemas, packages, names, hashes, checksums } = columns;
  const sizes = Uint32Array.from(strings, (text) => Buffer.byteLength(text));
  const texts = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const text of strings) at += texts.write(text, at);
  return [lengths, schemas, packages, names, hashes, checksums, sizes, texts];
}

/** Converts the output of `toStoredColumns` back to columns. @throws DamagedError if it is invalid. */
export function readColumns(stored: readonly Uint8Array<ArrayBuffer>[]): IndexColumns {
  const [lengths, schemas, packages, names, hashes, checksums, sizes, texts] = stored;
  if (!lengths || !schemas || !packages || !names || !hashes || !checksums || !sizes || !texts)
    throw new DamagedError("the index has missing columns");
  return {
    strings: decodeStrings(viewAsWords(sizes), Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength)),
    lengths: viewAsWords(lengths),
    schemas: viewAsWords(schemas),
    packages: viewAsWords(packages),
    names: viewAsWords(names),
    hashes,
    checksums: viewAsWords(checksums),
  };
}

/** Returns the values of a 32-bit column. */
export function viewAsWords(column: Uint8Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return new Uint32Array(column.buffer, column.byteOffset, column.byteLength / Uint32Array.BYTES_PER_ELEMENT);
}

function decodeStrings(sizes: Uint32Array, texts: Buffer): string[] {
  let at = 0;
  return Array.from(sizes, (size) => texts.toString("utf8", at, (at += size)));
}

/** Name of the file that describes the content in its folder. */
export const INDEX_FILE = "index";
/** Increment the format if content that an older version of this program stored must be read again. */
const FORMAT = 4;

const Value = z.object({
  format: z.literal(FORMAT),
  ref: z.string(),
  digest: z.string(),
  lastUnpacked: z.string(),
  lastModified: z.int(),
  findings: FindingsSummary,
  artifacts: z.array(z.enum(ARTIFACTS)),
});

/** Description of a content: everything except its lines. */
export interface ContentDescription {
  readonly origin: ContentOrigin;
  /** Whole seconds since the epoch. */
  readonly lastModified: number;
  readonly indexes: ReadonlyMap<ArtifactName, ContentIndex>;
  readonly findings: FindingsSummary;
}

/** Writes the index file of the content in a folder. */
export async function writeIndex(dir: string, { origin, lastModified, indexes, findings }: ContentDescription): Promise<void> {
  const value: z.input<typeof Value> = { format: FORMAT, ...origin, lastModified, findings, artifacts: [...indexes.keys()] };
  const columns = [...indexes.values()].flatMap((index) => toStoredColumns(index.columns));
  await writeSealed(join(dir, INDEX_FILE), value, columns);
}

/**
 * Reads the index file of the content in a folder. @throws DamagedError if it is damaged or has
 * another format; Error if it is missing.
 */
export async function readIndex(dir: string): Promise<ContentDescription> {
  const { value, columns } = await readSealed(join(dir, INDEX_FILE));
  const parsed = Value.safeParse(value);
  if (!parsed.success) throw new DamagedError("the index was written by another version of this program", { cause: parsed.error });
  const { ref, digest, lastUnpacked, lastModified, findings, artifacts } = parsed.data;
  const indexes = artifacts.map((artifact, i) => {
    const own = columns.slice(i * STORED_COLUMNS, (i + 1) * STORED_COLUMNS);
    return [artifact, new ContentIndex(readColumns(own))] as const;
  });
  return { origin: { ref, digest, lastUnpacked }, lastModified, findings, indexes: new Map(indexes) };
}
