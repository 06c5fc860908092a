import type { ConnectionFailure } from "../../consoleapi/live.ts";
import type { ConsoleProblem } from "../../consoleapi/problem.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isConflict, isForbidden, isNotFound, KindNotServed, KubeError } from "../../kube/errors.ts";
import { FetchError, UnreachableError } from "../../oci/registry/networkError.ts";
import { redactSecrets } from "../../text/redact.ts";
import { truncate } from "../../text/truncate.ts";
import { classifyConnectionFailure, findConnectionFailure } from "./connectionFailure.ts";

const STATUS: Readonly<Record<ConsoleProblem["kind"], number>> = {
  signedOut: 401,
  forbidden: 403,
  notFound: 404,
  notInstalled: 404,
  disconnected: 503,
  invalid: 400,
  conflict: 409,
  limited: 429,
  failed: 500,
};
const MAX_MESSAGE = 2_000;
/** What to do about errors that do not say it themselves. */
const NEXT: Partial<Record<ConsoleProblem["kind"], string>> = {
  signedOut: "Sign in to the cluster again, then reload the page.",
  disconnected: "Check that the cluster runs, that you can reach it, and that your credentials are valid, then try again.",
};

/** Messages in place of errors of the connection, which name system calls and codes. */
const DISCONNECTED: Partial<Record<ConnectionFailure, string>> = {
  unreachable: "The API server does not respond.",
  certificate: "The certificate of the API server is not valid.",
};

/** An error whose text the page shows. */
export class ConsoleError extends Error {
  override readonly name = "ConsoleError";
  readonly kind: ConsoleProblem["kind"];
  readonly next: string | undefined;
  /** The permission that the user lacks, formatted. */
  readonly missing: string | undefined;
  /** Name of the extension that the error is about. */
  readonly extension: string | undefined;

  constructor(
    kind: ConsoleProblem["kind"],
    message: string,
    { next, missing, extension, cause }: { next?: string; missing?: string; extension?: string; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.kind = kind;
    this.next = next;
    this.missing = missing;
    this.extension = extension;
  }
}

/** Describes an error to the page: without secrets, and with a bounded text. */
export function toConsoleProblem(err: unknown): { status: number; problem: ConsoleProblem } {
  const found = findConsoleError(err);
  const kind = found?.kind ?? classify(err);
  const message = truncate(redactSecrets(getErrorMessage(err)), MAX_MESSAGE);
  const described = !found && kind === "disconnected" ? DISCONNECTED[classifyConnectionFailure(err)] : undefined;
  const problem: ConsoleProblem = { kind, ...(described === undefined ? { message } : { message: described, detail: message }) };
  const next = found?.next ?? NEXT[kind];
  if (next !== undefined) problem.next = next;
  if (found?.missing !== undefined) problem.missing = found.missing;
  if (found?.extension !== undefined) problem.extension = found.extension;
  return { status: findHttpStatus(err) ?? STATUS[kind], problem };
}

/** Returns the status of an error of fastify, such as 413 for a body that is too large. */
function findHttpStatus(err: unknown): number | undefined {
  const status = err instanceof Error && "statusCode" in err && typeof err.statusCode === "number" ? err.statusCode : 0;
  return status >= 400 && status < 500 ? status : undefined;
}

function findConsoleError(err: unknown): ConsoleError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof ConsoleError) return e;
  return undefined;
}

/** Finds the kind of an error by the first cause that determines it. */
function classify(err: unknown): ConsoleProblem["kind"] {
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof FetchError || e instanceof UnreachableError) return "failed"; // its cause is a lost connection to a registry, not to the API server
    if (e instanceof KindNotServed) return "notInstalled";
    if (isForbidden(e)) return "forbidden";
    if (isNotFound(e)) return "notFound";
    if (isConflict(e)) return "conflict";
    if (e instanceof KubeError && e.status === 401) return "signedOut";
    if (e instanceof KubeError && e.status === 429) return "limited";
    if (findConnectionFailure(e)) return "disconnected";
    if (findHttpStatus(e) !== undefined) return "invalid";
  }
  return "failed";
}
