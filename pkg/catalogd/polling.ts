/** What is remembered of the last successful look at a catalog's image. Lost on restart and after a failure, so the next pass looks again. */
export interface PollRecord {
  /** The reference that was looked up. */
  ref: string;
  /** What it stood for, by digest. */
  canonical: string;
  /** The object's generation then. */
  generation: number;
  /** Milliseconds since the epoch. */
  at: number;
}

const MINUTE_MS = 60_000;
/** A wait is up to a hundredth longer than asked for, so that many catalogs spread. */
const JITTER = 0.01;

/** What of a catalog decides when its reference is looked up. */
export interface PollSubject {
  ref: string;
  generation: number;
  intervalMinutes: number | undefined;
}

/**
 * Why the reference has to be looked up, for the log; undefined when it need not be. Every change of the spec is a reason, as in Go, and so is a
 * clock that was put back, after which nobody knows how long ago the last look was.
 */
export function pollReason(
  record: PollRecord | undefined,
  { ref, generation, intervalMinutes }: PollSubject,
  now: number,
): string | undefined {
  if (!record) return "no cached catalog metadata found for this catalog";
  if (record.generation !== generation || record.ref !== ref) return "catalog generation differs from observed generation";
  if (intervalMinutes === undefined) return undefined;
  if (now < record.at) return "the clock was put back";
  if (record.at + intervalMinutes * MINUTE_MS < now) return "poll duration has elapsed";
  return undefined;
}

/**
 * How long until the next look, at least a millisecond; undefined without an interval.
 * @param random from 0 up to, not including, 1.
 */
export function nextPollMs(lastPoll: number, intervalMinutes: number | undefined, now: number, random: number): number | undefined {
  if (intervalMinutes === undefined) return undefined;
  return Math.max(1, Math.ceil(Math.min(lastPoll, now) + intervalMinutes * MINUTE_MS * (1 + JITTER * random) - now) + 1);
}
