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
export type ProblemCode = keyof typeof PROBLEMS;

/** A failure, to be told as text or as problem details. */
export interface Problem {
  readonly code: ProblemCode;
  /** What is wrong with this request and what to do; bounded, without secrets. */
  readonly detail: string;
}
