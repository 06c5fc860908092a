import * as z from "zod";
import { type ContentResponse, NO_BODY } from "./response.ts";

/** All problem types that the content server reports, by stable code. */
export const PROBLEMS = {
  BadRequest: { status: 400, title: "Invalid request" },
  InvalidCatalogName: { status: 400, title: "Invalid catalog name" },
  InvalidQuery: { status: 400, title: "Unknown query parameter or invalid value" },
  InvalidBody: { status: 400, title: "Invalid request body" },
  Forbidden: { status: 403, title: "Access to the content is forbidden" },
  PathNotFound: { status: 404, title: "Path not found" },
  CatalogNotFound: { status: 404, title: "Catalog not found" },
  PackageNotFound: { status: 404, title: "Package not found" },
  VersionNotFound: { status: 404, title: "Version not found" },
  ChannelNotFound: { status: 404, title: "Channel not found" },
  MethodNotAllowed: { status: 405, title: "Method not allowed" },
  RequestTimeout: { status: 408, title: "The request did not arrive in time" },
  ContinueExpired: { status: 410, title: "Continue token expired" },
  PreconditionFailed: { status: 412, title: "The content does not match the precondition" },
  BodyTooLarge: { status: 413, title: "The request body is too large" },
  UrlTooLong: { status: 414, title: "The request URL is too long" },
  RangeNotSatisfiable: { status: 416, title: "The range is not satisfiable" },
  GraphTooLarge: { status: 413, title: "The upgrade graph is too large" },
  PackageTooLarge: { status: 413, title: "The package is too large" },
  HeadersTooLarge: { status: 431, title: "The request headers are too large" },
  InternalError: { status: 500, title: "Internal server error" },
  CatalogNotLoaded: { status: 503, title: "The catalog content is still loading" },
  Overloaded: { status: 503, title: "Too many requests in progress" },
  Unavailable: { status: 503, title: "Temporarily unavailable" },
} as const satisfies Readonly<Record<string, { status: number; title: string }>>;

/** Stable code of a problem type. */
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

/** Values that override the defaults of a problem type. */
interface ProblemOptions extends ErrorOptions {
  readonly headers?: ContentResponse["headers"];
  /**
   * The plain text body that the Go server sends, without its newline; empty for a response without
   * a body. Default: the status, such as `404 Not Found`.
   */
  readonly text?: string;
}

/**
 * An error to report to the client. Thrown by handlers and validators, and sent by the server's
 * error handler.
 */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly statusCode: number;
  readonly headers: ContentResponse["headers"];
  readonly text: string;

  /** @param detail the problem with this request and how to fix it; limited in length, without secrets. */
  constructor(code: ProblemCode, detail: string, { headers = {}, text, ...options }: ProblemOptions = {}) {
    // Without a stack, because clients can cause these errors at a high rate and a stack takes 40
    // µs, 20% of the time for a 404.
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

/** Problem details in a response. @see RFC 9457 */
export const ProblemDetails = z
  .object({
    type: z.string().describe("URI of the problem type: `urn:olmv1:problem:` followed by the code"),
    title: z.string().describe("readable problem type"),
    status: z.number().int().describe("the HTTP status"),
    detail: z.string().describe("the problem with this request, and how to fix it"),
    instance: z.string().describe("path of the request"),
    code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]).describe("stable problem code for programs"),
  })
  .meta({ id: "Problem", description: "The reason why a request failed, see RFC 9457." });

const MAX_INSTANCE = 1_024;

/** Returns the response that reports an error as problem details. @param url as received. */
export function respondWithProblemDetails({ code, statusCode, message, headers }: ProblemError, url: string): ContentResponse {
  const details: z.infer<typeof ProblemDetails> = {
    type: `urn:olmv1:problem:${code}`,
    title: PROBLEMS[code].title,
    status: statusCode,
    detail: message,
    instance: (url.split("?", 1)[0] ?? "").slice(0, MAX_INSTANCE),
    code,
  };
  const bytes = Buffer.from(`${JSON.stringify(details)}\n`);
  const own = { ...typeHeaders(PROBLEM_TYPE, bytes), vary: "Accept-Encoding, Accept" };
  return { status: statusCode, headers: { ...headers, ...own }, body: { kind: "bytes", bytes } };
}

/**
 * Returns the response that reports an error like Go's `http.Error`: plain text with a newline, and
 * content sniffing disabled.
 */
export function respondWithProblemText({ statusCode, text, headers }: ProblemError): ContentResponse {
  if (text === "") return { status: statusCode, headers: { ...headers, "content-length": 0 }, body: NO_BODY };
  const bytes = Buffer.from(`${text}\n`);
  return {
    status: statusCode,
    headers: { ...headers, ...typeHeaders("text/plain; charset=utf-8", bytes) },
    body: { kind: "bytes", bytes },
  };
}

function typeHeaders(type: string, bytes: Uint8Array): ContentResponse["headers"] {
  return { "content-type": type, "x-content-type-options": "nosniff", "content-length": bytes.byteLength };
}

/**
 * Returns whether an Accept header requests problem details. The header must contain the media
 * type; wildcards are ignored.
 */
export function wantsProblemDetails(accept: string | undefined): boolean {
  return includesMediaType(accept, PROBLEM_TYPE);
}

/**
 * Returns whether an Accept header contains a media type explicitly (not by a wildcard) with a
 * weight above 0.
 */
export function includesMediaType(accept: string | undefined, mediaType: string): boolean {
  if (!accept?.toLowerCase().includes(mediaType)) return false;
  return accept.split(",").some((piece) => {
    const [type = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    return type === mediaType && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
