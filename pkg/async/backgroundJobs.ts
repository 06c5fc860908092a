import { type Clock, sleep } from "./clock.ts";

/** The work of a job. It must end soon after `signal` aborts, and calls `report` from time to time. */
export type JobWork<Progress, Result> = (signal: AbortSignal, report: (progress: Progress) => void) => Promise<Result>;

/** How a job ended. */
type JobOutcome<Result> = { readonly result: Result } | { readonly error: unknown };

/** A job in the background. */
export interface BackgroundJob<Progress, Result> {
  /** The last reported progress. */
  readonly progress: Progress;
  /** Undefined while the job is running, and after it was stopped. */
  readonly outcome: JobOutcome<Result> | undefined;
}

interface Job<Progress, Result> {
  readonly stop: AbortController;
  readonly owner: string;
  /** Never rejects. */
  ended: Promise<void>;
  progress: Progress;
  outcome: JobOutcome<Result> | undefined;
  followedAt: number;
}

/**
 * Runs work in the background for owners that return for its result, at most one job for each owner and key. In-memory only: safe to lose on restart.
 * A job that its owner does not follow for a while stops at its next report, and its outcome is dropped.
 */
export class BackgroundJobs<Progress, Result> {
  readonly #clock: Clock;
  readonly #abandonedMs: number;
  readonly #jobs = new Map<string, Job<Progress, Result>>();

  /** @param abandonedMs how long a job continues without a call of its owner, in milliseconds */
  constructor(clock: Clock, abandonedMs: number) {
    this.#clock = clock;
    this.#abandonedMs = abandonedMs;
  }

  /** Returns the job of an owner and key, running or ended; starts it if it does not exist. */
  follow(owner: string, key: string, initial: Progress, work: JobWork<Progress, Result>): BackgroundJob<Progress, Result> {
    this.#dropAbandoned();
    return this.find(owner, key) ?? this.#start(owner, key, initial, work);
  }

  /** Returns the job of an owner and key, and keeps all jobs of the owner running. */
  find(owner: string, key: string): BackgroundJob<Progress, Result> | undefined {
    const now = this.#clock.now();
    for (const job of this.#jobs.values()) if (job.owner === owner) job.followedAt = now;
    return this.#jobs.get(toMapKey(owner, key));
  }

  /** Waits until a job has ended, at most `ms` milliseconds; returns early without an error when `signal` aborts. */
  async wait(owner: string, key: string, ms: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([this.#jobs.get(toMapKey(owner, key))?.ended, sleep(this.#clock, ms, AbortSignal.any([signal, waiting.signal]))]);
    waiting.abort();
  }

  /** Drops the outcomes of an owner's jobs that have ended, or only that of `key`, so that `follow` starts them again. */
  forget(owner: string, key?: string): void {
    for (const [at, job] of this.#jobs)
      if (job.outcome && job.owner === owner && (key === undefined || at === toMapKey(owner, key))) this.#jobs.delete(at);
  }

  /** Stops all jobs, and waits for their end. */
  async end(): Promise<void> {
    const jobs = [...this.#jobs.values()];
    for (const { stop } of jobs) stop.abort();
    await Promise.all(jobs.map(({ ended }) => ended));
    this.#jobs.clear();
  }

  #start(owner: string, key: string, initial: Progress, work: JobWork<Progress, Result>): Job<Progress, Result> {
    const stop = new AbortController();
    const job: Job<Progress, Result> = {
      stop,
      owner,
      ended: Promise.resolve(),
      progress: initial,
      outcome: undefined,
      followedAt: this.#clock.now(),
    };
    const report = (progress: Progress): void => {
      job.progress = progress;
      if (this.#isAbandoned(job)) stop.abort();
    };
    const run = async (): Promise<void> => {
      const outcome = await work(stop.signal, report).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      );
      // A stopped job has no outcome, so that the next call of its owner starts it again.
      if (stop.signal.aborted) this.#jobs.delete(toMapKey(owner, key));
      else job.outcome = outcome;
    };
    this.#jobs.set(toMapKey(owner, key), job);
    job.ended = run();
    return job;
  }

  #dropAbandoned(): void {
    for (const [key, job] of this.#jobs) if (job.outcome && this.#isAbandoned(job)) this.#jobs.delete(key);
  }

  #isAbandoned({ followedAt }: Job<Progress, Result>): boolean {
    return this.#clock.now() - followedAt > this.#abandonedMs;
  }
}

function toMapKey(owner: string, key: string): string {
  return `${owner}/${key}`;
}
