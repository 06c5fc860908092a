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
  chooseEncoding,
  evaluatePreconditions,
  formatContentRange,
  formatHttpDate,
  isRangeApplicable,
  parseRangeHeader,
} from "./conditional.ts";
import { ProblemError } from "./problem.ts";
import { type ContentResponse, NO_BODY, withoutBody } from "./response.ts";
import type { ResponseCache } from "./responseCache.ts";

/** The parts of a request that select content. */
export interface ContentRequest {
  /** GET or HEAD. */
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

const TYPE = { "content-type": "application/jsonl" } as const;
/** Smaller responses are not compressed. */
export const MIN_COMPRESSED_BYTES = 1_024;
/**
 * Content codings of filtered responses, preferred first. Gzip is free because responses are
 * assembled from stored blocks.
 */
const SELECTION_ENCODINGS: readonly Encoding[] = ["gzip", "zstd"];

/** An artifact of a content. */
export interface ServedArtifact {
  readonly content: CatalogContent;
  readonly artifact: StoredArtifact;
}

/**
 * Returns a whole artifact of a catalog's content. Like a static file, supports conditional
 * requests, ranges and HEAD. The response is compressed if the client accepts it and the compressed
 * file exists.
 * @throws ProblemError if a precondition fails or the range is not satisfiable.
 * @see Go 1.26 net/http/fs.go, serveContent
 */
export function respondWithAll({ content, artifact }: ServedArtifact, request: ContentRequest): ContentResponse {
  const { tag } = artifact.index;
  const etag = formatEtag(tag);
  const common = commonHeaders(content);
  const result = evaluatePreconditions(request.headers, { etags: listEtags(tag), lastModified: content.lastModified });
  if (result === "failed") throw preconditionFailed({ ...common, ...TYPE });
  if (result === "notModified") return notModified(content, request, tag);
  const response = rangeResponse({ content, artifact }, request, etag) ?? wholeResponse({ content, artifact }, request, etag);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

/**
 * Returns the lines of an artifact that match a query, without support for ranges. Small responses
 * are cached in `cache`.
 * @throws ProblemError if a precondition fails.
 */
export async function respondWithMetas(
  { content, artifact }: ServedArtifact,
  query: MetaQuery,
  request: ContentRequest,
  cache: ResponseCache,
): Promise<ContentResponse> {
  const selection = artifact.select(query);
  const { tag } = selection;
  const common = commonHeaders(content);
  const result = evaluatePreconditions(request.headers, { etags: listEtags(tag), lastModified: content.lastModified });
  if (result === "failed") throw preconditionFailed(common);
  if (result === "notModified") return notModified(content, request, tag);
  if (request.method === "HEAD") return { status: 200, headers: { ...common, ...TYPE, etag: formatEtag(tag) }, body: NO_BODY };
  return (
    (await smallResponse({ content, artifact }, selection, request, cache)) ?? selectionResponse({ content, artifact }, selection, request)
  );
}

function commonHeaders(content: CatalogContent): Record<string, string | number> {
  return { "last-modified": formatHttpDate(content.lastModified), "olm-catalog-digest": content.origin.digest };
}

/** Creates the error for a request whose precondition does not match the content. */
function preconditionFailed(headers: ContentResponse["headers"]): ProblemError {
  const detail = "the content does not match If-Match or If-Unmodified-Since";
  return new ProblemError("PreconditionFailed", detail, { headers, text: "" });
}

/** Creates the error for a request for ranges outside the content. */
function rangeNotSatisfiable(text: string, headers: ContentResponse["headers"]): ProblemError {
  return new ProblemError("RangeNotSatisfiable", text, { headers, text });
}

function notModified(content: CatalogContent, { headers }: ContentRequest, tag: string): ContentResponse {
  const known = listEtags(tag).find((etag) => headers["if-none-match"]?.includes(etag));
  return { status: 304, headers: { ...commonHeaders(content), etag: known ?? formatEtag(tag) }, body: NO_BODY };
}

/**
 * Returns the whole content, without support for ranges. HEAD responses are never compressed,
 * because their length must be the length of the content.
 */
function wholeResponse({ content, artifact }: ServedArtifact, request: ContentRequest, etag: string): ContentResponse {
  const { file } = artifact;
  const worthIt = file.bytes >= MIN_COMPRESSED_BYTES && request.method === "GET";
  const encoding = worthIt ? chooseEncoding(request.headers["accept-encoding"], artifact.encodings) : undefined;
  const compressed = encoding && artifact.compressed(encoding);
  if (compressed) {
    const own = { "content-encoding": encoding, etag: formatEtag(artifact.index.tag, encoding) };
    return fileResponse(content, { file: compressed, bytes: compressed.bytes, pieces: [{ start: 0, end: compressed.bytes }] }, own);
  }
  return fileResponse(content, { file, bytes: file.bytes, pieces: [{ start: 0, end: file.bytes }] }, { "accept-ranges": "bytes", etag });
}

function fileResponse(
  content: CatalogContent,
  { file, bytes, pieces }: GzipSelection,
  headers: ContentResponse["headers"],
): ContentResponse {
  return {
    status: 200,
    headers: { ...commonHeaders(content), ...TYPE, ...headers, "content-length": bytes },
    body: { kind: "file", file, bytes, pieces },
  };
}

/** Returns the response to a Range header; undefined if the header is absent or ignored. */
function rangeResponse({ content, artifact }: ServedArtifact, { headers }: ContentRequest, etag: string): ContentResponse | undefined {
  const { file } = artifact;
  const requested = headers.range;
  if (!requested || !isRangeApplicable(headers["if-range"] as string | undefined, etag, content.lastModified)) return undefined;
  const ranges = parseRangeHeader(requested, file.bytes);
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
    const own = { ...TYPE, "content-range": formatContentRange(only, file.bytes), "content-length": only.length };
    return { status: 206, headers: { ...shared, ...own }, body: { kind: "file", file, bytes: only.length, pieces: [toSlice(only)] } };
  }
  const { pieces, length, boundary } = multipart(parts, file.bytes);
  const own = { "content-type": `multipart/byteranges; boundary=${boundary}`, "content-length": length };
  return { status: 206, headers: { ...shared, ...own }, body: { kind: "file", file, bytes: length, pieces } };
}

function multipart(parts: readonly ByteRange[], size: number): { pieces: (Slice | Uint8Array)[]; length: number; boundary: string } {
  const boundary = randomBytes(30).toString("hex");
  const pieces = parts.flatMap((part, i) => {
    const head = `${i === 0 ? "" : "\r\n"}--${boundary}\r\nContent-Range: ${formatContentRange(part, size)}\r\nContent-Type: ${TYPE["content-type"]}\r\n\r\n`;
    return [Buffer.from(head), toSlice(part)];
  });
  const all = [...pieces, Buffer.from(`\r\n--${boundary}--\r\n`)];
  const length = all.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.byteLength : piece.end - piece.start), 0);
  return { pieces: all, length, boundary };
}

function toSlice({ start, length }: ByteRange): Slice {
  return { start, end: start + length };
}

/** Returns a response that is small enough for the cache. */
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
  const own = { ...(made ? { "content-encoding": made } : {}), etag: formatEtag(tag, made) };
  return {
    status: 200,
    headers: { ...commonHeaders(content), ...TYPE, ...own, "content-length": bytes.byteLength },
    body: { kind: "bytes", bytes },
  };
}

/** Returns the content coding for a filtered response that the client prefers. */
function selectionEncoding({ bytes }: LineSelection, { headers }: ContentRequest): Encoding | undefined {
  return bytes >= MIN_COMPRESSED_BYTES ? chooseEncoding(headers["accept-encoding"], SELECTION_ENCODINGS) : undefined;
}

/**
 * Returns a response that is too large for the cache: a whole artifact in any stored coding,
 * another selection as gzip.
 */
function selectionResponse({ content, artifact }: ServedArtifact, selection: LineSelection, request: ContentRequest): ContentResponse {
  if (selection.tag === artifact.index.tag) {
    const { headers, ...response } = wholeResponse({ content, artifact }, request, formatEtag(selection.tag));
    return { ...response, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "accept-ranges")) };
  }
  const gzip = selectionEncoding(selection, request) === "gzip" ? artifact.gzipped(selection) : undefined;
  if (gzip) return fileResponse(content, gzip, { "content-encoding": "gzip", etag: formatEtag(selection.tag, "gzip") });
  const plain = { file: artifact.file, bytes: selection.bytes, pieces: selection.slices };
  return fileResponse(content, plain, { etag: formatEtag(selection.tag) });
}

/** Reads the bytes of a selection, and verifies them because a damaged response would stay in the cache. */
export async function readSelection(file: HeldFile, selection: LineSelection): Promise<Uint8Array> {
  const bytes = await readPieces({ file, bytes: selection.bytes, pieces: selection.slices });
  if (crc32(bytes) !== selection.crc32) throw file.damage("the content does not match its stored checksum");
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

/** Returns the entity tags of all codings of a content. */
function listEtags(tag: string): string[] {
  return [formatEtag(tag), ...ENCODINGS.map((encoding) => formatEtag(tag, encoding))];
}

/** Returns the entity tag of a content in one coding. */
function formatEtag(tag: string, encoding?: Encoding): string {
  return encoding === undefined ? `"${tag}"` : `"${tag}.${MAKER[encoding]}-${encoding}"`;
}

/** A document in its current version. */
export interface ServedDocument {
  readonly bytes: Uint8Array;
  readonly type: string;
  /** Entity tag; equal for equal bytes. */
  readonly tag: string;
}

/** Creates a JSON document with a final newline. */
export function createJsonDocument(value: unknown): ServedDocument {
  return createDocument(Buffer.from(`${JSON.stringify(value)}\n`), "application/json");
}

/** Creates a document of these bytes. */
export function createDocument(bytes: Uint8Array, type: string): ServedDocument {
  return { bytes, type, tag: createHash("sha256").update(bytes).digest("base64url").slice(0, 22) };
}

/**
 * Returns the response with a document: with entity tag, conditional, and compressed if the client
 * accepts it. Compressed bytes are cached in `cache`.
 * @throws ProblemError if a precondition fails.
 */
export async function respondWithDocument(
  { bytes, type, tag }: ServedDocument,
  request: ContentRequest,
  cache: ResponseCache,
): Promise<ContentResponse> {
  const encoding = bytes.byteLength >= MIN_COMPRESSED_BYTES ? chooseEncoding(request.headers["accept-encoding"]) : undefined;
  const etag = formatEtag(tag, encoding);
  const result = evaluatePreconditions(request.headers, { etags: listEtags(tag), lastModified: undefined });
  if (result === "failed") throw preconditionFailed({ etag });
  if (result === "notModified") return { status: 304, headers: { etag }, body: NO_BODY };
  const sent = encoding ? await cache.get(`${tag} ${encoding}`, () => compressBytes(encoding, bytes)) : bytes;
  const headers = { "content-type": type, etag, ...(encoding ? { "content-encoding": encoding } : {}), "content-length": sent.byteLength };
  const response: ContentResponse = { status: 200, headers, body: { kind: "bytes", bytes: sent } };
  return request.method === "HEAD" ? withoutBody(response) : response;
}
