import { randomBytes } from "node:crypto";
import { type FileHandle, link, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ignoreMissingFile } from "../../errors/errors.ts";
import type { Compressor } from "./compressor.ts";
import { type ArtifactName, CatalogContent, getArtifactFile } from "./content.ts";
import type { ContentIndex } from "./contentIndex.ts";
import { ENCODINGS, type Encoding, FILE_SUFFIX, MAKER } from "./encodings.ts";
import { type ContentDescription, INDEX_FILE, readIndex, viewAsWords, writeIndex } from "./indexFile.ts";
import { type OpenForm, StoredArtifact } from "./storedArtifact.ts";
import { checkFile, DamagedError, readSealed, writeSealed } from "./storedFile.ts";

const Description = z.object({ maker: z.string(), tag: z.string(), bytes: z.int(), crc32: z.int() });

/**
 * A compressed file of an artifact in the folder of a content, and a small file with its
 * description and the end of each line's segment.
 */
class CompressedForm {
  readonly #file: string;
  readonly #encoding: Encoding;
  readonly #index: ContentIndex;

  constructor(dir: string, artifact: ArtifactName, encoding: Encoding, index: ContentIndex) {
    this.#file = join(dir, getArtifactFile(artifact));
    this.#encoding = encoding;
    this.#index = index;
  }

  /**
   * Opens the file if it is intact and from the current compressor version; otherwise removes it
   * and returns undefined.
   */
  async open(): Promise<OpenForm | undefined> {
    const found = await this.#read().catch(() => undefined); // it can be recreated, so the reason does not matter
    if (!found) for (const path of [this.#description, this.#target]) await rm(path, { force: true, recursive: true });
    return found;
  }

  /**
   * Reads the whole file. Returns undefined if it is missing or from another compressor version.
   * @throws Error if it is damaged.
   */
  async #read(): Promise<OpenForm | undefined> {
    const sealed = await readSealed(this.#description).catch(ignoreMissingFile);
    if (!sealed) return undefined;
    const stated = Description.safeParse(sealed.value);
    if (!stated.success || stated.data.maker !== MAKER[this.#encoding] || stated.data.tag !== this.#index.tag) return undefined;
    const handle = await open(this.#target);
    try {
      await checkFile(handle, stated.data);
    } catch (err) {
      await handle.close();
      throw err;
    }
    const [segments] = sealed.columns;
    return { handle, bytes: stated.data.bytes, segments: segments && viewAsWords(segments) };
  }

  /**
   * Creates the compressed file. @throws DamagedError if the artifact itself does not match its
   * index; Error for other failures, for example a full disk.
   */
  async make(compressor: Compressor, signal: AbortSignal): Promise<OpenForm> {
    const [target, description] = [`${this.#target}.tmp`, `${this.#description}.tmp`];
    try {
      const task = { encoding: this.#encoding, from: this.#file, index: this.#index, to: target };
      const { segments, ...made } = await compressor.make(task, signal);
      const stated: z.input<typeof Description> = { maker: MAKER[this.#encoding], tag: this.#index.tag, ...made };
      await writeSealed(description, stated, segments ? [segments] : []);
      await rename(target, this.#target);
      await rename(description, this.#description);
      return { handle: await open(this.#target), bytes: made.bytes, segments };
    } catch (err) {
      for (const path of [target, description]) await rm(path, { force: true });
      throw err;
    }
  }

  /** Reuses the compressed file of an equal artifact in another version. */
  async inherit(from: CompressedForm): Promise<void> {
    await link(from.#target, this.#target).catch(ignoreMissingFile);
    await link(from.#description, this.#description).catch(ignoreMissingFile);
  }

  get #target(): string {
    return `${this.#file}${FILE_SUFFIX[this.#encoding]}`;
  }

  get #description(): string {
    return `${this.#target}.index`;
  }
}

const CURRENT = "current";

/**
 * The folder of one catalog, with a folder for each version of the content and a link `current` to
 * the served version. A version is complete if it has an index file, which is written last, and its
 * files match the checksums in the index.
 */
export class ContentFolder {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Returns the stored versions, the current one first. */
  async versions(): Promise<string[]> {
    const entries = await readdir(this.#dir, { withFileTypes: true });
    const versions = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== CURRENT)
      .map(({ name }) => name);
    const current = await this.#current();
    return versions.sort((a, b) => Number(b === current) - Number(a === current));
  }

  /**
   * Reads a version's index. @throws Error if the version is incomplete, damaged or in another
   * format.
   */
  describe(version: string): Promise<ContentDescription> {
    return readIndex(join(this.#dir, version));
  }

  /**
   * Opens a version and verifies all its files. Skips damaged compressed files. @throws Error if
   * other files are missing or damaged.
   */
  async open(version: string, described: ContentDescription): Promise<CatalogContent> {
    const content = await this.#content(version, described);
    try {
      await checkArtifacts(content);
      for (const [artifact, { index }] of content.artifacts) {
        for (const encoding of ENCODINGS) {
          const form = await this.#form(version, artifact, encoding, index).open();
          if (form) await content.addCompressed(artifact, encoding, form);
        }
      }
      return content;
    } catch (err) {
      content.retire();
      throw err;
    }
  }

  /** Creates an empty folder for a new version. When it is filled, call `publish` or `discard`. */
  async stage(): Promise<string> {
    const staging = join(this.#dir, `.staging-${randomBytes(6).toString("hex")}`);
    await mkdir(staging, { recursive: true, mode: 0o700 });
    return staging;
  }

  async discard(staging: string): Promise<void> {
    await rm(staging, { recursive: true, force: true });
  }

  /**
   * Atomically makes the staged content the current one. The previous content stays on disk until
   * `finish`.
   */
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

  /** Sets the link `current` to a version, unless it is already set. */
  async makeCurrent(version: string): Promise<void> {
    if ((await this.#current()) === version) return;
    const link = join(this.#dir, `.link-${randomBytes(6).toString("hex")}`);
    await symlink(version, link);
    const current = join(this.#dir, CURRENT);
    if ((await lstat(current).catch(ignoreMissingFile))?.isDirectory()) await rm(current, { recursive: true });
    await rename(link, current);
  }

  /** Syncs a version to disk, then removes all other versions and creates missing compressed files. */
  async finish(version: string, content: CatalogContent, compressor: Compressor, signal: AbortSignal): Promise<void> {
    for (const { file } of content.artifacts.values()) await file.handle.datasync();
    for (const path of [join(version, INDEX_FILE), version, "."]) await syncToDisk(join(this.#dir, path));
    const others = (await this.versions()).filter((other) => other !== version);
    for (const other of others) {
      signal.throwIfAborted();
      await this.drop(other);
    }
    for (const encoding of ENCODINGS.toReversed()) {
      for (const [artifact, stored] of content.artifacts) {
        if (stored.compressed(encoding)) continue;
        const form = this.#form(version, artifact, encoding, stored.index);
        await content.addCompressed(artifact, encoding, (await form.open()) ?? (await form.make(compressor, signal)));
      }
    }
  }

  /** Reuses the compressed files of equal artifacts of another version. */
  async inherit(version: string, content: CatalogContent, from: { version: string; content: CatalogContent }): Promise<void> {
    for (const [artifact, { index }] of content.artifacts) {
      const before = from.content.artifacts.get(artifact);
      if (before?.index.tag !== index.tag) continue;
      for (const encoding of before.encodings)
        await this.#form(version, artifact, encoding, index).inherit(this.#form(from.version, artifact, encoding, index));
    }
  }

  /**
   * Verifies the files of a version again. Removes damaged compressed files.
   * @returns whether all compressed files are intact.
   * @throws DamagedError or another Error if the index or an artifact is damaged or missing.
   */
  async check(version: string, content: CatalogContent, signal: AbortSignal): Promise<boolean> {
    await this.describe(version);
    const again = await this.#content(version, content);
    await checkArtifacts(again, signal).finally(() => again.retire());
    let isFine = true;
    for (const [artifact, stored] of content.artifacts) {
      for (const encoding of stored.encodings) {
        const form = await this.#form(version, artifact, encoding, stored.index).open();
        await form?.handle.close();
        if (form) continue;
        stored.withdrawCompressed(encoding);
        isFine = false;
      }
    }
    return isFine;
  }

  /** Removes a version. Removes its index first, so that a partly removed version counts as incomplete. */
  async drop(version: string): Promise<void> {
    await rm(join(this.#dir, version, INDEX_FILE), { recursive: true, force: true });
    await rm(join(this.#dir, version), { recursive: true, force: true });
  }

  /** Removes files that an earlier run did not finish. Must not be called while a new version is being staged. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#dir))
      if (name.startsWith(".")) await rm(join(this.#dir, name), { recursive: true, force: true });
  }

  /** Removes the folder. */
  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Returns the target of the link `current`, which may be invalid; undefined if `current` is not a link. */
  async #current(): Promise<string | undefined> {
    return readlink(join(this.#dir, CURRENT)).catch(() => undefined);
  }

  #form(version: string, artifact: ArtifactName, encoding: Encoding, index: ContentIndex): CompressedForm {
    return new CompressedForm(join(this.#dir, version), artifact, encoding, index);
  }

  async #content(version: string, { origin, indexes, lastModified, findings }: ContentDescription): Promise<CatalogContent> {
    const artifacts = new Map<ArtifactName, StoredArtifact>();
    const handles: FileHandle[] = [];
    try {
      for (const [artifact, index] of indexes) {
        const handle = await open(join(this.#dir, version, getArtifactFile(artifact)));
        handles.push(handle);
        artifacts.set(artifact, new StoredArtifact(index, handle));
      }
      return new CatalogContent(origin, artifacts, lastModified, findings);
    } catch (err) {
      for (const handle of handles) await handle.close();
      throw err;
    }
  }
}

async function checkArtifacts(content: CatalogContent, signal?: AbortSignal): Promise<void> {
  for (const [artifact, { file, index }] of content.artifacts) {
    try {
      await checkFile(file.handle, { bytes: index.bytes, crc32: index.crc32 }, signal);
    } catch (err) {
      if (err instanceof DamagedError) throw new DamagedError(`${getArtifactFile(artifact)}: ${err.message}`, { cause: err });
      throw err;
    }
  }
}

async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
