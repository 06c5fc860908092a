import { randomBytes } from "node:crypto";
import {
  chmod,
  link,
  lstat,
  mkdir,
  opendir,
  readdir,
  readFile,
  readlink,
  rename,
  rmdir,
  symlink,
  unlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { isSubdomain } from "../../api/names.ts";
import { ignoreMissingFile } from "../../errors/errors.ts";

const Text = z.string().optional();
const Size = z.object({ files: z.int(), bytes: z.int() });
const Attached = z.object({ certificate: Text, chain: Text, logEntry: Text, bundle: Text });
const Stored = z.object({
  config: z.object({ labels: z.record(z.string(), z.string()), architecture: z.string(), os: z.string() }),
  root: z.string(),
  size: Size.optional(),
  instance: z.string().optional(),
  signatures: z
    .array(z.object({ payload: z.string(), signature: z.string(), isStatement: z.boolean().optional(), attached: Attached.optional() }))
    .optional(),
});

/**
 * Metadata stored with an unpacked image: its configuration, the unpacked directory, the signatures
 * that satisfied the policy, and the size of the content, which `publish` sets.
 */
export type StoredImage = z.output<typeof Stored>;

/** An unpacked image on disk. */
export interface CachedImage {
  readonly dir: string;
  readonly modTime: Date;
  readonly stored: StoredImage;
}

/** A folder to unpack into; `publish` turns it into an image. */
export interface Draft {
  /** for temporary files; removed with the draft */
  readonly scratch: string;
  /** the root of the image's content */
  readonly content: string;
}

/**
 * Unpacked images at `<dir>/<owner>/<algorithm>:<hex>`, read-only. A directory with such a name is
 * complete, because it is filled under another name and then renamed. The size in its metadata
 * detects files that were lost, because the machine crashed or the process was killed while it
 * removed the image. Only one process may use a folder at a time: the first use removes all drafts,
 * which a killed process left.
 */
export class ImageCache {
  readonly #dir: string;
  readonly #drafts = new Set<string>();
  /** The draft of each owner's last download that did not end. */
  readonly #paused = new Map<string, Draft>();
  /** The digest of each owner's last image with its complete content. */
  readonly #complete = new Map<string, string>();
  #opened: Promise<void> | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Returns the owner's image with this digest, or undefined. Removes anything at its path that is
   * not a complete image.
   * @throws Error `error checking image content already unpacked: …`
   */
  async find(owner: string, digest: string): Promise<CachedImage | undefined> {
    const dir = join(this.#ownerDir(owner), digest);
    await this.#open();
    try {
      const stat = await lstat(dir).catch(ignoreMissingFile);
      if (!stat) return undefined;
      const stored = stat.isDirectory()
        ? parseStored(await readFile(this.#note(owner, digest), "utf8").catch(ignoreMissingFile))
        : undefined;
      if (stored && (await this.#isComplete(owner, digest, stored))) return { dir, modTime: stat.mtime, stored };
      await removeTree(dir);
      return undefined;
    } catch (err) {
      throw new Error(`error checking image content already unpacked: ${(err as Error).message}`, { cause: err });
    }
  }

  /**
   * Starts a draft, or continues the owner's paused one; finish it with {@link publish} and
   * {@link discard}, or with {@link pause}. Removes drafts of the owner that could not be discarded,
   * so that they do not fill the disk.
   */
  async begin(owner: string): Promise<Draft> {
    const dir = this.#ownerDir(owner);
    await this.#open();
    await this.#removeDrafts(dir, (name) => name.startsWith(DRAFT));
    const scratch = this.#paused.get(owner)?.scratch ?? join(dir, `${DRAFT}${randomBytes(8).toString("hex")}`);
    this.#paused.delete(owner);
    this.#drafts.add(scratch);
    const content = join(scratch, "content");
    await mkdir(content, { recursive: true, mode: 0o700 });
    return { scratch, content };
  }

  /**
   * Publishes the draft as the owner's image of this digest, with the current time. Its files are
   * already read-only.
   */
  async publish(draft: Draft, owner: string, digest: string, image: StoredImage): Promise<CachedImage> {
    const stored = { ...image, size: await measureTree(draft.content) };
    const dir = join(this.#ownerDir(owner), digest);
    const note = join(draft.scratch, "note");
    await writeFile(note, JSON.stringify(stored), { mode: 0o600 });
    await removeTree(dir);
    await rename(note, this.#note(owner, digest));
    const now = new Date();
    await utimes(draft.content, now, now);
    await rename(draft.content, dir);
    await chmod(dir, 0o500);
    this.#complete.set(owner, digest);
    return { dir, modTime: (await lstat(dir)).mtime, stored };
  }

  /** Replaces the metadata of an unpacked image. */
  async annotate(owner: string, digest: string, stored: StoredImage): Promise<void> {
    const draft = `${this.#note(owner, digest)}.new`;
    await writeFile(draft, JSON.stringify(stored), { mode: 0o600 });
    await rename(draft, this.#note(owner, digest));
  }

  /** Keeps the temporary files of a draft, if any, for the owner's next one, until this process ends. */
  async pause(draft: Draft, owner: string): Promise<void> {
    await removeTree(draft.content);
    if ((await readdir(draft.scratch)).length === 0) return this.discard(draft);
    const before = this.#paused.get(owner);
    this.#paused.set(owner, draft);
    if (before) await this.discard(before);
  }

  /** Removes the paused draft of the owner, or without one of all owners. */
  async discardPaused(owner?: string): Promise<void> {
    for (const [of, draft] of this.#paused) {
      if (owner !== undefined && owner !== of) continue;
      this.#paused.delete(of);
      await this.discard(draft);
    }
  }

  /** Removes the rest of a draft. */
  async discard(draft: Draft): Promise<void> {
    try {
      await removeTree(draft.scratch);
    } finally {
      this.#drafts.delete(draft.scratch);
    }
  }

  /**
   * Fills a draft with another owner's copy of the image. The copies share files because these
   * never change.
   */
  async copyInto(draft: Draft, image: CachedImage): Promise<void> {
    await copyTree(image.dir, draft.content);
  }

  /** Empties a draft so that it can be filled again. */
  async empty(draft: Draft): Promise<void> {
    await removeTree(draft.content);
    await mkdir(draft.content, { mode: 0o700 });
  }

  /**
   * Removes everything of the owner except the image `keep` and unfinished drafts of this process.
   * @throws Error `error removing entry NAME: …`
   */
  async removeOthers(owner: string, keep: string): Promise<void> {
    const dir = this.#ownerDir(owner);
    const kept = new Set([keep, noteName(keep)]);
    for (const name of (await readdir(dir).catch(ignoreMissingFile)) ?? []) {
      const path = join(dir, name);
      if (kept.has(name) || this.#drafts.has(path)) continue;
      await removeTree(path).catch((err: unknown) => {
        throw new Error(`error removing entry ${name}: ${(err as Error).message}`, { cause: err });
      });
    }
  }

  /** Removes everything of the owner. */
  async remove(owner: string): Promise<void> {
    await this.discardPaused(owner);
    this.#complete.delete(owner);
    await removeTree(this.#ownerDir(owner));
  }

  /** Compares the content with the size in the metadata, once for each image of an owner. */
  async #isComplete(owner: string, digest: string, { size }: StoredImage): Promise<boolean> {
    if (this.#complete.get(owner) === digest) return true;
    const { files, bytes } = await measureTree(join(this.#ownerDir(owner), digest));
    const isComplete = files === size?.files && bytes === size.bytes;
    if (isComplete) this.#complete.set(owner, digest);
    return isComplete;
  }

  #open(): Promise<void> {
    this.#opened ??= this.#sweep();
    return this.#opened;
  }

  /** Removes the drafts of all owners. What cannot be removed is reported by {@link begin}. */
  async #sweep(): Promise<void> {
    const owners = await readdir(this.#dir, { withFileTypes: true }).catch(() => []);
    for (const { name } of owners.filter((entry) => entry.isDirectory())) {
      const dir = join(this.#dir, name);
      await this.#removeDrafts(dir, (entry) => entry.startsWith(DRAFT) || NEW_NOTE.test(entry)).catch(() => undefined);
    }
  }

  /** Removes the drafts in an owner's folder, except unfinished drafts of this process. */
  async #removeDrafts(dir: string, isDraft: (name: string) => boolean): Promise<void> {
    for (const name of (await readdir(dir).catch(ignoreMissingFile)) ?? []) {
      const path = join(dir, name);
      if (isDraft(name) && !this.#drafts.has(path)) await removeTree(path);
    }
  }

  #ownerDir(owner: string): string {
    if (!isSubdomain(owner)) throw new Error(`cache owner ${JSON.stringify(owner)} is not a DNS-1123 subdomain`);
    return join(this.#dir, owner);
  }

  #note(owner: string, digest: string): string {
    return join(this.#ownerDir(owner), noteName(digest));
  }
}

/**
 * Removes a file, or a folder with read-only directories. A missing path is not an error. Does not
 * follow symlinks.
 */
export async function removeTree(path: string): Promise<void> {
  const stat = await lstat(path).catch(ignoreMissingFile);
  if (stat?.isDirectory()) await removeDirectory(path);
  else if (stat) await unlink(path).catch(ignoreMissingFile);
}

/** Removes one entry after another, because `rm` starts to remove all entries of a directory at once, and blocks the process meanwhile. */
async function removeDirectory(dir: string): Promise<void> {
  await chmod(dir, 0o700);
  for await (const entry of await opendir(dir)) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await removeDirectory(path);
    else await unlink(path).catch(ignoreMissingFile);
  }
  await rmdir(dir).catch(ignoreMissingFile);
}

/** Counts everything except directories, and the bytes of regular files. */
async function measureTree(dir: string): Promise<z.output<typeof Size>> {
  const size = { files: 0, bytes: 0 };
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    size.files += 1;
    if (entry.isFile()) size.bytes += (await lstat(join(entry.parentPath, entry.name))).size;
  }
  return size;
}

async function copyTree(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) {
      await mkdir(target, { mode: 0o700 });
      await copyTree(source, target);
      await chmod(target, 0o500);
    } else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await link(source, target);
  }
}

/** Prefix of drafts. */
const DRAFT = ".draft-";
/** Name of metadata that replaces a note. */
const NEW_NOTE = /^\..*\.json\.new$/;

function noteName(digest: string): string {
  return `.${digest}.json`;
}

function parseStored(text: string | undefined): StoredImage | undefined {
  try {
    return Stored.safeParse(JSON.parse(text ?? "")).data;
  } catch {
    return undefined;
  }
}
