import * as z from "zod";
import { type ContentResponse, NO_BODY } from "./response.ts";

/** Every kind of failure that the content server reports, by its stable code. A new kind is a new line here. */
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
export type ProblemCode = keyof typeof PROBLEMS;

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  410: "Gone",
  413: "Request Entity Too Large",
  414: "Request URI Too Long",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** What of a failure differs from the usual one of its kind. */
interface ProblemOptions extends ErrorOptions {
  readonly headers?: ContentResponse["headers"];
  /** The body as text, as the Go server has it, without its newline; empty for a response without a body. Default: the status, `404 Not Found`. */
  readonly text?: string;
}

/** A failure that the client is to know of: a handler or a validator throws it, the server's error handler sends it. */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly statusCode: number;
  readonly headers: ContentResponse["headers"];
  readonly text: string;

  /** @param detail what is wrong with this request and what to do; bounded, without secrets. */
  constructor(code: ProblemCode, detail: string, { headers = {}, text, ...options }: ProblemOptions = {}) {
    // No stack: clients cause these as often as they like, and it costs 40 µs, a fifth of the time of a 404.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "ProblemError";
    this.code = code;
    this.statusCode = PROBLEMS[code].status;
    this.headers = headers;
    this.text = text ?? `${this.statusCode} ${REASONS[this.statusCode] ?? "Error"}`;
  }
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

/** Returns the response that reports a failure as problem details. @param url as it was sent. */
export function problemDetails({ code, statusCode, message, headers }: ProblemError, url: string): ContentResponse {
  const details: z.infer<typeof ProblemDetails> = {
    type: `urn:olmv1:problem:${code}`,
    title: PROBLEMS[code].title,
    status: statusCode,
    detail: message,
    instance: (url.split("?", 1)[0] ?? "").slice(0, MAX_INSTANCE),
    code,
  };
  const bytes = Buffer.from(`${JSON.stringify(details)}\n`);
  const own = { ...typed(PROBLEM_TYPE, bytes), vary: "Accept-Encoding, Accept" };
  return { status: statusCode, headers: { ...headers, ...own }, body: { kind: "bytes", bytes } };
}

/** Returns the response that reports a failure as Go's `http.Error` does: text with a newline, not to be taken for anything but text. */
export function problemText({ statusCode, text, headers }: ProblemError): ContentResponse {
  if (text === "") return { status: statusCode, headers: { ...headers, "content-length": 0 }, body: NO_BODY };
  const bytes = Buffer.from(`${text}\n`);
  return { status: statusCode, headers: { ...headers, ...typed("text/plain; charset=utf-8", bytes) }, body: { kind: "bytes", bytes } };
}

function typed(type: string, bytes: Uint8Array): ContentResponse["headers"] {
  return { "content-type": type, "x-content-type-options": "nosniff", "content-length": bytes.byteLength };
}

/** Tells whether a client that sent this Accept wants failures as problem details: it has to name the type, wildcards do not. */
export function wantsProblemDetails(accept: string | undefined): boolean {
  return namesMediaType(accept, PROBLEM_TYPE);
}

/** Reports whether an Accept header names a media type itself, not by a wildcard, with a weight above 0. */
export function namesMediaType(accept: string | undefined, mediaType: string): boolean {
  if (!accept?.toLowerCase().includes(mediaType)) return false;
  return accept.split(",").some((piece) => {
    const [type = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    return type === mediaType && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
