import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as z from "zod";
import { getPackageName, Schema } from "../fbc/content.ts";
import { decodeMetas, MetaDecoder } from "../fbc/decode.ts";
import { CatalogData } from "../fbc/summary/packageData.ts";
import { type HeadSummary, summarizePackage } from "../fbc/summary/packageSummary.ts";
import { createSearchRecord, type SearchRecord } from "../fbc/summary/search.ts";
import type { Meta } from "../fbc/types.ts";
import { encodeCanonicalJson } from "../golang/json.ts";

/** An entry in a list of packages. */
export interface PackageEntry {
  readonly name: string;
  readonly record: SearchRecord;
  /** The head version of the package. */
  readonly head?: HeadSummary | undefined;
}

/** Location of a package's metas in the file: offset and length in bytes. */
type Range = [number, number];

interface Line extends PackageEntry {
  readonly ranges: readonly Range[];
}

const INDEX = "index.jsonl";
const METAS = "metas.jsonl";
const FLUSH_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
/** The first line of the index, with the format version. A cached catalog in another format is written again. */
const Head = z.object({ format: z.literal(2), bytes: z.number() });
const NO_HASH = Buffer.alloc(0);

/** A catalog in the cache: a line for each package, and direct access to its metas. */
export class CachedCatalog {
  readonly #lines: readonly string[];
  readonly #metas: FileHandle;
  #folder: string;

  private constructor(folder: string, lines: readonly string[], metas: FileHandle) {
    this.#folder = folder;
    this.#lines = lines;
    this.#metas = metas;
  }

  /** The file with all metas, which is a file-based catalog. It may be removed while the entry is open. */
  get file(): string {
    return join(this.#folder, METAS);
  }

  /** Approximate size in memory, in bytes. */
  get memoryBytes(): number {
    return this.#lines.reduce((sum, { length }) => sum + length, 0);
  }

  /** Records that the folder of the entry was renamed. */
  moveTo(folder: string): void {
    this.#folder = folder;
  }

  /** Streams these metas to a cache entry in an empty folder. @returns the size of the entry in bytes */
  static async write(folder: string, metas: AsyncIterable<Meta>): Promise<number> {
    const facts = new CatalogData();
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
        const line = `${encodeCanonicalJson(meta.blob)}\n`;
        const bytes = Buffer.byteLength(line);
        noteRange(ranges, getPackageName(meta), position, bytes);
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
      return { name: one.name, record: createSearchRecord(one), head: summarizePackage(one).head, ranges: ranges.get(one.name) ?? [] };
    });
    const index = [{ format: 2, bytes: position } satisfies z.input<typeof Head>, ...lines]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    await writeFile(join(folder, INDEX), index, { mode: 0o600, flag: "wx" });
    return position + Buffer.byteLength(index);
  }

  /** @throws Error if the folder contains no complete entry */
  static async open(folder: string): Promise<CachedCatalog> {
    const [head = "", ...lines] = (await readFile(join(folder, INDEX), "utf8")).split("\n");
    const { bytes } = Head.parse(JSON.parse(head));
    const metas = await open(join(folder, METAS), "r");
    try {
      if (lines.at(-1) !== "" || (await metas.stat()).size !== bytes) throw new Error("the cached catalog is incomplete");
      return new CachedCatalog(folder, lines.slice(0, -1), metas);
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

  /** Reads the metas of a package in catalog order; empty if the package does not exist. */
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

  /** Reads the olm.package object of a package without its other objects, where it is usually the first; undefined if it does not exist. */
  async packageMetaOf(name: string): Promise<Meta | undefined> {
    const start = `{"name":${JSON.stringify(name)},`;
    const line = this.#lines.find((one) => one.startsWith(start));
    if (line === undefined) return undefined;
    for (const [offset, length] of (JSON.parse(line) as Line).ranges) {
      const decoder = new MetaDecoder(METAS);
      for (let at = 0; at < length; at += PIECE_BYTES) {
        const bytes = Buffer.alloc(Math.min(PIECE_BYTES, length - at));
        await this.#metas.read(bytes, 0, bytes.length, offset + at);
        const found = decoder.push(bytes).find(({ schema }) => schema === Schema.package);
        if (found) return found;
      }
      const found = decoder.end().find(({ schema }) => schema === Schema.package);
      if (found) return found;
    }
    return undefined;
  }

  close(): Promise<void> {
    return this.#metas.close();
  }
}

/** Adds the location of a meta to the ranges of its package. Joins adjacent metas, which are usual, to one range. */
function noteRange(ranges: Map<string, Range[]>, name: string, position: number, bytes: number): void {
  const known = ranges.get(name);
  const last = known?.at(-1);
  if (!known) ranges.set(name, [[position, bytes]]);
  else if (last && last[0] + last[1] === position) last[1] += bytes;
  else known.push([position, bytes]);
}

/** Maximum total size of the cache. */
const MAX_BYTES = 2 * 1024 ** 3;
/** Age after which the incomplete files of a killed command are removed. */
const STALE_MS = 24 * 60 * 60_000;
/** Matches cache keys, which are derived from a digest and cannot be paths. */
const KEY = /^[a-z0-9]{1,32}-[0-9a-f]{32,128}$/;
const DRAFT = /^\.draft-/;

/** Returns the cache folder for catalogs; undefined if the environment does not define one. */
export function getCacheFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const named = env["XDG_CACHE_HOME"];
  if (named !== undefined && isAbsolute(named)) return join(named, "olmv1", "catalogs");
  const home = env["HOME"];
  return home !== undefined && isAbsolute(home) ? join(home, ".cache", "olmv1", "catalogs") : undefined;
}

/** Returns the cache key for a catalog image. @param digest such as `sha256:…` */
export function getImageKey(digest: string): string {
  return digest.replace(":", "-");
}

/** Returns the cache key for the files of a catalog. @param sha256 as hex */
export function getFilesKey(sha256: string): string {
  return `files-${sha256}`;
}

/** Caches catalogs between commands. Evicts the least recently used catalogs above a size limit. Safe for concurrent commands. */
export class CatalogCache {
  readonly #folder: string | undefined;
  readonly #maxBytes: number;
  readonly #temporary: string[] = [];

  /** @param folder cache folder; undefined disables the cache */
  constructor(folder: string | undefined, maxBytes: number = MAX_BYTES) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** Returns the entry for this key. If the entry does not exist or is damaged, creates it from `metas`. @throws errors of `metas` */
  async obtain(key: string, metas: () => AsyncIterable<Meta>): Promise<CachedCatalog> {
    if (!KEY.test(key)) throw new Error(`${JSON.stringify(key)} is not a catalog cache key`);
    const folder = this.#folder;
    return (folder === undefined ? undefined : await this.#kept(folder, key)) ?? this.#make(folder, key, metas());
  }

  /** Returns a temporary entry for this key, for `metas` that must be read also if the key is cached. @throws errors of `metas` */
  async fresh(key: string, metas: () => AsyncIterable<Meta>): Promise<CachedCatalog> {
    return this.#make(undefined, key, metas());
  }

  /** Returns the entry for this key if it is cached. */
  async kept(key: string): Promise<CachedCatalog | undefined> {
    return this.#folder === undefined || !KEY.test(key) ? undefined : this.#kept(this.#folder, key);
  }

  /** Removes temporary entries. Open entries remain readable. */
  async close(): Promise<void> {
    for (const folder of this.#temporary.splice(0)) await rm(folder, { recursive: true, force: true });
  }

  async #kept(folder: string, key: string): Promise<CachedCatalog | undefined> {
    const place = join(folder, key);
    if (!(await stat(place).catch(() => undefined))) return undefined;
    try {
      const book = await CachedCatalog.open(place);
      const now = new Date();
      await utimes(place, now, now).catch(() => undefined); // the folder may be read-only
      return book;
    } catch {
      await rm(place, { recursive: true, force: true });
      return undefined;
    }
  }

  async #make(folder: string | undefined, key: string, metas: AsyncIterable<Meta>): Promise<CachedCatalog> {
    const draft = folder === undefined ? undefined : await createDraft(folder);
    const place = draft ?? (await mkdtemp(join(tmpdir(), "olmv1-")));
    this.#temporary.push(place); // after a rename, the folder no longer exists at this path
    const bytes = await CachedCatalog.write(place, metas);
    const book = await CachedCatalog.open(place);
    if (folder !== undefined && draft !== undefined && bytes <= this.#maxBytes) {
      await rename(draft, join(folder, key)).then(
        () => book.moveTo(join(folder, key)),
        () => undefined, // another command has created the entry
      );
      await this.#trim(folder, key);
    }
    return book;
  }

  /** Removes the least recently used entries and incomplete files. */
  async #trim(folder: string, newest: string): Promise<void> {
    const found = await Promise.all((await readdir(folder)).map((name) => getSize(folder, name)));
    const entries = found.flatMap((one) => one ?? []).sort((a, b) => b.usedAt - a.usedAt);
    let bytes = 0;
    for (const { name, path, usedAt, size } of entries) {
      const isDraft = DRAFT.test(name);
      if (!isDraft && KEY.test(name)) bytes += size;
      const isOver = isDraft ? Date.now() - usedAt > STALE_MS : KEY.test(name) && bytes > this.#maxBytes && name !== newest;
      if (isOver) await rm(path, { recursive: true, force: true });
    }
  }
}

/** Creates a temporary folder in the cache folder; returns undefined if the cache folder is not writable. */
async function createDraft(folder: string): Promise<string | undefined> {
  const draft = join(folder, `.draft-${randomBytes(8).toString("hex")}`);
  try {
    await mkdir(draft, { recursive: true, mode: 0o700 });
    return draft;
  } catch {
    return undefined;
  }
}

interface CachedFolder {
  name: string;
  path: string;
  usedAt: number;
  size: number;
}

async function getSize(folder: string, name: string): Promise<CachedFolder | undefined> {
  const path = join(folder, name);
  try {
    const { mtimeMs } = await stat(path);
    const sizes = await Promise.all((await readdir(path)).map(async (file) => (await stat(join(path, file))).size));
    return { name, path, usedAt: mtimeMs, size: sizes.reduce((sum, size) => sum + size, 0) };
  } catch {
    return undefined; // another command removed it
  }
}
