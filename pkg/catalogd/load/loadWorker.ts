import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { getErrorMessage } from "../../errors/errors.ts";
import { type DecodeOptions, MetaDecoder } from "../../fbc/decode.ts";
import { ByteQueue } from "../../fbc/documentScanner.ts";
import { ContentError, type ContentPlace, type PlacedMeta } from "../../fbc/types.ts";
import { type ArtifactName, type DerivedArtifact, getArtifactFile } from "../store/content.ts";
import { type ArtifactMaker, createArtifactMakers, type EmitLine } from "./artifacts.ts";
import { ArtifactWriter } from "./artifactWriter.ts";
import { type CatalogFile, findCatalogFiles } from "./catalogFiles.ts";
import { FindingsArtifact } from "./findingsArtifact.ts";
import { CurrentFile, type LoadEnd, type LoadMessage, type LoadTask } from "./loadMessage.ts";

// Body of the worker thread that `loader.ts` starts. Reads the files of a catalog and writes its
// artifact files. Keeps only one document in memory at a time.

const READ_BYTES = 256 * 1024;

/** Buffers that are reused for each file. */
interface Buffers {
  read: Buffer;
  queue: ByteQueue;
}

function* decodeMetas(file: CatalogFile, { read, queue }: Buffers, options: DecodeOptions): Generator<PlacedMeta> {
  const decoder = new MetaDecoder(file.path, { ...options, buffer: queue });
  const fd = openSync(file.location, "r");
  try {
    for (let size = readSync(fd, read); size > 0; size = readSync(fd, read)) yield* decoder.push(read.subarray(0, size));
    yield* decoder.end();
  } finally {
    closeSync(fd);
  }
}

/** An artifact maker and the writer for its lines. */
interface DerivedWriter {
  maker: ArtifactMaker;
  emit: EmitLine;
}

function postLoadMessage(message: LoadMessage): void {
  parentPort?.postMessage(message, []);
}

function load({ root, staging, limits, validation, at }: LoadTask): LoadEnd {
  const current = new CurrentFile(at);
  const writers = new Map<ArtifactName, ArtifactWriter>();
  const getWriter = (artifact: ArtifactName): ArtifactWriter => {
    const writer = new ArtifactWriter(join(staging, getArtifactFile(artifact)), limits);
    writers.set(artifact, writer);
    return writer;
  };
  const catalog = getWriter("catalog");
  const findings = new FindingsArtifact(validation);
  const derived = (Object.entries({ findings, ...createArtifactMakers() }) as [DerivedArtifact, ArtifactMaker][]).map(
    ([artifact, maker]): DerivedWriter => {
      const writer = getWriter(artifact);
      return { maker, emit: (line) => void writer.add(line, line.value) };
    },
  );
  const buffers = { read: Buffer.allocUnsafeSlow(READ_BYTES), queue: new ByteQueue() };
  const decoding = { maxDocumentBytes: limits.documentBytes, onEmpty: (place: ContentPlace) => findings.addEmpty(place) };
  const files = findCatalogFiles(root, limits);
  postLoadMessage({ kind: "listed", bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) });
  for (const file of files) {
    current.set(file.path);
    for (const meta of decodeMetas(file, buffers, decoding)) {
      const sha256 = writeMeta(catalog, meta);
      if (catalog.lines > limits.metas) throw new Error(`the catalog has too many objects: maximum ${limits.metas}`);
      for (const { maker, emit } of derived) maker.add(meta, emit, sha256);
    }
  }
  for (const { maker, emit } of derived) maker.end(emit);
  const artifacts = new Map([...writers].map(([artifact, writer]) => [artifact, writer.close()] as const));
  return { kind: "loaded", files: files.length, artifacts, findings: findings.summary };
}

/**
 * Writes a meta. @returns the SHA-256 of its line. @throws ContentError if the meta has no JSON
 * form, or if its line, its names, or all names of the catalog are too long.
 */
function writeMeta(catalog: ArtifactWriter, meta: PlacedMeta): Buffer {
  try {
    return catalog.add(meta, meta.blob);
  } catch (err) {
    if (err instanceof TypeError || err instanceof RangeError) throw new ContentError(meta.place, getErrorMessage(err), { cause: err });
    throw err;
  }
}

function answer(): LoadEnd {
  try {
    return load(workerData as LoadTask);
  } catch (err) {
    return { kind: "failed", message: getErrorMessage(err), isContent: (err as NodeJS.ErrnoException).syscall === undefined };
  }
}

const message = answer();
const columns = message.kind === "loaded" ? [...message.artifacts.values()].flatMap((artifact) => Object.values(artifact)) : [];
parentPort?.postMessage(
  message,
  columns.flatMap((column) => (Array.isArray(column) ? [] : [column.buffer])),
);
