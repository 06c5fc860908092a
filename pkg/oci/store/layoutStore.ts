import { constants, createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { digestProblem } from "../../api/imageName.ts";
import { KeyedLock } from "../../async/keyedLock.ts";
import { messageOf, undefinedIfMissing } from "../../errors/errors.ts";
import { readBounded, Verifier } from "../digest.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import { CATALOG_IMAGE_LIMITS } from "../limits.ts";
import { type Descriptor, MediaType } from "../manifest.ts";
import type { FetchedManifest } from "../registry/repository.ts";
import type { BlobBytes, BlobFate, ImageReader, ImageWriter } from "./imageStore.ts";
import { INDEX_LIMITS, type LayoutEntry, layoutIndexText, nameIn, namesText, parseLayoutIndex, REF_NAME } from "./layoutIndex.ts";

/**
 * Opens a file of a layout to read it. A layout may come from anywhere, so no symlink leads out of its folder, and nothing but a file is read.
 * @param path below the folder, made of names that were checked
 * @returns undefined where there is none
 * @throws RefusedError for what is no file in that folder
 */
async function openLayoutFile(dir: string, path: string): Promise<FileHandle | undefined> {
  const wanted = join(dir, path);
  const [root, real] = await Promise.all([realpath(dir), realpath(wanted)].map((found) => found.catch(undefinedIfMissing)));
  if (root === undefined || real === undefined) return undefined;
  if (!real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`))
    throw new RefusedError(`${wanted} leads out of its layout: it is a link to ${real}`);
  // Without O_NONBLOCK a named pipe would be waited for.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new RefusedError(`${wanted} is no file`);
}

/**
 * A blob on its way to disk. What is there of it when the program ends stays, and the next one goes on behind it. Two at once do no harm: each writes the
 * same bytes to the same places.
 */
class PartFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Writes what is missing of the blob, to disk and not to its cache alone.
   * @throws Error of the source; of other content than the descriptor states, and then nothing of it stays
   */
  async fill(blob: Descriptor, bytes: BlobBytes, signal: AbortSignal): Promise<void> {
    const held = (await stat(this.path).catch(undefinedIfMissing))?.size ?? 0;
    if (held > 0 && held <= blob.size && (await this.#fillFrom(held, blob, bytes, signal)) === undefined) return;
    if (held > 0) await rm(this.path, { force: true });
    const wrong = await this.#fillFrom(0, blob, bytes, signal);
    if (wrong === undefined) return;
    await rm(this.path, { force: true });
    throw wrong;
  }

  /** @returns what is wrong with the whole content */
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
    // Not emptied when it is opened: another program may be writing the same.
    const file = await open(this.path, constants.O_RDWR | constants.O_CREAT);
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

  /** Makes the folder a layout, unless it is one. @throws Error for a folder that holds something else. */
  async create(): Promise<void> {
    await mkdir(join(this.dir, "blobs", "sha256"), { recursive: true });
    await writeFile(join(this.dir, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await this.#lock.run("index", NEVER, async () => {
      if (!(await stat(join(this.dir, "index.json")).catch(undefinedIfMissing))) await this.#writeIndex([]);
    });
  }

  /** @throws ImageContentError that names what there is instead. */
  async manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest> {
    const found = await this.find(reference, signal);
    if (found) return found;
    const entries = await this.entries();
    if (reference !== "") throw new ImageContentError(`${this.name} has no image ${reference}${namesText(entries)}`);
    const why = entries.length === 0 ? "no image" : "no image that is the only one: name its tag";
    throw new ImageContentError(`${this.name} has ${why}${namesText(entries)}`);
  }

  /** @throws ImageContentError for one that `index.json` names and that is not there, or is another one. */
  async find(reference: string, _signal: AbortSignal): Promise<FetchedManifest | undefined> {
    const isPinned = digestProblem(reference) === undefined;
    const entry = await this.#entry(reference, isPinned);
    const digest = isPinned ? reference : entry?.digest;
    if (digest === undefined) return undefined;
    const bytes = await this.#small(digest);
    if (bytes) return { bytes, digest, mediaType: entry?.mediaType || mediaTypeIn(bytes) };
    if (entry) throw this.#missing(digest);
    return undefined;
  }

  /** @throws ImageContentError, as it is read, for a blob that is not there or is another one. */
  blob(blob: Descriptor, signal: AbortSignal): BlobBytes {
    return (offset) => this.#bytes(blob, offset, signal);
  }

  async has(reference: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.find(reference, signal).catch(undefinedIfDamaged))?.digest;
  }

  /** A blob of which a part was left by somebody who stopped is gone on with. */
  async putBlob(blob: Descriptor, bytes: BlobBytes, { signal }: { signal: AbortSignal }): Promise<BlobFate> {
    const file = this.#blobFile(blob.digest);
    const there = await stat(file).catch(undefinedIfMissing);
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
      const others = (await this.entries()).filter((entry) => nameIn(entry) !== tag && (tag !== "" || entry.digest !== digest));
      await this.#writeIndex([...others, { ...blob, ...(tag === "" ? {} : { annotations: { [REF_NAME]: tag } }) }]);
    });
  }

  /** Notes something beside an image that has a name. */
  async annotate(tag: string, annotations: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    await this.#lock.run("index", signal, async () => {
      const entries = await this.entries();
      await this.#writeIndex(
        entries.map((entry) => (nameIn(entry) === tag ? { ...entry, annotations: { ...entry.annotations, ...annotations } } : entry)),
      );
    });
  }

  /** What `index.json` names. @throws ImageContentError where the folder is no layout. */
  async entries(): Promise<LayoutEntry[]> {
    const file = await openLayoutFile(this.dir, "index.json");
    if (!file) throw new ImageContentError(`${this.name} is no OCI image layout: it has no index.json`);
    try {
      const { ino, size, mtimeNs } = await file.stat({ bigint: true });
      const key = `${ino} ${size} ${mtimeNs}`;
      if (this.#index?.key === key) return this.#index.entries;
      const text = (await readBounded(file.createReadStream({ autoClose: false }), INDEX_LIMITS.bytes)).toString("utf8");
      const entries = parseLayoutIndex(text);
      this.#index = { key, entries };
      return entries;
    } catch (err) {
      throw new ImageContentError(`${this.name}: ${messageOf(err)}`, { cause: err });
    } finally {
      await file.close();
    }
  }

  /** Where a blob can be written whose digest is not known yet; then `adopt` it. */
  partFile(): string {
    this.#parts += 1;
    return join(this.dir, "blobs", `part-${process.pid}-${this.#parts}`);
  }

  /** Makes a file the blob of this digest, which it has to have. */
  async adopt(file: string, digest: string): Promise<void> {
    const target = this.#blobFile(digest);
    await mkdir(join(target, ".."), { recursive: true });
    await rename(file, target).catch(async (err: unknown) => {
      // Another program was the first.
      if (!(await stat(target).catch(() => undefined))) throw err;
    });
  }

  async #entry(reference: string, isPinned: boolean): Promise<LayoutEntry | undefined> {
    const entries = await this.entries();
    if (isPinned) return entries.find(({ digest }) => digest === reference);
    if (reference !== "") return entries.find((entry) => nameIn(entry) === reference);
    return new Set(entries.map(({ digest }) => digest)).size === 1 ? entries[0] : undefined;
  }

  /** A manifest, whole and with this digest. */
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
    return new ImageContentError(`${this.name} is not complete: blob ${digest} is missing`);
  }

  #damaged(digest: string, err: unknown): ImageContentError {
    return new ImageContentError(`${this.name}: blob ${digest} is damaged: ${messageOf(err)}`, { cause: err });
  }

  #blobFile(digest: string): string {
    return join(this.dir, blobPath(digest));
  }

  async #writeIndex(manifests: readonly LayoutEntry[]): Promise<void> {
    const part = this.partFile();
    await writeFile(part, layoutIndexText(manifests), { flush: true });
    await rename(part, join(this.dir, "index.json"));
  }
}

const NEVER = new AbortController().signal;

/** @throws Error for what is no digest, which would be no name of a file. */
function blobPath(digest: string): string {
  const problem = digestProblem(digest);
  if (problem !== undefined) throw new Error(`${digest}: ${problem}`);
  return join("blobs", digest.replace(":", "/"));
}

function undefinedIfDamaged(err: unknown): undefined {
  if (!(err instanceof ImageContentError)) throw err;
}

function mediaTypeIn(bytes: Buffer): string {
  try {
    const body: unknown = JSON.parse(bytes.toString("utf8"));
    const own = typeof body === "object" && body !== null && "mediaType" in body ? body.mediaType : undefined;
    return typeof own === "string" ? own : MediaType.ociManifest;
  } catch {
    return MediaType.ociManifest;
  }
}
