import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Meta } from "../../../pkg/fbc/types.ts";
import { CatalogBook } from "./catalogBook.ts";

/** Of all books that are kept together. */
const MAX_BYTES = 2 * 1024 ** 3;
/** What a command that was killed left unfinished is removed after that. */
const STALE_MS = 24 * 60 * 60_000;
/** What a book is kept under is made from a digest, and can be no path. */
const KEY = /^[a-z0-9]{1,32}-[0-9a-f]{32,128}$/;
const DRAFT = /^\.draft-/;

/** The cache folder of catalogs, or undefined where the environment names none. */
export function shelfFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const named = env["XDG_CACHE_HOME"];
  if (named !== undefined && isAbsolute(named)) return join(named, "olmv1", "catalogs");
  const home = env["HOME"];
  return home !== undefined && isAbsolute(home) ? join(home, ".cache", "olmv1", "catalogs") : undefined;
}

/** The key of a catalog's image. @param digest such as `sha256:…`. */
export function imageKey(digest: string): string {
  return digest.replace(":", "-");
}

/** The key of a catalog's files. @param sha256 as hex. */
export function filesKey(sha256: string): string {
  return `files-${sha256}`;
}

/** Books of catalogs, kept between commands; those that were used last, within a bound. Several commands may use one at a time. */
export class BookShelf {
  readonly #folder: string | undefined;
  readonly #maxBytes: number;
  readonly #temporary: string[] = [];

  /** @param folder undefined where nothing is kept. */
  constructor(folder: string | undefined, maxBytes: number = MAX_BYTES) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** The book of this key, made from `metas` where it is not there, or cannot be read. @throws Error as `metas` does. */
  async obtain(key: string, metas: () => AsyncIterable<Meta>): Promise<CatalogBook> {
    if (!KEY.test(key)) throw new Error(`${JSON.stringify(key)} is no key of a catalog`);
    const folder = this.#folder;
    return (folder === undefined ? undefined : await this.#kept(folder, key)) ?? this.#make(folder, key, metas());
  }

  /** The book of this key where it is kept. */
  async kept(key: string): Promise<CatalogBook | undefined> {
    return this.#folder === undefined || !KEY.test(key) ? undefined : this.#kept(this.#folder, key);
  }

  /** Removes what is not kept. Books that are open can be read on. */
  async close(): Promise<void> {
    for (const folder of this.#temporary.splice(0)) await rm(folder, { recursive: true, force: true });
  }

  async #kept(folder: string, key: string): Promise<CatalogBook | undefined> {
    const place = join(folder, key);
    if (!(await stat(place).catch(() => undefined))) return undefined;
    try {
      const book = await CatalogBook.open(place);
      const now = new Date();
      await utimes(place, now, now).catch(() => undefined); // the folder may be read-only
      return book;
    } catch {
      await rm(place, { recursive: true, force: true });
      return undefined;
    }
  }

  async #make(folder: string | undefined, key: string, metas: AsyncIterable<Meta>): Promise<CatalogBook> {
    const draft = folder === undefined ? undefined : await draftIn(folder);
    const place = draft ?? (await mkdtemp(join(tmpdir(), "olmv1-")));
    this.#temporary.push(place); // what is renamed is not there any more
    const bytes = await CatalogBook.write(place, metas);
    const book = await CatalogBook.open(place);
    if (folder !== undefined && draft !== undefined && bytes <= this.#maxBytes) {
      await rename(draft, join(folder, key)).catch(() => undefined); // another command was quicker
      await this.#trim(folder, key);
    }
    return book;
  }

  /** Removes the books that were not used for longest, and what was left unfinished. */
  async #trim(folder: string, newest: string): Promise<void> {
    const found = await Promise.all((await readdir(folder)).map((name) => sizeOf(folder, name)));
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

/** A folder to write into, or undefined where the cache folder cannot be written to. */
async function draftIn(folder: string): Promise<string | undefined> {
  const draft = join(folder, `.draft-${randomBytes(8).toString("hex")}`);
  try {
    await mkdir(draft, { recursive: true, mode: 0o700 });
    return draft;
  } catch {
    return undefined;
  }
}

interface Kept {
  name: string;
  path: string;
  usedAt: number;
  size: number;
}

async function sizeOf(folder: string, name: string): Promise<Kept | undefined> {
  const path = join(folder, name);
  try {
    const { mtimeMs } = await stat(path);
    const sizes = await Promise.all((await readdir(path)).map(async (file) => (await stat(join(path, file))).size));
    return { name, path, usedAt: mtimeMs, size: sizes.reduce((sum, size) => sum + size, 0) };
  } catch {
    return undefined; // somebody else removed it
  }
}
