import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { CatalogContent, HeldFile, Selection } from "../content.ts";
import type { MetaQuery, Slice } from "../contentIndex.ts";
import { compressBytes, ENCODINGS, type Encoding } from "../encodings.ts";
import { type Answer, NO_BODY, textAnswer, withoutBody } from "./answer.ts";
import type { AnswerCache } from "./answerCache.ts";
import { httpDate } from "./httpDate.ts";
import { chosenEncoding } from "./negotiate.ts";
import { evaluatePreconditions, rangeApplies } from "./preconditions.ts";
import { type ByteRange, contentRange, parseRange } from "./ranges.ts";

/** The parts of a request that matter for content. */
export interface ContentRequest {
  readonly method: "GET" | "HEAD";
  readonly headers: IncomingHttpHeaders;
}

const TYPE = { "content-type": "application/jsonl" } as const;
/** Smaller answers are not worth compressing. */
const MIN_COMPRESSED_BYTES = 1_024;

/**
 * The whole content of a catalog, with everything that a static file has: conditions, ranges, HEAD; compressed where the client takes it and the
 * compressed form is there.
 * @see Go 1.26 net/http/fs.go, serveContent
 */
export function allAnswer(content: CatalogContent, request: ContentRequest): Answer {
  const { tag } = content.index;
  const etag = quoted(tag);
  const common = commonHeaders(content);
  const verdict = evaluatePreconditions(request.headers, { etags: etagsOf(tag), lastModified: content.lastModified });
  if (verdict === "failed") return { status: 412, headers: { ...common, ...TYPE, "content-length": 0 }, body: NO_BODY };
  if (verdict === "notModified") return notModified(content, request, tag);
  const answer = rangeAnswer(content, request, etag) ?? wholeAnswer(content, request, etag);
  return request.method === "HEAD" ? withoutBody(answer) : answer;
}

/** The metas of a catalog that match a query; no ranges. Small answers come from `cache`. */
export async function metasAnswer(content: CatalogContent, query: MetaQuery, request: ContentRequest, cache: AnswerCache): Promise<Answer> {
  const selection = content.select(query);
  const { tag } = selection;
  const common = commonHeaders(content);
  const verdict = evaluatePreconditions(request.headers, { etags: etagsOf(tag), lastModified: content.lastModified });
  if (verdict === "failed") return { status: 412, headers: { ...common, "content-length": 0 }, body: NO_BODY };
  if (verdict === "notModified") return notModified(content, request, tag);
  if (request.method === "HEAD") return { status: 200, headers: { ...common, ...TYPE, etag: quoted(tag) }, body: NO_BODY };
  return (await smallAnswer(content, selection, request, cache)) ?? selectionAnswer(content, selection, request);
}

function commonHeaders(content: CatalogContent): Record<string, string | number> {
  return { "last-modified": httpDate(content.lastModified), "olm-catalog-digest": content.origin.digest };
}

function notModified(content: CatalogContent, { headers }: ContentRequest, tag: string): Answer {
  const known = etagsOf(tag).find((etag) => headers["if-none-match"]?.includes(etag));
  return { status: 304, headers: { ...commonHeaders(content), etag: known ?? quoted(tag) }, body: NO_BODY };
}

/** The whole content; undefined ranges have been dealt with. HEAD is never compressed, as its length is the content's. */
function wholeAnswer(content: CatalogContent, request: ContentRequest, etag: string): Answer {
  const { file } = content;
  const worthIt = file.bytes >= MIN_COMPRESSED_BYTES && request.method === "GET";
  const encoding = worthIt ? chosenEncoding(request.headers["accept-encoding"], content.encodings) : undefined;
  const compressed = encoding && content.compressed(encoding);
  if (compressed) {
    const own = { "content-encoding": encoding, etag: quoted(content.index.tag, encoding) };
    return fileAnswer(content, compressed, [{ start: 0, end: compressed.bytes }], own);
  }
  return fileAnswer(content, file, [{ start: 0, end: file.bytes }], { "accept-ranges": "bytes", etag });
}

function fileAnswer(content: CatalogContent, file: HeldFile, slices: readonly Slice[], headers: Answer["headers"]): Answer {
  const length = slices.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    status: 200,
    headers: { ...commonHeaders(content), ...TYPE, ...headers, "content-length": length },
    body: { kind: "file", file, pieces: slices },
  };
}

/** The answer to a Range header; undefined when there is none that counts. */
function rangeAnswer(content: CatalogContent, { headers }: ContentRequest, etag: string): Answer | undefined {
  const { file } = content;
  const wanted = headers.range;
  if (!wanted || !rangeApplies(headers["if-range"] as string | undefined, etag, content.lastModified)) return undefined;
  const ranges = parseRange(wanted, file.bytes);
  const digest = { "olm-catalog-digest": content.origin.digest };
  if (ranges.kind === "invalid") return textAnswer(416, "invalid range", digest);
  if (ranges.kind === "none") {
    if (file.bytes === 0) return undefined;
    return textAnswer(416, "invalid range: failed to overlap", { ...digest, "content-range": `bytes */${file.bytes}` });
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
async function smallAnswer(
  content: CatalogContent,
  selection: Selection,
  request: ContentRequest,
  cache: AnswerCache,
): Promise<Answer | undefined> {
  const { tag, bytes: size } = selection;
  if (!cache.fits(size)) return undefined;
  const plain = (): Promise<Uint8Array> => cache.get(tag, () => readSlices(content.file, selection));
  const encoding = size >= MIN_COMPRESSED_BYTES ? chosenEncoding(request.headers["accept-encoding"]) : undefined;
  const bytes = encoding ? await cache.get(`${tag} ${encoding}`, async () => compressBytes(encoding, await plain())) : await plain();
  const own = { ...(encoding ? { "content-encoding": encoding } : {}), etag: quoted(tag, encoding) };
  return {
    status: 200,
    headers: { ...commonHeaders(content), ...TYPE, ...own, "content-length": bytes.byteLength },
    body: { kind: "bytes", bytes },
  };
}

/** An answer too large for the cache; compressed only if it is the whole content, which is compressed already. */
function selectionAnswer(content: CatalogContent, selection: Selection, request: ContentRequest): Answer {
  if (selection.tag === content.index.tag) {
    const { headers, ...answer } = wholeAnswer(content, request, quoted(selection.tag));
    return { ...answer, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "accept-ranges")) };
  }
  return fileAnswer(content, content.file, selection.slices, { etag: quoted(selection.tag) });
}

async function readSlices({ handle }: HeldFile, { slices, bytes }: Selection): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const { start, end } of slices) {
    for (let position = start; position < end; ) {
      const { bytesRead } = await handle.read(buffer, at, end - position, position);
      if (bytesRead === 0) throw new Error("the content file is shorter than its index says");
      position += bytesRead;
      at += bytesRead;
    }
  }
  return buffer;
}

/** The tags of all forms in which the content of one tag is answered. */
function etagsOf(tag: string): string[] {
  return [quoted(tag), ...ENCODINGS.map((encoding) => quoted(tag, encoding))];
}

function quoted(tag: string, encoding?: Encoding): string {
  return encoding === undefined ? `"${tag}"` : `"${tag}-${encoding}"`;
}
