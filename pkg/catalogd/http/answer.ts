import type { Slice } from "../store/contentIndex.ts";
import type { HeldFile } from "../store/heldFile.ts";
import { PROBLEMS, type Problem, type ProblemCode } from "./problem.ts";

/** A complete answer of the content server, before it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: AnswerBody;
  /** Of a failure: what is sent instead of the body to a client that wants problem details, and always on routes that tell failures so. */
  readonly problem?: Problem;
}

/** Bytes at hand, or pieces of a file and bytes between them, in order. */
export type AnswerBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "file"; readonly file: HeldFile; readonly pieces: readonly (Slice | Uint8Array)[] };

/** The body of an answer that has none. */
export const NO_BODY: AnswerBody = { kind: "none" };
const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  410: "Gone",
  413: "Request Entity Too Large",
  414: "Request URI Too Long",
  422: "Unprocessable Entity",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};
/** What a status without a closer word means. */
const GENERAL: Readonly<Record<number, ProblemCode>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "PathNotFound",
  405: "MethodNotAllowed",
  416: "RangeNotSatisfiable",
  503: "Unavailable",
};

/** A text answer as Go's `http.Error` gives it: with a newline, not to be taken for anything but text. A failure; `problem` says which. */
export function textAnswer(status: number, text: string, headers: Answer["headers"] = {}, problem?: Problem): Answer {
  const bytes = Buffer.from(`${text}\n`);
  const type = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return {
    status,
    headers: { ...headers, ...type, "content-length": bytes.length },
    body: { kind: "bytes", bytes },
    problem: problem ?? { code: GENERAL[status] ?? "InternalError", detail: text },
  };
}

/** The status as its own text: `404 Not Found`. */
export function statusAnswer(status: number, problem?: Problem, headers: Answer["headers"] = {}): Answer {
  return textAnswer(status, `${status} ${REASONS[status] ?? "Error"}`, headers, problem);
}

/** A failure of a known kind, with the kind's status; as text it is the status. */
export function problemAnswer(code: ProblemCode, detail: string, headers: Answer["headers"] = {}): Answer {
  return statusAnswer(PROBLEMS[code].status, { code, detail }, headers);
}

/** How many bytes the body has. */
export function bodyBytes({ body }: Answer): number {
  if (body.kind === "none") return 0;
  if (body.kind === "bytes") return body.bytes.byteLength;
  return body.pieces.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.byteLength : piece.end - piece.start), 0);
}

/** `answer` as HEAD gets it. */
export function withoutBody(answer: Answer): Answer {
  return { ...answer, body: NO_BODY };
}
