import type { Problem } from "../api/problems.ts";
import { truncateMessage } from "../text/truncate.ts";

/** The cause of an error, and its entries in status.problems. */
export interface ReconcileErrorOptions extends ErrorOptions {
  readonly problems?: readonly Problem[] | undefined;
}

/**
 * Base class of errors that this project throws deliberately. `reason` becomes the reason of the
 * condition; the message is at most 32 KiB.
 */
export abstract class ReconcileError extends Error {
  abstract readonly retry: boolean;
  readonly reason: string;
  /**
   * The entries for `status.problems`. If empty, the problems of the cause are used, see
   * `getProblems`. A caller with more context may set them.
   */
  problems: readonly Problem[];

  constructor(reason: string, message: string, options: ReconcileErrorOptions = {}) {
    super(truncateMessage(message), options);
    this.reason = reason;
    this.problems = options.problems ?? [];
    this.name = new.target.name;
  }
}

/**
 * A retry does not help until the user changes something. Results in Progressing=False with reason
 * `Blocked` or a more specific one.
 */
export class TerminalError extends ReconcileError {
  readonly retry = false;
}

/** A retry may succeed, and is attempted with backoff. Results in Progressing=True with reason `Retrying`. */
export class RetryableError extends ReconcileError {
  readonly retry = true;
  /** Minimum delay before a retry, in milliseconds; the backoff may be longer. */
  readonly restMs: number | undefined;

  constructor(reason: string, message: string, options?: ReconcileErrorOptions & { restMs?: number }) {
    super(reason, message, options);
    this.restMs = options?.restMs;
  }
}

/** Returns the minimum delay before a retry, from the first error in the cause chain that has one. */
export function getRestMs(err: unknown): number | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RetryableError && e.restMs !== undefined) return e.restMs;
  return undefined;
}

/** Returns true unless an error in the cause chain is a TerminalError; unknown errors are retried. */
export function isRetryable(err: unknown): boolean {
  return findTerminalError(err) === undefined;
}

/** Returns the first TerminalError in the cause chain, if any. */
export function findTerminalError(err: unknown): TerminalError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof TerminalError) return e;
  return undefined;
}

/**
 * For use in `catch`: returns undefined for a file or folder that does not exist. @throws any other
 * error
 */
export function ignoreMissingFile(err: unknown): undefined {
  const { code } = err as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw err;
}

/**
 * Returns the problems of the first error in the cause chain that has problems. For an
 * AggregateError, returns the problems of all its errors.
 */
export function getProblems(err: unknown): readonly Problem[] {
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof ReconcileError && e.problems.length > 0) return e.problems;
    if (e instanceof AggregateError) return e.errors.flatMap(getProblems);
  }
  return [];
}

/** Returns the text of a thrown value; never empty. */
export function getErrorMessage(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return err.errors.map(getErrorMessage).join("\n");
  if (err instanceof Error) return err.message || err.name;
  return String(err);
}

/** Returns the result, or the error as text, so that a failure such as a missing permission hides only one part of a view. */
export async function orErrorMessage<T>(found: Promise<T>): Promise<T | string> {
  try {
    return await found;
  } catch (err) {
    return getErrorMessage(err);
  }
}

/**
 * Returns an error with `prefix` before the message of `err` and `err` as its cause. Keeps the type
 * (terminal or retryable) and the reason of `err`. Other errors become retryable with reason
 * `Retrying`.
 */
export function wrapError(prefix: string, err: unknown): ReconcileError {
  const text = `${prefix}${getErrorMessage(err)}`;
  const terminal = findTerminalError(err);
  if (terminal) return new TerminalError(terminal.reason, text, { cause: err });
  const reason = err instanceof ReconcileError ? err.reason : "Retrying";
  return new RetryableError(reason, text, { cause: err });
}
