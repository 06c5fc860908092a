import type { Slice } from "../store/contentIndex.ts";
import type { HeldFile } from "../store/storedFile.ts";

/** A complete response of the content server, before it is sent. */
export interface ContentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: ResponseBody;
}

/** Bytes in memory, or file pieces and bytes in order. */
export type ResponseBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "file"; readonly file: HeldFile; readonly pieces: readonly (Slice | Uint8Array)[] };

/** An empty body. */
export const NO_BODY: ResponseBody = { kind: "none" };

/** Returns the size of a body in bytes. */
export function countBodyBytes(body: ResponseBody): number {
  if (body.kind === "none") return 0;
  if (body.kind === "bytes") return body.bytes.byteLength;
  return body.pieces.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.byteLength : piece.end - piece.start), 0);
}

/** Returns `response` as the response to a HEAD request. */
export function withoutBody(response: ContentResponse): ContentResponse {
  return { ...response, body: NO_BODY };
}
