import { type FileHandle, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { canonicalJson } from "../../../pkg/golang/json.ts";
import { packageOf } from "../../../pkg/fbc/content.ts";
import { decodeMetas } from "../../../pkg/fbc/decode.ts";
import { CatalogFacts } from "../../../pkg/fbc/summary/packageFacts.ts";
import { type HeadSummary, packageSummary } from "../../../pkg/fbc/summary/packageSummary.ts";
import { type SearchRecord, searchRecord } from "../../../pkg/fbc/summary/search.ts";
import type { Meta } from "../../../pkg/fbc/types.ts";

/** What a list of packages tells of one. */
export interface PackageEntry {
  readonly name: string;
  readonly record: SearchRecord;
  /** The version that the package is presented by. */
  readonly head?: HeadSummary | undefined;
}

/** Where the metas of a package lie: offset and length in bytes. */
type Range = [number, number];

interface Line extends PackageEntry {
  readonly ranges: readonly Range[];
}

const INDEX = "index.jsonl";
const METAS = "metas.jsonl";
const FLUSH_BYTES = 1024 * 1024;
/** Of the first line; another format is written anew. */
const Head = z.object({ format: z.literal(1), bytes: z.number() });
const NO_HASH = Buffer.alloc(0);

/** A catalog in a folder of our own: a line for each package, and its metas where they can be found at once. */
export class CatalogBook {
  readonly #lines: readonly string[];
  readonly #metas: FileHandle;

  private constructor(lines: readonly string[], metas: FileHandle) {
    this.#lines = lines;
    this.#metas = metas;
  }

  /** Writes the book of these metas, which are read once and not kept, into an empty folder. @returns its size in bytes. */
  static async write(folder: string, metas: AsyncIterable<Meta>): Promise<number> {
    const facts = new CatalogFacts();
    const ranges = new Map<string, Range[]>();
    const file = await open(join(folder, METAS), "wx", 0o600);
    let position = 0;
    let waiting: string[] = [];
    let waitingBytes = 0;
    const flush = async (): Promise<void> => {
      await file.appendFile(waiting.join(""));
      [waiting, waitingBytes] = [[], 0];
    };
    try {
      for await (const meta of metas) {
        facts.add(meta, NO_HASH);
        const line = `${canonicalJson(meta.blob)}\n`;
        const bytes = Buffer.byteLength(line);
        noteRange(ranges, packageOf(meta), position, bytes);
        position += bytes;
        waitingBytes += bytes;
        waiting.push(line);
        if (waitingBytes >= FLUSH_BYTES) await flush();
      }
      await flush();
    } finally {
      await file.close();
    }
    const lines = facts.packages.map((one): Line => {
      return { name: one.name, record: searchRecord(one), head: packageSummary(one).head, ranges: ranges.get(one.name) ?? [] };
    });
    const index = [{ format: 1, bytes: position } satisfies z.input<typeof Head>, ...lines]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    await writeFile(join(folder, INDEX), index, { mode: 0o600, flag: "wx" });
    return position + Buffer.byteLength(index);
  }

  /** @throws Error where there is none in the folder, or one that was not written to its end. */
  static async open(folder: string): Promise<CatalogBook> {
    const [head = "", ...lines] = (await readFile(join(folder, INDEX), "utf8")).split("\n");
    const { bytes } = Head.parse(JSON.parse(head));
    const metas = await open(join(folder, METAS), "r");
    try {
      if (lines.at(-1) !== "" || (await metas.stat()).size !== bytes) throw new Error("the cached catalog is not complete");
      return new CatalogBook(lines.slice(0, -1), metas);
    } catch (err) {
      await metas.close();
      throw err;
    }
  }

  /** All packages, by name. */
  packages(): PackageEntry[] {
    return this.#lines.map((line) => JSON.parse(line) as Line);
  }

  /** Names of all packages, in order. */
  names(): string[] {
    return this.#lines.map((line) => JSON.parse(/^\{"name":("(?:[^"\\]|\\.)*")/.exec(line)?.[1] ?? '""') as string);
  }

  /** The metas of a package in the catalog's order; none where there is no such package. */
  async metasOf(name: string): Promise<Meta[]> {
    const start = `{"name":${JSON.stringify(name)},`;
    const line = this.#lines.find((one) => one.startsWith(start));
    if (line === undefined) return [];
    const metas: Meta[] = [];
    for (const [offset, length] of (JSON.parse(line) as Line).ranges) {
      const bytes = Buffer.alloc(length);
      await this.#metas.read(bytes, 0, length, offset);
      for await (const meta of decodeMetas([bytes], METAS)) metas.push(meta);
    }
    return metas;
  }

  close(): Promise<void> {
    return this.#metas.close();
  }
}

/** Metas of a package mostly stand together: then they are one range. */
function noteRange(ranges: Map<string, Range[]>, name: string, position: number, bytes: number): void {
  const known = ranges.get(name);
  const last = known?.at(-1);
  if (!known) ranges.set(name, [[position, bytes]]);
  else if (last && last[0] + last[1] === position) last[1] += bytes;
  else known.push([position, bytes]);
}
