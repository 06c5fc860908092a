import { createHash } from "node:crypto";
import { compressBytes } from "../store/encodings.ts";
import { type Answer, NO_BODY, withoutBody } from "./answer.ts";
import type { AnswerCache } from "./answerCache.ts";
import { type ContentRequest, etagsOf, MIN_COMPRESSED_BYTES, preconditionFailed, quoted } from "./contentAnswers.ts";
import { chosenEncoding } from "./negotiate.ts";
import { evaluatePreconditions } from "./preconditions.ts";

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

/** A document with its tag, conditional and compressed as the client takes it. Compressed forms are kept in `cache`. */
export async function documentAnswer({ bytes, type, tag }: ServedDocument, request: ContentRequest, cache: AnswerCache): Promise<Answer> {
  const encoding = bytes.byteLength >= MIN_COMPRESSED_BYTES ? chosenEncoding(request.headers["accept-encoding"]) : undefined;
  const etag = quoted(tag, encoding);
  const verdict = evaluatePreconditions(request.headers, { etags: etagsOf(tag), lastModified: undefined });
  if (verdict === "failed") return preconditionFailed({ etag });
  if (verdict === "notModified") return { status: 304, headers: { etag }, body: NO_BODY };
  const sent = encoding ? await cache.get(`${tag} ${encoding}`, () => compressBytes(encoding, bytes)) : bytes;
  const headers = { "content-type": type, etag, ...(encoding ? { "content-encoding": encoding } : {}), "content-length": sent.byteLength };
  const answer: Answer = { status: 200, headers, body: { kind: "bytes", bytes: sent } };
  return request.method === "HEAD" ? withoutBody(answer) : answer;
}
