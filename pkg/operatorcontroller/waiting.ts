import { RetryableError } from "../errors/errors.ts";

/** Asks with one request whether there is an end to what is waited for, or a change in it; what it throws counts as one. */
export type IsOver = (signal: AbortSignal) => Promise<boolean>;

/** Over as soon as one of the two is. */
export function either(one: IsOver | undefined, other: IsOver): IsOver {
  return one ? async (signal) => (await one(signal)) || other(signal) : other;
}

/**
 * Somebody has to do something on the cluster before a new try can succeed: grant rights, create a ServiceAccount, serve a kind.
 * Instead of whole passes that fail, `isOver` is asked until it is.
 */
export class WaitingError extends RetryableError {
  readonly isOver: IsOver;
  /** Longest time between two questions, in milliseconds, where it is to be shorter than for other things that are waited for. */
  readonly everyMs: number | undefined;

  constructor(reason: string, message: string, { isOver, everyMs, ...options }: ErrorOptions & { isOver: IsOver; everyMs?: number }) {
    super(reason, message, options);
    this.isOver = isOver;
    this.everyMs = everyMs;
  }
}

/** Rights, quotas or policies of the cluster stand against what is to be applied, and nothing of it has been written. */
export class DeniedError extends WaitingError {
  /** What the API server says, or would say. */
  readonly said: string;

  constructor(said: string, options: ErrorOptions & { isOver: IsOver }) {
    super("Retrying", `${said}; nothing was changed, and it goes on by itself within seconds once that is allowed`, options);
    this.said = said;
  }
}

/** The first WaitingError in the cause chain, if any. */
export function waitingIn(err: unknown): WaitingError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof WaitingError) return e;
  return undefined;
}
