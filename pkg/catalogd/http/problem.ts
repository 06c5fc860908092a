import { z } from "zod";
import type { Answer } from "./answer.ts";

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
  GraphTooLarge: { status: 422, title: "The update graph is too large to be drawn" },
  HeadersTooLarge: { status: 431, title: "The headers of the request are too large" },
  InternalError: { status: 500, title: "The request could not be answered" },
  CatalogNotLoaded: { status: 503, title: "The content of the catalog is not loaded here yet" },
  Overloaded: { status: 503, title: "Too many requests are being answered" },
  Unavailable: { status: 503, title: "The request cannot be answered now" },
} as const satisfies Readonly<Record<string, { status: number; title: string }>>;

/** Stable name of a kind of failure. */
export type ProblemCode = keyof typeof PROBLEMS;

/** A failure, to be told as text or as problem details. */
export interface Problem {
  readonly code: ProblemCode;
  /** What is wrong with this request and what to do; bounded, without secrets. */
  readonly detail: string;
}

/** @see RFC 9457 */
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
