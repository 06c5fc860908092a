import { createHash, randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { crc32 } from "node:zlib";
import type { CatalogContent } from "../store/content.ts";
import type { LineSelection, MetaQuery, Slice } from "../store/contentIndex.ts";
import { compressBytes, ENCODINGS, type Encoding, MAKER } from "../store/encodings.ts";
import type { GzipSelection, StoredArtifact } from "../store/storedArtifact.ts";
import type { HeldFile } from "../store/storedFile.ts";
import {
  type ByteRange,
  chosenEncoding,
  contentRange,
  evaluatePreconditions,
  httpDate,
  parseRangeHeader,
  rangeApplies,
} from "./conditional.ts";
import { ProblemError } from "./problem.ts";
import { type ContentResponse, NO_BODY, withoutBody } from "./response.ts";
import type { ResponseCache } from "./responseCache.ts";

/** What of a request matters for content. */
export interface ContentRequest {
  /** GET or HEAD. */
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

const TYPE = { "content-type": "application/jsonl" } as const;
/** Smaller answers are not worth compressing. */
export const MIN_COMPRESSED_BYTES = 1_024;
/** What filtered answers can be had in, the better one first: gzip costs nothing, as it is put together from what is there. */
const SELECTION_ENCODINGS: readonly Encoding[] = ["gzip", "zstd"];

/** An artifact of a content. */
export interface ServedArtifact {
  readonly content: CatalogContent;
  readonly artifact: StoredArtifact;
}

/**
 * A whole artifact of a catalog's content, with everything that a static file has: conditions, ranges, HEAD; compressed where the client takes it and the
 * compressed form is there.
 * @throws ProblemError when a precondition fails or there is no such range.
 * @see Go 1.26 net/http/fs.go, serveContent
 */
export function allResponse({ content, artifact }: ServedArtifact, request: ContentRequest): ContentResponse {
  const { tag } = artifact.index;
  const etag = quoted(tag);
  const common = commonHeaders(content);
  const verdict = evaluatePreconditions(request.headers, { etags: etagsOf(tag), lastModified: content.lastModified });
  if (verdict === "failed") throw preconditionFailed({ ...common, ...TYPE });
  if (verdict === "notModified") return notModified(content, request, tag);
  const response = rangeResponse({ content, artifact }, request, etag) ?? wholeResponse({ content, artifact }, request, etag);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

/**
 * Returns the lines of an artifact that match a query; no ranges. Small responses come from `cache`.
 * @throws ProblemError when a precondition fails.
 */
export async function metasResponse(
  { content, artifact }: ServedArtifact,
  query: MetaQuery,
  request: ContentRequest,
  cache: ResponseCache,
): Promise<ContentResponse> {
  const selection = artifact.select(query);
  const { tag } = selection;
  const common = commonHeaders(content);
  const verdict = evaluatePreconditions(request.headers, { etags: etagsOf(tag), lastModified: content.lastModified });
  if (verdict === "failed") throw preconditionFailed(common);
  if (verdict === "notModified") return notModified(content, request, tag);
  if (request.method === "HEAD") return { status: 200, headers: { ...common, ...TYPE, etag: quoted(tag) }, body: NO_BODY };
  return (
    (await smallResponse({ content, artifact }, selection, request, cache)) ?? selectionResponse({ content, artifact }, selection, request)
  );
}

function commonHeaders(content: CatalogContent): Record<string, string | number> {
  return { "last-modified": httpDate(content.lastModified), "olm-catalog-digest": content.origin.digest };
}

/** Returns the failure of a request for other content than there is. */
function preconditionFailed(headers: ContentResponse["headers"]): ProblemError {
  const detail = "the content is not the one that If-Match or If-Unmodified-Since names";
  return new ProblemError("PreconditionFailed", detail, { headers, text: "" });
}

/** Returns the failure of a request for ranges that the content does not have. */
function rangeNotSatisfiable(text: string, headers: ContentResponse["headers"]): ProblemError {
  return new ProblemError("RangeNotSatisfiable", text, { headers, text });
}

function notModified(content: CatalogContent, { headers }: ContentRequest, tag: string): ContentResponse {
  const known = etagsOf(tag).find((etag) => headers["if-none-match"]?.includes(etag));
  return { status: 304, headers: { ...commonHeaders(content), etag: known ?? quoted(tag) }, body: NO_BODY };
}

/** The whole content; undefined ranges have been dealt with. HEAD is never compressed, as its length is the content's. */
function wholeResponse({ content, artifact }: ServedArtifact, request: ContentRequest, etag: string): ContentResponse {
  const { file } = artifact;
  const worthIt = file.bytes >= MIN_COMPRESSED_BYTES && request.method === "GET";
  const encoding = worthIt ? chosenEncoding(request.headers["accept-encoding"], artifact.encodings) : undefined;
  const compressed = encoding && artifact.compressed(encoding);
  if (compressed) {
    const own = { "content-encoding": encoding, etag: quoted(artifact.index.tag, encoding) };
    return fileResponse(content, compressed, [{ start: 0, end: compressed.bytes }], own);
  }
  return fileResponse(content, file, [{ start: 0, end: file.bytes }], { "accept-ranges": "bytes", etag });
}

function fileResponse(
  content: CatalogContent,
  file: HeldFile,
  slices: readonly Slice[],
  headers: ContentResponse["headers"],
): ContentResponse {
  const length = slices.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    status: 200,
    headers: { ...commonHeaders(content), ...TYPE, ...headers, "content-length": length },
    body: { kind: "file", file, pieces: slices },
  };
}

/** The answer to a Range header; undefined when there is none that counts. */
function rangeResponse({ content, artifact }: ServedArtifact, { headers }: ContentRequest, etag: string): ContentResponse | undefined {
  const { file } = artifact;
  const wanted = headers.range;
  if (!wanted || !rangeApplies(headers["if-range"] as string | undefined, etag, content.lastModified)) return undefined;
  const ranges = parseRangeHeader(wanted, file.bytes);
  if (ranges.kind === "tooMany") return undefined;
  const digest = { "olm-catalog-digest": content.origin.digest };
  if (ranges.kind === "invalid") throw rangeNotSatisfiable("invalid range", digest);
  if (ranges.kind === "none") {
    if (file.bytes === 0) return undefined;
    throw rangeNotSatisfiable("invalid range: failed to overlap", { ...digest, "content-range": `bytes */${file.bytes}` });
  }
  const { parts } = ranges;
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  const [only] = parts;
  if (!only || total > file.bytes) return undefined;
  const shared = { ...commonHeaders(content), "accept-ranges": "bytes", etag };
  if (parts.length === 1) {
    const own = { ...TYPE, "content-range": contentRange(only, file.bytes), "content-length": only.length };
    return { status: 206, headers: { ...shared, ...own }, body: { kind: "file", file, pieces: [sliceOf(only)] } };
  }
  const { pieces, length, boundary } = multipart(parts, file.bytes);
  const own = { "content-type": `multipart/byteranges; boundary=${boundary}`, "content-length": length };
  return { status: 206, headers: { ...shared, ...own }, body: { kind: "file", file, pieces } };
}

function multipart(parts: readonly ByteRange[], size: number): { pieces: (Slice | Uint8Array)[]; length: number; boundary: string } {
  const boundary = randomBytes(30).toString("hex");
  const pieces = parts.flatMap((part, i) => {
    const head = `${i === 0 ? "" : "\r\n"}--${boundary}\r\nContent-Range: ${contentRange(part, size)}\r\nContent-Type: ${TYPE["content-type"]}\r\n\r\n`;
    return [Buffer.from(head), sliceOf(part)];
  });
  const all = [...pieces, Buffer.from(`\r\n--${boundary}--\r\n`)];
  const length = all.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.byteLength : piece.end - piece.start), 0);
  return { pieces: all, length, boundary };
}

function sliceOf({ start, length }: ByteRange): Slice {
  return { start, end: start + length };
}

/** An answer that fits the cache. */
async function smallResponse(
  { content, artifact }: ServedArtifact,
  selection: LineSelection,
  request: ContentRequest,
  cache: ResponseCache,
): Promise<ContentResponse | undefined> {
  const { tag, bytes: size } = selection;
  const encoding = selectionEncoding(selection, request);
  const gzip = encoding === "gzip" ? artifact.gzipped(selection) : undefined;
  if (!cache.fits(gzip?.bytes ?? size)) return undefined;
  const plain = (): Promise<Uint8Array> => cache.get(tag, () => readSelection(artifact.file, selection));
  const gzipped = gzip && (await cache.get(`${tag} gzip`, () => readPieces(gzip)));
  const zstd = encoding === "zstd" ? await cache.getUnlessBusy(`${tag} zstd`, async () => compressBytes("zstd", await plain())) : undefined;
  const made = gzipped ? "gzip" : zstd && "zstd";
  const bytes = gzipped ?? zstd ?? (await plain());
  const own = { ...(made ? { "content-encoding": made } : {}), etag: quoted(tag, made) };
  return {
    status: 200,
    headers: { ...commonHeaders(content), ...TYPE, ...own, "content-length": bytes.byteLength },
    body: { kind: "bytes", bytes },
  };
}

/** The coding that the client wants a filtered answer in. */
function selectionEncoding({ bytes }: LineSelection, { headers }: ContentRequest): Encoding | undefined {
  return bytes >= MIN_COMPRESSED_BYTES ? chosenEncoding(headers["accept-encoding"], SELECTION_ENCODINGS) : undefined;
}

/** An answer too large for the cache: whole artifacts in any coding there is, others put together as gzip. */
function selectionResponse({ content, artifact }: ServedArtifact, selection: LineSelection, request: ContentRequest): ContentResponse {
  if (selection.tag === artifact.index.tag) {
    const { headers, ...response } = wholeResponse({ content, artifact }, request, quoted(selection.tag));
    return { ...response, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "accept-ranges")) };
  }
  const gzip = selectionEncoding(selection, request) === "gzip" ? artifact.gzipped(selection) : undefined;
  if (!gzip) return fileResponse(content, artifact.file, selection.slices, { etag: quoted(selection.tag) });
  return {
    status: 200,
    headers: {
      ...commonHeaders(content),
      ...TYPE,
      "content-encoding": "gzip",
      etag: quoted(selection.tag, "gzip"),
      "content-length": gzip.bytes,
    },
    body: { kind: "file", file: gzip.file, pieces: gzip.pieces },
  };
}

/** The bytes of a selection, checked: what is cached would be wrong for long. */
export async function readSelection(file: HeldFile, selection: LineSelection): Promise<Uint8Array> {
  const bytes = await readPieces({ file, bytes: selection.bytes, pieces: selection.slices });
  if (crc32(bytes) !== selection.crc32) throw file.damage("the content has another checksum than it was written with");
  return bytes;
}

async function readPieces({ file, pieces, bytes }: GzipSelection): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      buffer.set(piece, at);
      at += piece.length;
    } else
      for (let position = piece.start; position < piece.end; ) {
        const read = await file.read(buffer, at, piece.end - position, position);
        position += read;
        at += read;
      }
  }
  return buffer;
}

/** The tags of all forms in which the content of one tag is answered. */
function etagsOf(tag: string): string[] {
  return [quoted(tag), ...ENCODINGS.map((encoding) => quoted(tag, encoding))];
}

/** The entity tag of the form of a content in one coding. */
function quoted(tag: string, encoding?: Encoding): string {
  return encoding === undefined ? `"${tag}"` : `"${tag}.${MAKER[encoding]}-${encoding}"`;
}

/** Something that is served as it is at this moment. */
export interface ServedDocument {
  readonly bytes: Uint8Array;
  readonly type: string;
  /** Equal for equal bytes. */
  readonly tag: string;
}

/** A document in JSON, with a newline. */
export function jsonDocument(value: unknown): ServedDocument {
  return documentOf(Buffer.from(`${JSON.stringify(value)}\n`), "application/json");
}

/** A document of these bytes. */
export function documentOf(bytes: Uint8Array, type: string): ServedDocument {
  return { bytes, type, tag: createHash("sha256").update(bytes).digest("base64url").slice(0, 22) };
}

/**
 * Returns a document with its tag, conditional and compressed as the client takes it. Compressed forms are kept in `cache`.
 * @throws ProblemError when a precondition fails.
 */
export async function documentResponse(
  { bytes, type, tag }: ServedDocument,
  request: ContentRequest,
  cache: ResponseCache,
): Promise<ContentResponse> {
  const encoding = bytes.byteLength >= MIN_COMPRESSED_BYTES ? chosenEncoding(request.headers["accept-encoding"]) : undefined;
  const etag = quoted(tag, encoding);
  const verdict = evaluatePreconditions(request.headers, { etags: etagsOf(tag), lastModified: undefined });
  if (verdict === "failed") throw preconditionFailed({ etag });
  if (verdict === "notModified") return { status: 304, headers: { etag }, body: NO_BODY };
  const sent = encoding ? await cache.get(`${tag} ${encoding}`, () => compressBytes(encoding, bytes)) : bytes;
  const headers = { "content-type": type, etag, ...(encoding ? { "content-encoding": encoding } : {}), "content-length": sent.byteLength };
  const response: ContentResponse = { status: 200, headers, body: { kind: "bytes", bytes: sent } };
  return request.method === "HEAD" ? withoutBody(response) : response;
}
