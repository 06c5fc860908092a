import { constants, createReadStream } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { findDigestError } from "../../api/imageName.ts";
import { KeyedLock } from "../../async/keyedLock.ts";
import { getErrorMessage, ignoreMissingFile } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { readBounded, Verifier } from "../digest.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import { CATALOG_IMAGE_LIMITS } from "../limits.ts";
import { type Descriptor, MediaType } from "../manifest.ts";
import type { FetchedManifest } from "../registry/repository.ts";
import type { BlobBytes, BlobOutcome, ImageReader, ImageWriter } from "./imageStore.ts";
import {
  formatAvailableNames,
  formatLayoutIndex,
  getEntryName,
  INDEX_LIMITS,
  type LayoutEntry,
  parseLayoutIndex,
  REF_NAME,
} from "./layoutIndex.ts";

/**
 * Opens a file of a layout for reading. A layout is untrusted: symlinks must not lead out of its
 * folder, and only regular files are read.
 * @param path relative to the folder, consisting of validated names
 * @returns undefined if it does not exist
 * @throws RefusedError if it is not a regular file in that folder
 */
async function openLayoutFile(dir: string, path: string): Promise<FileHandle | undefined> {
  const requestedPath = join(dir, path);
  const [root, real] = await Promise.all([realpath(dir), realpath(requestedPath)].map((found) => found.catch(ignoreMissingFile)));
  if (root === undefined || real === undefined) return undefined;
  if (!real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`))
    throw new RefusedError(`${requestedPath} is a link to ${real}, which is outside the layout`);
  // Without O_NONBLOCK, opening a named pipe would block.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new RefusedError(`${requestedPath} is not a regular file`);
}

/**
 * A blob that is being written to disk. It is kept when the program ends, and the next run resumes
 * it. Two concurrent writers are safe: both write the same bytes to the same positions.
 */
class PartFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Writes the missing part of the blob and syncs it to disk.
   * @throws Error of the source; Error for content that does not match the descriptor, after
   * removing the file
   */
  async fill(blob: Descriptor, bytes: BlobBytes, signal: AbortSignal): Promise<void> {
    const held = (await stat(this.path).catch(ignoreMissingFile))?.size ?? 0;
    if (held > 0 && held <= blob.size && (await this.#fillFrom(held, blob, bytes, signal)) === undefined) return;
    if (held > 0) await rm(this.path, { force: true });
    const wrong = await this.#fillFrom(0, blob, bytes, signal);
    if (wrong === undefined) return;
    await rm(this.path, { force: true });
    throw wrong;
  }

  /** @returns the problem with the complete content */
  async #fillFrom(start: number, blob: Descriptor, bytes: BlobBytes, signal: AbortSignal): Promise<Error | undefined> {
    const verifier = new Verifier(blob);
    let wrong: Error | undefined;
    const check = (work: () => void): void => {
      try {
        work();
      } catch (err) {
        wrong = err as Error;
        throw err;
      }
    };
    const checked = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of bytes(start)) {
        check(() => verifier.update(chunk));
        yield chunk;
      }
    };
    try {
      if (start > 0) for await (const chunk of createReadStream(this.path, { end: start - 1, signal })) verifier.update(chunk as Buffer);
      if (start === 0 || start < blob.size) await this.#write(Readable.from(checked(), { objectMode: false }), start, signal);
      check(() => verifier.finish());
      return undefined;
    } catch (err) {
      if (wrong) return wrong;
      throw err;
    }
  }

  async #write(content: Readable, start: number, signal: AbortSignal): Promise<void> {
    // Does not truncate the file, because another program may be writing it.
    const file = await open(this.path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW);
    await pipeline(content, file.createWriteStream({ start, flush: true }), { signal });
  }
}

/**
 * An OCI image layout in a folder: `oci-layout`, `index.json` and `blobs/`.
 * @see https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export class LayoutStore implements ImageReader, ImageWriter {
  readonly name: string;
  readonly dir: string;
  readonly isWhole = false;
  readonly #lock = new KeyedLock();
  #parts = 0;
  #index: { key: string; entries: LayoutEntry[] } | undefined;

  /** @param name for messages, such as "oci:build/catalog" */
  constructor(dir: string, name: string) {
    this.dir = dir;
    this.name = name;
  }

  /**
   * Initializes the folder as a layout unless it is one.
   * @throws Error if the folder is not a layout and contains other files, or if files would be
   * written through a link
   */
  async create(): Promise<void> {
    await this.#requireOwnFolder();
    await this.#requireNoLinks();
    await mkdir(join(this.dir, "blobs", "sha256"), { recursive: true });
    await writeFile(join(this.dir, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await this.#lock.run("index", NEVER, async () => {
      if (!(await stat(join(this.dir, "index.json")).catch(ignoreMissingFile))) await this.#writeIndex([]);
    });
  }

  async #requireOwnFolder(): Promise<void> {
    const names = (await readdir(this.dir).catch(ignoreMissingFile)) ?? [];
    const other = names.includes("oci-layout") ? undefined : names.find((name) => name !== "blobs"); // created before oci-layout
    if (other !== undefined)
      throw new Error(`${this.dir} is not an OCI image layout, and contains ${goQuote(other)}. Use a new folder or an empty one`);
  }

  /** A layout is untrusted, for example in a cloned repository: a link could lead to other files. */
  async #requireNoLinks(): Promise<void> {
    const blobs = join(this.dir, "blobs");
    const requireNoLink = async (path: string): Promise<void> => {
      if ((await lstat(path).catch(ignoreMissingFile))?.isSymbolicLink())
        throw new Error(`cannot write to ${this.dir}: ${path} is a link. Use a new folder or an empty one`);
    };
    await requireNoLink(join(this.dir, "oci-layout"));
    await requireNoLink(blobs);
    for (const name of (await readdir(blobs).catch(ignoreMissingFile)) ?? []) await requireNoLink(join(blobs, name));
  }

  /** @throws ImageContentError that lists the existing images. */
  async manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest> {
    const found = await this.find(reference, signal);
    if (found) return found;
    const entries = await this.entries();
    if (reference !== "") throw new ImageContentError(`${this.name} has no image ${reference}${formatAvailableNames(entries)}`);
    const why = entries.length === 0 ? "no image" : "several images: specify a tag";
    throw new ImageContentError(`${this.name} has ${why}${formatAvailableNames(entries)}`);
  }

  /** @throws ImageContentError if `index.json` lists the image but the image is missing or damaged. */
  async find(reference: string, _signal: AbortSignal): Promise<FetchedManifest | undefined> {
    const isPinned = findDigestError(reference) === undefined;
    const entry = await this.#entry(reference, isPinned);
    const digest = isPinned ? reference : entry?.digest;
    if (digest === undefined) return undefined;
    const bytes = await this.#small(digest);
    if (bytes) return { bytes, digest, mediaType: entry?.mediaType || readMediaType(bytes) };
    if (entry) throw this.#missing(digest);
    return undefined;
  }

  /** @throws ImageContentError while reading if the blob is missing or damaged. */
  blob(blob: Descriptor, signal: AbortSignal): BlobBytes {
    return (offset) => this.#bytes(blob, offset, signal);
  }

  async has(reference: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.find(reference, signal).catch(undefinedIfDamaged))?.digest;
  }

  /** Resumes a partly written blob. */
  async putBlob(blob: Descriptor, bytes: BlobBytes, { signal }: { signal: AbortSignal }): Promise<BlobOutcome> {
    const file = this.#blobFile(blob.digest);
    const there = await stat(file).catch(ignoreMissingFile);
    if (there?.size === blob.size) return "present";
    const part = new PartFile(join(this.dir, "blobs", `part-${blob.digest.replace(":", "-")}`));
    await part.fill(blob, bytes, signal);
    await this.adopt(part.path, blob.digest);
    return "sent";
  }

  async putManifest(manifest: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void> {
    const { bytes, digest, mediaType } = manifest;
    const blob = { mediaType, digest, size: bytes.byteLength };
    if (!(await this.#small(digest).catch(undefinedIfDamaged))) {
      await rm(this.#blobFile(digest), { force: true });
      await this.putBlob(blob, (offset) => Readable.from([bytes.subarray(offset)]), { signal });
    }
    if (tag === undefined) return;
    await this.#lock.run("index", signal, async () => {
      const others = (await this.entries()).filter((entry) => getEntryName(entry) !== tag && (tag !== "" || entry.digest !== digest));
      await this.#writeIndex([...others, { ...blob, ...(tag === "" ? {} : { annotations: { [REF_NAME]: tag } }) }]);
    });
  }

  /** Adds annotations to a named image. */
  async annotate(tag: string, annotations: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    await this.#lock.run("index", signal, async () => {
      const entries = await this.entries();
      await this.#writeIndex(
        entries.map((entry) => (getEntryName(entry) === tag ? { ...entry, annotations: { ...entry.annotations, ...annotations } } : entry)),
      );
    });
  }

  /** Returns the entries of `index.json`. @throws ImageContentError if the folder is not a layout. */
  async entries(): Promise<LayoutEntry[]> {
    const file = await openLayoutFile(this.dir, "index.json");
    if (!file) throw new ImageContentError(`${this.name} is not an OCI image layout: index.json is missing`);
    try {
      const { ino, size, mtimeNs } = await file.stat({ bigint: true });
      const key = `${ino} ${size} ${mtimeNs}`;
      if (this.#index?.key === key) return this.#index.entries;
      const text = (await readBounded(file.createReadStream({ autoClose: false }), INDEX_LIMITS.bytes)).toString("utf8");
      const entries = parseLayoutIndex(text);
      this.#index = { key, entries };
      return entries;
    } catch (err) {
      throw new ImageContentError(`${this.name}: ${getErrorMessage(err)}`, { cause: err });
    } finally {
      await file.close();
    }
  }

  /** Returns a path for a blob whose digest is not known yet. Call `adopt` when the file is complete. */
  partFile(): string {
    this.#parts += 1;
    return join(this.dir, "blobs", `part-${process.pid}-${this.#parts}`);
  }

  /** Moves a file into the blob store; `digest` must be the digest of the file. */
  async adopt(file: string, digest: string): Promise<void> {
    const target = this.#blobFile(digest);
    await mkdir(join(target, ".."), { recursive: true });
    await rename(file, target).catch(async (err: unknown) => {
      // Another process may have written the blob already.
      if (!(await stat(target).catch(() => undefined))) throw err;
    });
  }

  async #entry(reference: string, isPinned: boolean): Promise<LayoutEntry | undefined> {
    const entries = await this.entries();
    if (isPinned) return entries.find(({ digest }) => digest === reference);
    if (reference !== "") return entries.find((entry) => getEntryName(entry) === reference);
    return new Set(entries.map(({ digest }) => digest)).size === 1 ? entries[0] : undefined;
  }

  /** Returns a whole, verified manifest. */
  async #small(digest: string): Promise<Buffer | undefined> {
    const file = await openLayoutFile(this.dir, blobPath(digest));
    if (!file) return undefined;
    try {
      const bytes = await readBounded(file.createReadStream({ autoClose: false }), CATALOG_IMAGE_LIMITS.manifestBytes);
      const verifier = new Verifier({ digest, size: bytes.byteLength });
      verifier.update(bytes);
      verifier.finish();
      return bytes;
    } catch (err) {
      throw this.#damaged(digest, err);
    } finally {
      await file.close();
    }
  }

  async *#bytes(blob: Descriptor, offset: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const file = await openLayoutFile(this.dir, blobPath(blob.digest));
    if (!file) throw this.#missing(blob.digest);
    const verifier = offset === 0 ? new Verifier(blob) : undefined;
    try {
      for await (const chunk of file.createReadStream({ start: offset, autoClose: false })) {
        signal.throwIfAborted();
        verifier?.update(chunk as Buffer);
        yield chunk as Buffer;
      }
      verifier?.finish();
    } catch (err) {
      signal.throwIfAborted();
      throw this.#damaged(blob.digest, err);
    } finally {
      await file.close();
    }
  }

  #missing(digest: string): ImageContentError {
    return new ImageContentError(`${this.name} is incomplete: blob ${digest} is missing`);
  }

  #damaged(digest: string, err: unknown): ImageContentError {
    return new ImageContentError(`${this.name}: blob ${digest} is damaged: ${getErrorMessage(err)}`, { cause: err });
  }

  #blobFile(digest: string): string {
    return join(this.dir, blobPath(digest));
  }

  async #writeIndex(manifests: readonly LayoutEntry[]): Promise<void> {
    const part = this.partFile();
    await writeFile(part, formatLayoutIndex(manifests), { flush: true });
    await rename(part, join(this.dir, "index.json"));
  }
}

const NEVER = new AbortController().signal;

/** @throws Error for an invalid digest, which would be an invalid file name. */
function blobPath(digest: string): string {
  const problem = findDigestError(digest);
  if (problem !== undefined) throw new Error(`${digest}: ${problem}`);
  return join("blobs", digest.replace(":", "/"));
}

function undefinedIfDamaged(err: unknown): undefined {
  if (!(err instanceof ImageContentError)) throw err;
}

function readMediaType(bytes: Buffer): string {
  try {
    const body: unknown = JSON.parse(bytes.toString("utf8"));
    const own = typeof body === "object" && body !== null && "mediaType" in body ? body.mediaType : undefined;
    return typeof own === "string" ? own : MediaType.ociManifest;
  } catch {
    return MediaType.ociManifest;
  }
}
