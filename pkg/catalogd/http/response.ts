import type { Slice } from "../store/contentIndex.ts";
import type { HeldFile } from "../store/storedFile.ts";

/** A complete response of the content server, before it is sent. */
export interface ContentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: ResponseBody;
}

/** Bytes in memory, or file pieces and bytes in order, of `bytes` bytes together. The pieces are iterated once. */
export type ResponseBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "file"; readonly file: HeldFile; readonly bytes: number; readonly pieces: Iterable<Slice | Uint8Array> };

/** An empty body. */
export const NO_BODY: ResponseBody = { kind: "none" };

/** Returns the size of a body in bytes. */
export function countBodyBytes(body: ResponseBody): number {
  if (body.kind === "none") return 0;
  return body.kind === "bytes" ? body.bytes.byteLength : body.bytes;
}

/** Returns `response` as the response to a HEAD request. */
export function withoutBody(response: ContentResponse): ContentResponse {
  return { ...response, body: NO_BODY };
}
