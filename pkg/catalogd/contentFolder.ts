import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CatalogContent, type ContentOrigin } from "./content.ts";
import { ContentIndex, type IndexColumns } from "./contentIndex.ts";
import { compressFile, ENCODINGS, type Encoding, FILE_SUFFIX } from "./encodings.ts";
import { CONTENT_FILE } from "./loadMessage.ts";
import { columnsFrom, StoredColumns, storedFrom } from "./storedIndex.ts";

const CURRENT = "current";
const INDEX_FILE = "index.json";
/** Another number makes content that an older version of this program stored be read anew. */
const FORMAT = 1;

const IndexFile = z.object({
  format: z.literal(FORMAT),
  ref: z.string(),
  digest: z.string(),
  lastUnpacked: z.string(),
  lastModified: z.int(),
  index: StoredColumns,
});

/**
 * The folder of one catalog: a folder for each stored content and a link `current` to the one that is served. A content folder is complete when
 * it has an index file, which is written last.
 */
export class ContentFolder {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The content that `current` leads to, or undefined when there is none. @throws Error when it is incomplete or not ours. */
  async open(): Promise<CatalogContent | undefined> {
    const version = await readlink(join(this.#dir, CURRENT)).catch(undefinedIfMissing);
    if (version === undefined) return undefined;
    if (version.includes("/") || version.startsWith(".")) throw new Error(`link ${CURRENT} leads to ${version}`);
    const {
      index: stored,
      lastModified,
      ref,
      digest,
      lastUnpacked,
    } = IndexFile.parse(JSON.parse(await readFile(join(this.#dir, version, INDEX_FILE), "utf8")));
    const content = await this.#content(version, { ref, digest, lastUnpacked }, columnsFrom(stored), lastModified);
    for (const encoding of ENCODINGS) await this.#addCompressed(version, content, encoding);
    return content;
  }

  /** An empty folder to fill; end with `publish` or `discard`. */
  async stage(): Promise<string> {
    const staging = join(this.#dir, `.staging-${randomBytes(6).toString("hex")}`);
    await mkdir(staging, { recursive: true, mode: 0o700 });
    return staging;
  }

  async discard(staging: string): Promise<void> {
    await rm(staging, { recursive: true, force: true });
  }

  /** Makes the staged content the current one, at once. */
  async publish(
    staging: string,
    origin: ContentOrigin,
    columns: IndexColumns,
    lastModified: number,
  ): Promise<{ version: string; content: CatalogContent }> {
    const version = `${origin.digest.replace(/[^\w]/g, "-").slice(0, 100)}.${randomBytes(4).toString("hex")}`;
    await rename(staging, join(this.#dir, version));
    const content = await this.#content(version, origin, columns, lastModified);
    const link = join(this.#dir, `.link-${randomBytes(6).toString("hex")}`);
    await symlink(version, link);
    await rename(link, join(this.#dir, CURRENT));
    return { version, content };
  }

  /** Puts the content safely on disk, so that the next start finds it, removes older ones, and makes its compressed forms. */
  async finish(version: string, content: CatalogContent, columns: IndexColumns, signal: AbortSignal): Promise<void> {
    const dir = join(this.#dir, version);
    await content.file.handle.datasync();
    const { origin, lastModified } = content;
    const text = JSON.stringify({ format: FORMAT, ...origin, lastModified, index: storedFrom(columns) } satisfies z.input<
      typeof IndexFile
    >);
    await writeFile(join(dir, `${INDEX_FILE}.tmp`), text, { mode: 0o600, flush: true });
    await rename(join(dir, `${INDEX_FILE}.tmp`), join(dir, INDEX_FILE));
    await this.#removeBut([CURRENT, version], (name) => !name.startsWith("."));
    await this.compress(version, content, signal);
  }

  /** Makes the compressed forms that a content does not have. */
  async compress(version: string, content: CatalogContent, signal: AbortSignal): Promise<void> {
    const path = join(this.#dir, version, CONTENT_FILE);
    for (const encoding of ENCODINGS.filter((one) => !content.compressed(one))) {
      const target = `${path}${FILE_SUFFIX[encoding]}`;
      await compressFile(encoding, path, `${target}.tmp`, signal);
      await rename(`${target}.tmp`, target);
      await this.#addCompressed(version, content, encoding);
    }
  }

  /** The folder that `current` leads to. */
  async currentVersion(): Promise<string | undefined> {
    return readlink(join(this.#dir, CURRENT)).catch(undefinedIfMissing);
  }

  /** Removes everything but the current content. Nothing may be staged meanwhile. */
  async sweep(): Promise<void> {
    await this.#removeBut([CURRENT, await this.currentVersion()], () => true);
  }

  /** Removes the folder. */
  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #removeBut(kept: readonly (string | undefined)[], which: (name: string) => boolean): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      if (!kept.includes(name) && which(name)) await rm(join(this.#dir, name), { recursive: true, force: true });
    }
  }

  async #addCompressed(version: string, content: CatalogContent, encoding: Encoding): Promise<void> {
    const handle = await open(join(this.#dir, version, `${CONTENT_FILE}${FILE_SUFFIX[encoding]}`)).catch(undefinedIfMissing);
    if (handle) await content.addCompressed(encoding, { handle, bytes: (await handle.stat()).size });
  }

  async #content(version: string, origin: ContentOrigin, columns: IndexColumns, lastModified: number): Promise<CatalogContent> {
    const path = join(this.#dir, version, CONTENT_FILE);
    const index = new ContentIndex(columns);
    const { size } = await stat(path);
    if (size !== index.bytes) throw new Error(`${path} has ${size} bytes, its index says ${index.bytes}`);
    return new CatalogContent(origin, index, lastModified, await open(path));
  }
}

function undefinedIfMissing(err: NodeJS.ErrnoException): undefined {
  if (err.code === "ENOENT") return undefined;
  throw err;
}
