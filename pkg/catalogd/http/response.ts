import * as z from "zod";
import type { Slice } from "../store/contentIndex.ts";
import type { HeldFile } from "../store/storedFile.ts";

/** Every kind of failure that the content server tells, by its stable code. A new kind is a new line here. */
export const PROBLEMS = {
  BadRequest: { status: 400, title: "The request cannot be read" },
  InvalidCatalogName: { status: 400, title: "The name cannot be that of a catalog" },
  InvalidQuery: { status: 400, title: "A query parameter is unknown or has a wrong value" },
  InvalidBody: { status: 400, title: "The body of the request cannot be read" },
  Forbidden: { status: 403, title: "The content may not be read" },
  PathNotFound: { status: 404, title: "Nothing is served at this path" },
  CatalogNotFound: { status: 404, title: "There is no such catalog" },
  PackageNotFound: { status: 404, title: "There is no such package in the catalog" },
  ChannelNotFound: { status: 404, title: "There is no such channel in the package" },
  MethodNotAllowed: { status: 405, title: "The method is not one of those of this path" },
  RequestTimeout: { status: 408, title: "The request did not arrive in time" },
  ContinueExpired: { status: 410, title: "What is continued is not there any more" },
  PreconditionFailed: { status: 412, title: "The content is not the one that the request is about" },
  BodyTooLarge: { status: 413, title: "The body of the request is too large" },
  UrlTooLong: { status: 414, title: "The URL of the request is too long" },
  RangeNotSatisfiable: { status: 416, title: "The content does not have the range" },
  GraphTooLarge: { status: 413, title: "The update graph is too large" },
  HeadersTooLarge: { status: 431, title: "The headers of the request are too large" },
  InternalError: { status: 500, title: "The request could not be answered" },
  CatalogNotLoaded: { status: 503, title: "The content of the catalog is not loaded here yet" },
  Overloaded: { status: 503, title: "Too many requests are being answered" },
  Unavailable: { status: 503, title: "The request cannot be answered now" },
} as const satisfies Readonly<Record<string, { status: number; title: string }>>;

/** Stable name of a kind of failure. */
type ProblemCode = keyof typeof PROBLEMS;

/** A failure, to be told as text or as problem details. */
interface Problem {
  readonly code: ProblemCode;
  /** What is wrong with this request and what to do; bounded, without secrets. */
  readonly detail: string;
}

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

/** Media type of problem details. @see RFC 9457 */
export const PROBLEM_TYPE = "application/problem+json";

/** Problem details as they are sent. @see RFC 9457 */
export const ProblemDetails = z
  .object({
    type: z.string().describe("URI of the kind of problem: `urn:olmv1:problem:` and the code"),
    title: z.string().describe("the kind of problem in words"),
    status: z.number().int().describe("the HTTP status"),
    detail: z.string().describe("what is wrong with this request and what to do"),
    instance: z.string().describe("path of the request"),
    code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]).describe("stable name of the kind of problem, for programs"),
  })
  .meta({ id: "Problem", description: "Why a request failed, as RFC 9457 has it." });

const MAX_INSTANCE = 1_024;

/** The form in which an answer with a problem is sent as problem details; its other headers stay. @param url as it was sent. */
export function asProblemDetails(answer: Answer, { code, detail }: Problem, url: string): Answer {
  const instance = (url.split("?", 1)[0] ?? "").slice(0, MAX_INSTANCE);
  const { title } = PROBLEMS[code];
  const details: z.infer<typeof ProblemDetails> = {
    type: `urn:olmv1:problem:${code}`,
    title,
    status: answer.status,
    detail,
    instance,
    code,
  };
  const bytes = Buffer.from(`${JSON.stringify(details)}\n`);
  const type = { "content-type": PROBLEM_TYPE, "x-content-type-options": "nosniff" };
  return {
    ...answer,
    headers: { ...answer.headers, ...type, vary: "Accept-Encoding, Accept", "content-length": bytes.length },
    body: { kind: "bytes", bytes },
  };
}

/** Whether a client that sent this Accept wants failures as problem details: it has to name the type, wildcards do not. */
export function wantsProblemDetails(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes(PROBLEM_TYPE)) return false;
  return accept.split(",").some((piece) => {
    const [type = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    return type === PROBLEM_TYPE && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
