import { randomBytes } from "node:crypto";
import { chmod, link, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { isSubdomain } from "../../api/names.ts";
import { undefinedIfMissing } from "../../errors/errors.ts";

const Stored = z.object({
  config: z.object({ labels: z.record(z.string(), z.string()), architecture: z.string(), os: z.string() }),
  root: z.string(),
  instance: z.string().optional(),
  signatures: z.array(z.object({ payload: z.string(), signature: z.string(), isStatement: z.boolean().optional() })).optional(),
});

/** What is kept beside an unpacked image: its configuration, which directory of it was unpacked, and what let it pass the signature policy. */
export type StoredImage = z.output<typeof Stored>;

/** An unpacked image on disk. */
export interface CachedImage {
  readonly dir: string;
  readonly modTime: Date;
  readonly stored: StoredImage;
}

/** A folder to unpack into; it becomes content only by `publish`. */
export interface Draft {
  /** holds anything that helps meanwhile; it disappears with the draft */
  readonly scratch: string;
  /** the root of the content */
  readonly content: string;
}

/**
 * Unpacked images at `<dir>/<owner>/<algorithm>:<hex>`, read-only. A directory of that name is complete: it is filled elsewhere and renamed.
 * One process uses a folder at a time.
 */
export class ImageCache {
  readonly #dir: string;
  readonly #drafts = new Set<string>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * The image of this owner with this digest, or undefined. What stands in its place without being an unpacked image is removed.
   * @throws Error `error checking image content already unpacked: …`
   */
  async find(owner: string, digest: string): Promise<CachedImage | undefined> {
    const dir = join(this.#ownerDir(owner), digest);
    try {
      const stat = await lstat(dir).catch(undefinedIfMissing);
      if (!stat) return undefined;
      const stored = stat.isDirectory() ? storedOf(await readFile(this.#note(owner, digest), "utf8").catch(undefinedIfMissing)) : undefined;
      if (stored) return { dir, modTime: stat.mtime, stored };
      await removeTree(dir);
      return undefined;
    } catch (err) {
      throw new Error(`error checking image content already unpacked: ${(err as Error).message}`, { cause: err });
    }
  }

  /** Starts filling an image; end with {@link publish} or {@link discard}, best with both. */
  async begin(owner: string): Promise<Draft> {
    const scratch = join(this.#ownerDir(owner), `.draft-${randomBytes(8).toString("hex")}`);
    this.#drafts.add(scratch);
    const content = join(scratch, "content");
    await mkdir(content, { recursive: true, mode: 0o700 });
    return { scratch, content };
  }

  /** Makes the draft the owner's image of this digest, with the time it became so; files in it are read-only already. */
  async publish(draft: Draft, owner: string, digest: string, stored: StoredImage): Promise<CachedImage> {
    const dir = join(this.#ownerDir(owner), digest);
    const note = join(draft.scratch, "note");
    await writeFile(note, JSON.stringify(stored), { mode: 0o600 });
    await removeTree(dir);
    await rename(note, this.#note(owner, digest));
    const now = new Date();
    await utimes(draft.content, now, now);
    await rename(draft.content, dir);
    await chmod(dir, 0o500);
    return { dir, modTime: (await lstat(dir)).mtime, stored };
  }

  /** Keeps other notes beside an image that is unpacked. */
  async annotate(owner: string, digest: string, stored: StoredImage): Promise<void> {
    const draft = `${this.#note(owner, digest)}.new`;
    await writeFile(draft, JSON.stringify(stored), { mode: 0o600 });
    await rename(draft, this.#note(owner, digest));
  }

  /** Removes what is left of a draft. */
  async discard(draft: Draft): Promise<void> {
    await removeTree(draft.scratch);
    this.#drafts.delete(draft.scratch);
  }

  /** Fills a draft with another owner's copy of the image, sharing its files: they never change. */
  async copyInto(draft: Draft, image: CachedImage): Promise<void> {
    await copyTree(image.dir, draft.content);
  }

  /** Empties a draft, to fill it again. */
  async empty(draft: Draft): Promise<void> {
    await removeTree(draft.content);
    await mkdir(draft.content, { mode: 0o700 });
  }

  /**
   * Removes everything of the owner but the image of `keep` and unfinished drafts of this process.
   * @throws Error `error removing entry NAME: …`
   */
  async removeOthers(owner: string, keep: string): Promise<void> {
    const dir = this.#ownerDir(owner);
    const kept = new Set([keep, noteName(keep)]);
    for (const name of (await readdir(dir).catch(undefinedIfMissing)) ?? []) {
      const path = join(dir, name);
      if (kept.has(name) || this.#drafts.has(path)) continue;
      await removeTree(path).catch((err: unknown) => {
        throw new Error(`error removing entry ${name}: ${(err as Error).message}`, { cause: err });
      });
    }
  }

  /** Removes everything of the owner. */
  async remove(owner: string): Promise<void> {
    await removeTree(this.#ownerDir(owner));
  }

  #ownerDir(owner: string): string {
    if (!isSubdomain(owner)) throw new Error(`cache owner ${JSON.stringify(owner)} is no DNS-1123 subdomain`);
    return join(this.#dir, owner);
  }

  #note(owner: string, digest: string): string {
    return join(this.#ownerDir(owner), noteName(digest));
  }
}

/** Removes a file or a folder with read-only directories; nothing there is fine. Symlinks are not followed. */
export async function removeTree(path: string): Promise<void> {
  const stat = await lstat(path).catch(undefinedIfMissing);
  if (!stat) return;
  if (stat.isDirectory()) await makeWritable(path);
  await rm(path, { recursive: true, force: true });
}

async function makeWritable(dir: string): Promise<void> {
  await chmod(dir, 0o700);
  for (const entry of await readdir(dir, { withFileTypes: true })) if (entry.isDirectory()) await makeWritable(join(dir, entry.name));
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

function noteName(digest: string): string {
  return `.${digest}.json`;
}

function storedOf(text: string | undefined): StoredImage | undefined {
  try {
    return Stored.safeParse(JSON.parse(text ?? "")).data;
  } catch {
    return undefined;
  }
}
