import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

/** A file of a web page. */
export interface StaticAsset {
  readonly type: string;
  /** Whether the name contains a hash of the content, so that browsers may keep the file forever. */
  readonly isImmutable: boolean;
  /** Returns the content. @param gzip whether to return it compressed, if the build compressed it */
  read(gzip: boolean): Promise<{ readonly bytes: Buffer; readonly encoding?: "gzip" }>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};
const HASHED = /-[\w-]{8}\.\w+$/;
const COMPRESSED = ".gz";
const PAGES = "pages.json";

/** The built files of a web page, by path. A request selects a file by its known path, so that no part of a request becomes a path on disk. */
export class StaticAssets {
  /** The text of index.html. */
  readonly index: string;
  /** The text of pages.json, which is not a file of the page; undefined without it. */
  readonly pages: string | undefined;
  readonly #files = new Map<string, StaticAsset>();

  /** @throws Error if the folder has no index.html */
  constructor(folder: string) {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
    const all = new Set(names);
    for (const name of names) {
      const type = TYPES[extname(name)];
      if (type !== undefined && name !== PAGES) this.#files.set(name, createAsset(join(folder, name), type, all.has(name + COMPRESSED)));
    }
    this.index = readFileSync(join(folder, "index.html"), "utf8");
    this.pages = all.has(PAGES) ? readFileSync(join(folder, PAGES), "utf8") : undefined;
  }

  /** Finds a file by its path in the folder, such as `assets/index-0a1b2c3d.js`. */
  find(path: string): StaticAsset | undefined {
    return this.#files.get(path);
  }

  /** Lists the paths of all files. */
  paths(): string[] {
    return [...this.#files.keys()];
  }
}

function createAsset(file: string, type: string, isCompressed: boolean): StaticAsset {
  return {
    type,
    isImmutable: HASHED.test(file),
    read: async (gzip) =>
      gzip && isCompressed ? { bytes: await readFile(file + COMPRESSED), encoding: "gzip" } : { bytes: await readFile(file) },
  };
}
