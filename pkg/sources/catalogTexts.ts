import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findCatalogFiles } from "../catalogd/load/catalogFiles.ts";
import { type CatalogFileSource, checkCatalogFolder } from "../catalogd/load/checkCatalog.ts";
import { CONTENT_LIMITS } from "../catalogd/load/loader.ts";
import { goQuote } from "../golang/quote.ts";

/** The texts of a catalog's files, with their locations on disk. */
export class CatalogTexts {
  readonly root: string;
  readonly files = new Map<string, string>();
  readonly #locations = new Map<string, string>();

  private constructor(root: string) {
    this.root = root;
  }

  /** @throws Error if `root` is not a folder, or a file cannot be read (with its location) */
  static async read(root: string): Promise<CatalogTexts> {
    if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${goQuote(root)} is not a directory`);
    const { faults } = await checkCatalogFolder(root);
    const [fault] = faults;
    if (fault) throw new Error(`cannot read the catalog (no changes were made): ${fault.message}`);
    const texts = new CatalogTexts(root);
    for (const { path, location } of findCatalogFiles(root, CONTENT_LIMITS)) {
      texts.files.set(path, readFileSync(location, "utf8"));
      texts.#locations.set(path, location);
    }
    return texts;
  }

  /**
   * Writes files, and removes files whose text is undefined. Writes all new texts to temporary files first and then renames them.
   * @throws Error of `check` or of the file system; if writing a temporary file fails, existing files are unchanged
   */
  write(files: ReadonlyMap<string, string | undefined>): void {
    this.check(files);
    const drafts: { draft: string; target: string }[] = [];
    try {
      for (const [path, text] of files) {
        if (text === undefined) continue;
        const target = this.#locationOf(path);
        mkdirSync(dirname(target), { recursive: true });
        const draft = join(dirname(target), `.${randomUUID()}.olmv1`);
        drafts.push({ draft, target });
        const mode = statSync(target, { throwIfNoEntry: false })?.mode;
        writeFileSync(draft, text, { flush: true, ...(mode === undefined ? {} : { mode }) });
      }
      for (const { draft, target } of drafts) renameSync(draft, target);
    } catch (err) {
      for (const { draft } of drafts) rmSync(draft, { force: true });
      throw err;
    }
    for (const [path, text] of files) if (text === undefined) rmSync(this.#locationOf(path), { force: true });
  }

  /** Checks that the files replace only files that were read. @throws Error as `requireAbsent` */
  check(files: ReadonlyMap<string, string | undefined>): void {
    requireAbsent(
      this.root,
      [...files.keys()].filter((path) => !this.#locations.has(path)),
    );
  }

  /** Writes files with the same folder structure to another folder. */
  copyTo(target: string, files: ReadonlyMap<string, string>): void {
    new CatalogTexts(target).write(files);
  }

  #locationOf(path: string): string {
    return this.#locations.get(path) ?? join(this.root, ...path.split("/"));
  }
}

/**
 * Checks that a catalog does not already contain new files. A file that exists, but is not part of the catalog, is excluded by `.indexignore`.
 * @param paths of the new files, relative to `root`
 * @throws Error with the first existing file
 */
export function requireAbsent(root: string, paths: Iterable<string>): void {
  for (const path of paths) {
    const existing = lstatSync(join(root, ...path.split("/")), { throwIfNoEntry: false });
    if (!existing || existing.isDirectory()) continue;
    throw new Error(`${path} exists, but .indexignore excludes it. Move it, or change .indexignore; no changes were made`);
  }
}

/** Yields texts as catalog files, to check a catalog before it is written. */
export async function* listTextSources(files: ReadonlyMap<string, string>): AsyncGenerator<CatalogFileSource> {
  for (const [path, text] of files) yield await Promise.resolve({ path, bytes: countBytes(text) });
}

async function* countBytes(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}
