import { closeSync, constants, createReadStream, openSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { type Duplex, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { extract } from "tar-stream";
import { Turns } from "../../async/concurrency.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import type { PathFilter } from "./imageFilter.ts";
import { splitPath, type Tree } from "./tree.ts";
import { createZstdFrameSplitter } from "./zstdFrames.ts";

/** The limits that apply to all layers of an image together, see Limits. */
interface LayerLimits {
  readonly totalBytes: number;
  readonly fileBytes: number;
  readonly entries: number;
  readonly pathBytes: number;
}

/** Resources used by the layers applied so far. */
interface Usage {
  bytes: number;
  entries: number;
}

/** Target and limits of a layer. */
export interface LayerTarget {
  readonly tree: Tree;
  readonly filter: PathFilter;
  readonly limits: LayerLimits;
  readonly usage: Usage;
}

/** The header of an archive member; the type is undefined for types that the library does not know. */
interface Header {
  readonly name: string;
  readonly size: number;
  readonly type: string | null;
  readonly linkname: string | null;
  readonly pax?: object | null;
}

/** One archive member; it must be read or skipped before the next one. */
interface LayerEntry extends AsyncIterable<Uint8Array> {
  readonly header: Header;
  resume(): unknown;
}

/** The number of bytes read from a layer, and the size of its last member. */
interface LayerProgress {
  bytes: number;
  lastSize: number;
}

const CHUNK = 256 * 1024;
/** The block size of archives. */
const BLOCK = 512;
/**
 * Maximum number of extended header records of one entry, including global records of the archive, which count for every entry that has its own
 * records.
 */
const PAX_RECORDS = 1_000;
/**
 * Files up to this size are written in one operation, which is cheaper than several asynchronous
 * writes.
 */
const SMALL_FILE = 1024 * 1024;
/** Archives from before POSIX have no "ustar" magic. */
const TAR_OPTIONS = { allowUnknownFormat: true, highWaterMark: CHUNK };
const CREATE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
/** File system error codes for invalid names. They are content errors of the image. */
const NAME_ERRORS = new Set(["EEXIST", "EINVAL", "EILSEQ", "ELOOP", "EISDIR", "ENAMETOOLONG", "ENOTDIR", "ERR_INVALID_ARG_VALUE"]);
const UNSUPPORTED_COMPRESSION = new Map([
  ["425a68", "bzip2"],
  ["fd377a585a00", "xz"],
]);

/**
 * Applies one layer: a tar archive with gzip, zstd or no compression, regardless of its media type.
 * It may end directly after the content of its last file, as in the output of umoci before 0.5;
 * Go's readers accept that.
 * @param path the layer's file; its digest has been verified
 * @throws ImageContentError if the archive is invalid; RefusedError if it exceeds a limit or has an
 * unsupported entry
 */
export async function applyLayer(path: string, target: LayerTarget, signal: AbortSignal): Promise<void> {
  const archive = extract(TAR_OPTIONS);
  const seen: LayerProgress = { bytes: 0, lastSize: 0 };
  const stages = [createReadStream(path, { highWaterMark: CHUNK }), ...(await decompressors(path)), counter(target, seen)];
  const fed = pipeline([...stages, archive], { signal });
  // If the loop fails, it destroys the archive and with it the other streams. Their errors are only consequences, so the loop's error is thrown.
  const settled = fed.then(
    () => undefined,
    (err: unknown) => err,
  );
  target.tree.nextLayer();
  const turns = new Turns();
  try {
    for await (const entry of archive as AsyncIterable<LayerEntry>) {
      signal.throwIfAborted();
      seen.lastSize = entry.header.size;
      await applyEntry(entry, target);
      // Not before the entry is read: an error of the archive would destroy it, and hide the error.
      await turns.pause();
    }
  } catch (err) {
    await settled;
    signal.throwIfAborted();
    throw contentProblem(err);
  }
  const err = await settled;
  signal.throwIfAborted();
  if (err !== undefined) throw contentProblem(err);
  const rest = seen.bytes % BLOCK;
  if (rest !== 0 && rest !== seen.lastSize % BLOCK) throw new ImageContentError("invalid archive: Unexpected end of data");
}

async function applyEntry(entry: LayerEntry, target: LayerTarget): Promise<void> {
  const { header } = entry;
  const { tree, limits, usage, filter } = target;
  if (++usage.entries > limits.entries) throw new RefusedError(`the layers have more than ${limits.entries} entries`);
  const name = readName(header, limits);
  const path = splitPath(name);
  const last = path.at(-1) ?? "";
  if (last.startsWith(".wh.")) {
    entry.resume();
    await whiteout(tree, path.slice(0, -1), last, filter);
    return;
  }
  if (!filter.keeps(name) || path.length === 0) {
    entry.resume();
    return;
  }
  if (path.includes("..")) throw new RefusedError(`entry "${name}" has ".." in its name`);
  switch (header.type) {
    case "directory":
      tree.addDirectory(path);
      break;
    case "file":
    case "contiguous-file":
      if (header.size > limits.fileBytes) throw new RefusedError(`file "${name}" is larger than ${limits.fileBytes} bytes`);
      await writeFile(entry, header.size, tree.addFile(path));
      return;
    case "symlink":
      tree.addSymlink(path, linkName(header, name, limits));
      break;
    case "link":
      tree.addHardLink(path, hardLinkTarget(header, name, limits));
      break;
    case null:
    default:
      throw new RefusedError(
        `entry "${name}" has unsupported type ${header.type ?? "unknown"}: only files, directories and links are allowed`,
      );
  }
  entry.resume();
}

/** Removes content of lower layers if it is at or above the kept path. */
async function whiteout(tree: Tree, parent: readonly string[], last: string, filter: PathFilter): Promise<void> {
  if (parent.includes("..")) throw new RefusedError(`whiteout "${[...parent, last].join("/")}" has ".." in its name`);
  const opaque = last === ".wh..wh..opq";
  const hidden = last.slice(".wh.".length);
  if (!opaque && (hidden === "" || hidden === "." || hidden === "..")) throw new RefusedError(`invalid whiteout name "${last}"`);
  const path = opaque ? parent : [...parent, hidden];
  if (!filter.touches(path.join("/"))) return;
  if (opaque) await tree.opaque(path);
  else await tree.whiteout(path);
}

async function writeFile(entry: LayerEntry, size: number, path: string): Promise<void> {
  if (size <= SMALL_FILE) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry) chunks.push(chunk);
    const file = openSync(path, CREATE, 0o400);
    try {
      // Unlike writeSync, this never writes only a part without an error, as a disk that is nearly full would cause.
      for (const chunk of chunks) writeFileSync(file, chunk);
    } finally {
      closeSync(file);
    }
    return;
  }
  const file = await open(path, CREATE, 0o400);
  try {
    for await (const chunk of entry) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

/** Returns the entry's name after checking it. */
function readName(header: Header, limits: LayerLimits): string {
  const { name } = header;
  const records = Object.keys(header.pax ?? {});
  if (records.length > PAX_RECORDS)
    throw new RefusedError(`an entry has ${records.length} extended header records, more than the ${PAX_RECORDS} allowed`);
  if (records.some((key) => key.startsWith("GNU.sparse."))) throw new RefusedError(`sparse file "${name}" is not supported`);
  return checkedPath(name, limits);
}

function hardLinkTarget(header: Header, name: string, limits: LayerLimits): string[] {
  const target = splitPath(linkName(header, name, limits));
  if (target.includes("..")) throw new RefusedError(`hard link "${name}" has ".." in its target`);
  return target;
}

function linkName(header: Header, name: string, limits: LayerLimits): string {
  if (header.size > 0) throw new RefusedError(`link "${name}" must not have content`);
  return checkedPath(header.linkname ?? "", limits);
}

function checkedPath(path: string, limits: LayerLimits): string {
  if (Buffer.byteLength(path) > limits.pathBytes)
    throw new RefusedError(`an entry name or link target is longer than ${limits.pathBytes} bytes`);
  if (path.includes("\0")) throw new RefusedError("an entry name or link target contains a NUL byte");
  return path;
}

/** Returns the streams that decompress a layer; its first bytes determine the compression. */
async function decompressors(path: string): Promise<Duplex[]> {
  const file = await open(path);
  const start = Buffer.alloc(6);
  try {
    await file.read(start, 0, start.length, 0);
  } finally {
    await file.close();
  }
  const magic = start.toString("hex");
  if (magic.startsWith("1f8b")) return [createGunzip({ chunkSize: CHUNK })];
  if (magic.startsWith("28b52ffd") || /^5.2a4d18/.test(magic))
    return [createZstdFrameSplitter(), createZstdDecompress({ chunkSize: CHUNK })];
  for (const [prefix, name] of UNSUPPORTED_COMPRESSION)
    if (magic.startsWith(prefix)) throw new RefusedError(`the layer is compressed with ${name}: only gzip and zstd are supported`);
  return [];
}

/** Counts decompressed bytes, including discarded ones, so that an archive of only padding reaches the limit too. Pads an incomplete last block. */
function counter({ limits, usage }: LayerTarget, seen: LayerProgress): Duplex {
  return new Transform({
    transform: (chunk: Uint8Array, _encoding, done) => {
      usage.bytes += chunk.byteLength;
      seen.bytes += chunk.byteLength;
      if (usage.bytes > limits.totalBytes)
        done(new RefusedError(`the layers have more than ${limits.totalBytes} bytes after decompression`));
      else done(null, chunk);
    },
    flush: (done) => {
      const rest = seen.bytes % BLOCK;
      if (rest === 0 || seen.bytes < BLOCK) done();
      else done(null, Buffer.alloc(BLOCK - rest));
    },
  });
}

/** Maps errors of tar and zlib, and errors for invalid file names, to content errors. Returns other errors, such as a full disk, unchanged. */
function contentProblem(err: unknown): unknown {
  if (!(err instanceof Error) || err instanceof ImageContentError) return err;
  const code = (err as NodeJS.ErrnoException).code ?? "";
  if ((code === "" && err.name === "Error") || /^(Z_|ZSTD_|ERR_ZLIB|ERR_ZSTD)/.test(code))
    return new ImageContentError(`invalid archive: ${err.message}`, { cause: err });
  return NAME_ERRORS.has(code) ? new RefusedError(err.message.replace(/ '.*/s, ""), { cause: err }) : err;
}
