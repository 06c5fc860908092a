import { randomBytes } from "node:crypto";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { CompressedForm } from "./compressedForm.ts";
import type { Compressor } from "./compressor.ts";
import { CatalogContent } from "./content.ts";
import type { ContentIndex } from "./contentIndex.ts";
import { DamagedError } from "./damagedError.ts";
import { ENCODINGS, type Encoding } from "./encodings.ts";
import { undefinedIfMissing } from "./fileErrors.ts";
import { checkFile } from "./heldFile.ts";
import { type ContentDescription, INDEX_FILE, readIndex, writeIndex } from "./indexFile.ts";
import { type PartName, partFile } from "./parts.ts";
import { StoredPart } from "./storedPart.ts";

const CURRENT = "current";

/**
 * The folder of one catalog: a folder for each stored content, its version, and a link `current` to the one that is served. A version is complete
 * when it has an index file, which is written last, and everything in it has the checksum that the index says.
 */
export class ContentFolder {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The versions that are there, the current one first. */
  async versions(): Promise<string[]> {
    const entries = await readdir(this.#dir, { withFileTypes: true });
    const versions = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== CURRENT)
      .map(({ name }) => name);
    const current = await this.#current();
    return versions.sort((a, b) => Number(b === current) - Number(a === current));
  }

  /** What a version's index says. @throws Error when it is incomplete, damaged or not ours. */
  describe(version: string): Promise<ContentDescription> {
    return readIndex(join(this.#dir, version));
  }

  /** Opens a version and reads all of it once. @throws Error when something of it is missing or damaged; compressed forms are then just not there. */
  async open(version: string, described: ContentDescription): Promise<CatalogContent> {
    const content = await this.#content(version, described);
    try {
      await checkParts(content);
      for (const [part, { index }] of content.parts) {
        for (const encoding of ENCODINGS) {
          const form = await this.#form(version, part, encoding, index).open();
          if (form) await content.addCompressed(part, encoding, form);
        }
      }
      return content;
    } catch (err) {
      content.retire();
      throw err;
    }
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

  /** Makes the staged content the current one, at once. What was current before stays on disk until `finish`. */
  async publish(staging: string, described: ContentDescription): Promise<{ version: string; content: CatalogContent }> {
    const version = `${described.origin.digest.replace(/[^\w]/g, "-").slice(0, 100)}.${randomBytes(4).toString("hex")}`;
    await writeIndex(staging, described);
    await rename(staging, join(this.#dir, version));
    let content: CatalogContent | undefined;
    try {
      content = await this.#content(version, described);
      await this.makeCurrent(version);
      return { version, content };
    } catch (err) {
      content?.retire();
      await this.drop(version);
      throw err;
    }
  }

  /** Points the link to a version, unless it does. */
  async makeCurrent(version: string): Promise<void> {
    if ((await this.#current()) === version) return;
    const link = join(this.#dir, `.link-${randomBytes(6).toString("hex")}`);
    await symlink(version, link);
    const current = join(this.#dir, CURRENT);
    if ((await lstat(current).catch(undefinedIfMissing))?.isDirectory()) await rm(current, { recursive: true });
    await rename(link, current);
  }

  /** Puts a version safely on disk, then removes all others, and makes the compressed forms that it does not have. */
  async finish(version: string, content: CatalogContent, compressor: Compressor, signal: AbortSignal): Promise<void> {
    for (const { file } of content.parts.values()) await file.handle.datasync();
    for (const path of [join(version, INDEX_FILE), version, "."]) await synced(join(this.#dir, path));
    const others = (await this.versions()).filter((other) => other !== version);
    for (const other of others) {
      signal.throwIfAborted();
      await this.drop(other);
    }
    for (const encoding of ENCODINGS.toReversed()) {
      for (const [part, stored] of content.parts) {
        if (stored.compressed(encoding)) continue;
        const form = this.#form(version, part, encoding, stored.index);
        await content.addCompressed(part, encoding, (await form.open()) ?? (await form.make(compressor, signal)));
      }
    }
  }

  /** Takes over the compressed forms of another version's parts that are equal. */
  async inherit(version: string, content: CatalogContent, from: { version: string; content: CatalogContent }): Promise<void> {
    for (const [part, { index }] of content.parts) {
      const before = from.content.parts.get(part);
      if (before?.index.tag !== index.tag) continue;
      for (const encoding of before.encodings)
        await this.#form(version, part, encoding, index).inherit(this.#form(from.version, part, encoding, index));
    }
  }

  /**
   * Reads a version's files once more. Compressed forms that are damaged are removed.
   * @returns whether all compressed forms are fine.
   * @throws DamagedError or another Error when the index or a part is damaged or gone.
   */
  async check(version: string, content: CatalogContent, signal: AbortSignal): Promise<boolean> {
    await this.describe(version);
    const again = await this.#content(version, content);
    await checkParts(again, signal).finally(() => again.retire());
    let isFine = true;
    for (const [part, stored] of content.parts) {
      for (const encoding of stored.encodings) {
        const form = await this.#form(version, part, encoding, stored.index).open();
        await form?.handle.close();
        if (form) continue;
        stored.withdrawCompressed(encoding);
        isFine = false;
      }
    }
    return isFine;
  }

  /** Removes a version; the index goes first, so that what is left of it, if anything, is incomplete. */
  async drop(version: string): Promise<void> {
    await rm(join(this.#dir, version, INDEX_FILE), { recursive: true, force: true });
    await rm(join(this.#dir, version), { recursive: true, force: true });
  }

  /** Removes what an earlier run began and did not end. Nothing may be staged meanwhile. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#dir))
      if (name.startsWith(".")) await rm(join(this.#dir, name), { recursive: true, force: true });
  }

  /** Removes the folder. */
  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Where `current` leads, whatever that is; undefined when it is no link. */
  async #current(): Promise<string | undefined> {
    return readlink(join(this.#dir, CURRENT)).catch(() => undefined);
  }

  #form(version: string, part: PartName, encoding: Encoding, index: ContentIndex): CompressedForm {
    return new CompressedForm(join(this.#dir, version), part, encoding, index);
  }

  async #content(version: string, { origin, indexes, lastModified, findings }: ContentDescription): Promise<CatalogContent> {
    const parts = new Map<PartName, StoredPart>();
    const handles: FileHandle[] = [];
    try {
      for (const [part, index] of indexes) {
        const handle = await open(join(this.#dir, version, partFile(part)));
        handles.push(handle);
        parts.set(part, new StoredPart(index, handle));
      }
      return new CatalogContent(origin, parts, lastModified, findings);
    } catch (err) {
      for (const handle of handles) await handle.close();
      throw err;
    }
  }
}

async function checkParts(content: CatalogContent, signal?: AbortSignal): Promise<void> {
  for (const [part, { file, index }] of content.parts) {
    try {
      await checkFile(file.handle, { bytes: index.bytes, crc32: index.crc32 }, signal);
    } catch (err) {
      if (err instanceof DamagedError) throw new DamagedError(`${partFile(part)}: ${err.message}`, { cause: err });
      throw err;
    }
  }
}

async function synced(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
