import { createHash } from "node:crypto";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, sleep } from "../../async/clock.ts";
import { listMovable, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../../async/taskThread.ts";
import type { ObjectCheck } from "../../crdsafety/existingObjects.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { writeExactJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isExpired, isForbidden, KindNotServed } from "../../kube/errors.ts";
import {
  type CrdComparison,
  type CrdComparisonTask,
  compareCrds,
  OBJECTS_NAMED,
  type PageFindings,
  type PageTask,
  parseList,
} from "./objectChecks.ts";

const MIB = 1024 * 1024;

/** The limits for checking one page of custom resources. The number of pages is not limited. */
export interface ObjectLimits {
  /** Maximum size of one page, in bytes. A larger page is read again with fewer objects. */
  readonly pageBytes: number;
  /** Maximum number of lines, list items and members in one page. */
  readonly pageValues: number;
  /** See `Spend`. */
  readonly steps: number;
  /** Time limit for evaluating patterns, in milliseconds. */
  readonly patternMs: number;
}

/** An object in etcd has at most 1.5 MiB, so a page can contain two of the largest ones. Five million steps take about a second. */
const LIMITS: ObjectLimits = {
  pageBytes: 4 * MIB,
  pageValues: 1_500_000,
  steps: 5_000_000,
  patternMs: 250,
};
const THREAD: TaskThreadLimits = { heapMib: 112, deadlineMs: 60_000, idleMs: 3_000 };
/** Number of objects in the first page. The size of each page determines the number of objects in the next page. */
const FIRST_PAGE = 4;
const LARGEST_PAGE = 100;
const GOAL_BYTES = MIB;
/** How long a reconcile waits for a check before it continues in the background, in milliseconds. */
const FOREGROUND_MS = 5_000;
/** How long a check in the background continues, and its result is kept, if nothing follows it, in milliseconds. */
const ABANDONED_MS = 60_000;
/** Delay before a retry of a comparison that exceeded a limit, in milliseconds. */
const REST_MS = 300_000;
/** Maximum size of an empty list, in bytes. */
const EMPTY_BYTES = 1_024;

/** The result of checking the custom resources of one CRD. */
export type ObjectsFound =
  /** The custom resources cannot be read; `reason` is the error of the API server. */
  | { kind: "unseen"; reason: string }
  | {
      kind: "seen";
      /** Number of checked custom resources. If nothing is checked: 1 if any custom resource exists. */
      count: number;
      /** Set if not all custom resources were checked: the total number, if known, and the reason. */
      cut: { total: number | undefined; reason: string } | undefined;
      /** Number of objects that are invalid under the new schema. `named` lists the first invalid objects with their errors. */
      invalid: number;
      named: string[];
      /** Some patterns could not be evaluated. */
      someUnknown: boolean;
    };

/** The main thread compares two CRDs if both together have at most this many bytes of JSON. */
const MAIN_THREAD_BYTES = 128 * 1024;

/** What a check reads, and how far it is. */
export interface ObjectCheckRequest {
  readonly checks: readonly ObjectCheck[];
  /** The kind to list if `checks` is empty; undefined if no version is served. */
  readonly listAs: { apiVersion: string; kind: string } | undefined;
  /** Receives the number of checked custom resources of a version, and their total number if it is known, after each page. */
  readonly report?: (checked: number, total: number | undefined) => void;
}

/** A check that continues in the background. */
export interface RunningCheck {
  readonly kind: "running";
  readonly checked: number;
  readonly total: number | undefined;
  /** Reports whether the check has ended. */
  readonly isOver: () => boolean;
}

/** A check in the background. */
interface CheckJob {
  readonly stop: AbortController;
  /** Never rejects. */
  ended: Promise<void>;
  checked: number;
  total: number | undefined;
  followedAt: number;
  outcome?: { readonly found?: ObjectsFound; readonly error?: unknown };
}

type SeenObjects = ObjectsFound & { kind: "seen" };
type PageResult = PageFindings | { kind: "exceeded"; reason: string };

/**
 * Checks custom resources against schemas, one page at a time. Uses a worker thread, because custom resources are untrusted input from namespace
 * users.
 */
export class ObjectChecker {
  readonly #thread: TaskThread<PageTask | CrdComparisonTask, PageFindings | CrdComparison>;
  readonly #limits: ObjectLimits;
  readonly #clock: Clock;
  readonly #jobs = new Map<string, CheckJob>();

  constructor(clock: Clock, limits: ObjectLimits = LIMITS) {
    this.#clock = clock;
    this.#thread = new TaskThread(import.meta.dirname, "objectWorker", THREAD, clock);
    this.#limits = limits;
  }

  /** Ends the checks in the background, and the thread. */
  async end(): Promise<void> {
    for (const { stop } of this.#jobs.values()) stop.abort();
    await Promise.all([...this.#jobs.values()].map(({ ended }) => ended));
    await this.#thread.end();
  }

  /**
   * Checks like `check`. After five seconds, the check continues in the background, so that it does not block the reconciles of other extensions; a
   * later call for the same CRD and schemas returns its result, until `forget`. A check that nothing follows for a minute stops.
   * @param owner uid of the extension
   * @throws the errors of `check`
   */
  async follow(
    owner: string,
    crd: KubeObject,
    client: Pick<Client, "list" | "listPage">,
    request: ObjectCheckRequest,
    signal: AbortSignal,
  ): Promise<ObjectsFound | RunningCheck> {
    this.#removeAbandoned();
    const key = toJobKey(owner, crd, request);
    const job = this.#jobs.get(key) ?? this.#start(key, client, request);
    this.#touch(owner);
    const waiting = new AbortController();
    await Promise.race([job.ended, sleep(this.#clock, FOREGROUND_MS, AbortSignal.any([signal, waiting.signal]))]);
    waiting.abort();
    signal.throwIfAborted();
    const { outcome, checked, total } = job;
    if (!outcome) {
      const isOver = (): boolean => {
        this.#touch(owner);
        return job.outcome !== undefined;
      };
      return { kind: "running", checked, total, isOver };
    }
    if (outcome.found) return outcome.found;
    this.#jobs.delete(key);
    throw outcome.error;
  }

  /** Drops the results of the checks of an extension, so that the next check reads the custom resources again. */
  forget(owner: string): void {
    for (const [key, { outcome }] of this.#jobs) if (outcome && key.startsWith(`${owner}/`)) this.#jobs.delete(key);
  }

  #touch(owner: string): void {
    for (const [key, job] of this.#jobs) if (key.startsWith(`${owner}/`)) job.followedAt = this.#clock.now();
  }

  #start(key: string, client: Pick<Client, "list" | "listPage">, request: ObjectCheckRequest): CheckJob {
    const stop = new AbortController();
    const job: CheckJob = { stop, ended: Promise.resolve(), checked: 0, total: undefined, followedAt: this.#clock.now() };
    const report = (checked: number, total: number | undefined): void => {
      Object.assign(job, { checked, total });
      if (this.#clock.now() - job.followedAt > ABANDONED_MS) stop.abort();
    };
    const run = async (): Promise<void> => {
      try {
        const found = await this.check(client, { ...request, report }, stop.signal);
        job.outcome = { found };
      } catch (error) {
        job.outcome = { error };
      }
    };
    this.#jobs.set(key, job);
    job.ended = run();
    return job;
  }

  #removeAbandoned(): void {
    const now = this.#clock.now();
    for (const [key, { outcome, followedAt }] of this.#jobs) if (outcome && now - followedAt > ABANDONED_MS) this.#jobs.delete(key);
  }

  /**
   * Checks whether existing custom resources are valid under their new schemas. If `checks` is empty, only checks whether custom resources exist.
   * Reads all custom resources in pages of about 1 MiB, and keeps one page in memory.
   */
  async check(
    client: Pick<Client, "list" | "listPage">,
    { checks, listAs, report = () => undefined }: ObjectCheckRequest,
    signal: AbortSignal,
  ): Promise<ObjectsFound> {
    const found: SeenObjects = { kind: "seen", count: 0, cut: undefined, invalid: 0, named: [], someUnknown: false };
    try {
      if (checks.length === 0) {
        if (!listAs) return { kind: "unseen", reason: "no version of the CRD is served" };
        const { items } = await client.list(listAs, { limit: 1, maxItems: 1, metadataOnly: true, signal });
        return { ...found, count: items.length };
      }
      for (const check of checks) {
        const { count, cut, invalid, named, someUnknown } = await this.#checkVersion(client, check, report, signal);
        if (invalid > found.invalid) Object.assign(found, { invalid, named });
        found.count = Math.max(found.count, count);
        found.cut ??= cut;
        found.someUnknown ||= someUnknown;
      }
      return found;
    } catch (err) {
      if (err instanceof KindNotServed || isForbidden(err)) return { kind: "unseen", reason: getErrorMessage(err) };
      throw err;
    }
  }

  /**
   * Compares two versions of a CRD. Uses the worker thread for large CRDs.
   * @throws RetryableError Retrying if the comparison needs more memory or time than the thread has, because an upgrade is only safe after a full
   * comparison.
   */
  async compare(before: KubeObject, after: KubeObject, ignored: Iterable<string>): Promise<CrdComparison> {
    const encoder = new TextEncoder();
    const task = { before: encoder.encode(writeExactJson(before)), after: encoder.encode(writeExactJson(after)), ignored: [...ignored] };
    if (task.before.byteLength + task.after.byteLength <= MAIN_THREAD_BYTES) return compareCrds(task);
    try {
      return (await this.#thread.run((ask) => ask(task, listMovable([task.before, task.after])))) as CrdComparison;
    } catch (err) {
      if (!(err instanceof ThreadLimitExceeded)) throw err;
      const { name } = before.metadata;
      throw new RetryableError(
        Reason.Retrying,
        `cannot compare the installed and the new version of CRD ${goQuote(name)}: ${getErrorMessage(err)}`,
        {
          cause: err,
          restMs: REST_MS,
        },
      );
    }
  }

  async #checkVersion(
    client: Pick<Client, "listPage">,
    check: ObjectCheck,
    report: NonNullable<ObjectCheckRequest["report"]>,
    signal: AbortSignal,
  ): Promise<SeenObjects> {
    const { pageBytes, pageValues: maxValues, steps: maxSteps, patternMs } = this.#limits;
    const schema = new TextEncoder().encode(JSON.stringify(check.schema ?? null));
    const found: SeenObjects = { kind: "seen", count: 0, cut: undefined, invalid: 0, named: [], someUnknown: false };
    let limit = FIRST_PAGE;
    let token: string | undefined;
    let total: number | undefined;
    const cut = (reason: string): SeenObjects => ({ ...found, cut: { total, reason } });
    for (;;) {
      let page: Uint8Array | undefined;
      try {
        page = await client.listPage(check, { limit, continue: token, maxBytes: pageBytes, signal });
      } catch (err) {
        if (token === undefined || !isExpired(err)) throw err;
        return cut("the list expired before all pages were read");
      }
      const size = page?.byteLength ?? pageBytes;
      if (page && page.byteLength <= EMPTY_BYTES && parseList(page).objects.length === 0) return found;
      const result: PageResult = page
        ? await this.#checkPage({ schema, version: check.version, page, maxValues, maxSteps, patternMs })
        : { kind: "exceeded", reason: `a custom resource is larger than ${pageBytes} bytes` };
      signal.throwIfAborted();
      if (result.kind === "checked") {
        if (result.count < result.listed && limit > 1) {
          limit = Math.floor(limit / 2);
          continue;
        }
        token = result.continue;
        const remaining = result.remaining ?? (token === undefined ? 0 : undefined);
        total = remaining === undefined ? undefined : found.count + result.listed + remaining;
        found.count += result.count;
        found.invalid += result.invalid;
        found.named.push(...result.named.slice(0, OBJECTS_NAMED - found.named.length));
        found.someUnknown ||= result.someUnknown;
        if (result.count < result.listed) return cut(`reached the limit of ${maxSteps} validation steps`);
        report(found.count, total);
        if (token === undefined) return found;
      } else if (limit === 1) {
        return cut(
          result.kind === "exceeded"
            ? result.reason
            : `a custom resource has too many list items and members: ${result.values}, maximum ${maxValues}`,
        );
      }
      limit = result.kind === "checked" ? computeLimit(limit, size) : Math.floor(limit / 2);
    }
  }

  async #checkPage(task: PageTask): Promise<PageResult> {
    try {
      return (await this.#thread.run((ask) => ask(task, listMovable([task.page])))) as PageFindings;
    } catch (err) {
      if (err instanceof ThreadLimitExceeded)
        return { kind: "exceeded", reason: `cannot check a custom resource: ${getErrorMessage(err)}` };
      throw err;
    }
  }
}

function toJobKey(owner: string, { metadata: { uid = "" } }: KubeObject, { checks, listAs }: ObjectCheckRequest): string {
  const digest = createHash("sha256").update(writeExactJson({ checks, listAs: listAs ?? null }));
  return `${owner}/${uid}/${digest.digest("hex")}`;
}

/** Computes the number of objects in the next page after a page of `limit` objects and `bytes` bytes. */
function computeLimit(limit: number, bytes: number): number {
  const fitting = Math.floor((limit * GOAL_BYTES) / Math.max(bytes, 1));
  return Math.min(Math.max(fitting, 1), limit * 4, LARGEST_PAGE);
}
