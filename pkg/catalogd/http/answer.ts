import type { HeldFile } from "../content.ts";
import type { Slice } from "../contentIndex.ts";

/** A complete answer of the content server, before it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: AnswerBody;
}

/** Bytes at hand, or pieces of a file and bytes between them, in order. */
export type AnswerBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "file"; readonly file: HeldFile; readonly pieces: readonly (Slice | Uint8Array)[] };

export const NO_BODY: AnswerBody = { kind: "none" };
const REASONS: Readonly<Record<number, string>> = { 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 500: "Internal Server Error" };

/** A text answer as Go's `http.Error` gives it: with a newline, not to be taken for anything but text. */
export function textAnswer(status: number, text: string, headers: Answer["headers"] = {}): Answer {
  const bytes = Buffer.from(`${text}\n`);
  const type = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return { status, headers: { ...headers, ...type, "content-length": bytes.length }, body: { kind: "bytes", bytes } };
}

/** The status as its own text: `404 Not Found`. */
export function statusAnswer(status: 400 | 403 | 404 | 500): Answer {
  return textAnswer(status, `${status} ${REASONS[status]}`);
}

/** `answer` as HEAD gets it. */
export function withoutBody(answer: Answer): Answer {
  return { ...answer, body: NO_BODY };
}
