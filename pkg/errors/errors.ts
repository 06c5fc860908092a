import type { Problem } from "../api/problems.ts";
import { truncateMessage } from "../text/truncate.ts";

/** Cause of an error, and what status.problems reports about it. */
export interface ReconcileErrorOptions extends ErrorOptions {
  readonly problems?: readonly Problem[] | undefined;
}

/** Base of every error this project throws on purpose; `reason` becomes the condition's reason, the message is at most 32 KiB. */
export abstract class ReconcileError extends Error {
  abstract readonly retry: boolean;
  readonly reason: string;
  /** What `status.problems` reports; empty: the problems of the cause, see `problemsIn`. Whoever knows more may set it. */
  problems: readonly Problem[];

  constructor(reason: string, message: string, options: ReconcileErrorOptions = {}) {
    super(truncateMessage(message), options);
    this.reason = reason;
    this.problems = options.problems ?? [];
    this.name = new.target.name;
  }
}

/** Trying again cannot help until the user edits something: Progressing=False with reason `Blocked` or a closer one. */
export class TerminalError extends ReconcileError {
  readonly retry = false;
}

/** The world may get better by itself: Progressing=True with reason `Retrying`, back-off applies. */
export class RetryableError extends ReconcileError {
  readonly retry = true;
  /** Milliseconds before which trying again would only cost; the back-off may be longer. */
  readonly restMs: number | undefined;

  constructor(reason: string, message: string, options?: ReconcileErrorOptions & { restMs?: number }) {
    super(reason, message, options);
    this.restMs = options?.restMs;
  }
}

/** How long to rest before trying again, as the first error in the cause chain that knows it says. */
export function restMsOf(err: unknown): number | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RetryableError && e.restMs !== undefined) return e.restMs;
  return undefined;
}

/** True unless some error in the cause chain is a TerminalError; unknown errors are retried. */
export function isRetryable(err: unknown): boolean {
  return terminalIn(err) === undefined;
}

/** The first TerminalError in the cause chain, if any. */
export function terminalIn(err: unknown): TerminalError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof TerminalError) return e;
  return undefined;
}

/** To catch with: returns undefined for a file or folder that does not exist. @throws what it is given otherwise */
export function undefinedIfMissing(err: unknown): undefined {
  const { code } = err as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw err;
}

/** The problems of the first error in the cause chain that has any; of every error of an AggregateError. */
export function problemsIn(err: unknown): readonly Problem[] {
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof ReconcileError && e.problems.length > 0) return e.problems;
    if (e instanceof AggregateError) return e.errors.flatMap(problemsIn);
  }
  return [];
}

/** The text of anything thrown; never empty. */
export function messageOf(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return err.errors.map(messageOf).join("\n");
  if (err instanceof Error) return err.message || err.name;
  return String(err);
}

/**
 * `err` with `prefix` in front of its text; kind (terminal or retryable) and reason are kept, the original is the cause.
 * An error that is not ours becomes retryable with reason `Retrying`.
 */
export function wrapError(prefix: string, err: unknown): ReconcileError {
  const text = `${prefix}${messageOf(err)}`;
  const terminal = terminalIn(err);
  if (terminal) return new TerminalError(terminal.reason, text, { cause: err });
  const reason = err instanceof ReconcileError ? err.reason : "Retrying";
  return new RetryableError(reason, text, { cause: err });
}
