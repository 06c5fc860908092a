import { join } from "node:path";
import * as z from "zod";
import type { ContentOrigin } from "./content.ts";
import { ContentIndex } from "./contentIndex.ts";
import { DamagedError } from "./damagedError.ts";
import { FindingsSummary } from "./findingsSummary.ts";
import { PARTS, type PartName } from "./parts.ts";
import { readSealed, writeSealed } from "./sealedFile.ts";
import { columnsFrom, STORED_COLUMNS, storedFrom } from "./storedIndex.ts";

/** Name of the file in the folder of a content that says what the content is. */
export const INDEX_FILE = "index";
/** Another number makes content that an older version of this program stored be read anew. */
const FORMAT = 4;

const Value = z.object({
  format: z.literal(FORMAT),
  ref: z.string(),
  digest: z.string(),
  lastUnpacked: z.string(),
  lastModified: z.int(),
  findings: FindingsSummary,
  parts: z.array(z.enum(PARTS)),
});

/** Everything about a content but its lines. */
export interface ContentDescription {
  readonly origin: ContentOrigin;
  /** Whole seconds since the epoch. */
  readonly lastModified: number;
  readonly indexes: ReadonlyMap<PartName, ContentIndex>;
  readonly findings: FindingsSummary;
}

/** Writes the index file of the content in a folder. */
export async function writeIndex(dir: string, { origin, lastModified, indexes, findings }: ContentDescription): Promise<void> {
  const value: z.input<typeof Value> = { format: FORMAT, ...origin, lastModified, findings, parts: [...indexes.keys()] };
  const columns = [...indexes.values()].flatMap((index) => storedFrom(index.columns));
  await writeSealed(join(dir, INDEX_FILE), value, columns);
}

/** Reads the index file of the content in a folder. @throws DamagedError when it is not what was written or is not ours; Error when it is missing. */
export async function readIndex(dir: string): Promise<ContentDescription> {
  const { value, columns } = await readSealed(join(dir, INDEX_FILE));
  const said = Value.safeParse(value);
  if (!said.success) throw new DamagedError("the index is of another version of this program", { cause: said.error });
  const { ref, digest, lastUnpacked, lastModified, findings, parts } = said.data;
  const indexes = parts.map((part, i) => {
    const own = columns.slice(i * STORED_COLUMNS, (i + 1) * STORED_COLUMNS);
    return [part, new ContentIndex(columnsFrom(own))] as const;
  });
  return { origin: { ref, digest, lastUnpacked }, lastModified, findings, indexes: new Map(indexes) };
}
