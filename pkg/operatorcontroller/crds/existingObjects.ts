import { createHash } from "node:crypto";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { BackgroundJobs } from "../../async/backgroundJobs.ts";
import type { Clock } from "../../async/clock.ts";
import { listMovable, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../../async/taskThread.ts";
import { readCrdVersions } from "../../crdsafety/crdParts.ts";
import type { ObjectCheck } from "../../crdsafety/existingObjects.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { writeExactJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isExpired, isForbidden, KindNotServed } from "../../kube/errors.ts";
import { listPages, ObjectTooLarge, parseList, type ReadPage } from "../../kube/listPages.ts";
import {
  type CrdComparison,
  type CrdComparisonTask,
  compareCrds,
  OBJECTS_NAMED,
  type PageFindings,
  type PageTask,
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
      /** The first CEL rules that could not be evaluated, each with the reason. */
      uncheckedRules: string[];
    };

/**
 * The main thread compares two CRDs if both together have at most this many bytes of JSON, and the
 * new one has at most this many versions.
 */
const MAIN_THREAD_BYTES = 128 * 1024;
const MAIN_THREAD_VERSIONS = 4;

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

/** How far a check is. */
type CheckProgress = Pick<RunningCheck, "checked" | "total">;

type SeenObjects = ObjectsFound & { kind: "seen" };
type CheckedPage = PageFindings & { kind: "checked" };

const EMPTY_PAGE: CheckedPage = {
  kind: "checked",
  count: 0,
  listed: 0,
  invalid: 0,
  named: [],
  someUnknown: false,
  uncheckedRules: [],
  continue: undefined,
  remaining: undefined,
};

/**
 * Checks custom resources against schemas, one page at a time. Uses a worker thread, because custom resources are untrusted input from namespace
 * users.
 */
export class ObjectChecker {
  readonly #thread: TaskThread<PageTask | CrdComparisonTask, PageFindings | CrdComparison>;
  readonly #limits: ObjectLimits;
  readonly #jobs: BackgroundJobs<CheckProgress, ObjectsFound>;

  constructor(clock: Clock, limits: ObjectLimits = LIMITS) {
    this.#jobs = new BackgroundJobs(clock, ABANDONED_MS);
    this.#thread = new TaskThread(import.meta.dirname, "objectWorker", THREAD, clock);
    this.#limits = limits;
  }

  /** Ends the checks in the background, and the thread. */
  async end(): Promise<void> {
    await this.#jobs.end();
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
    const key = toJobKey(crd, request);
    const job = this.#jobs.follow(owner, key, { checked: 0, total: undefined }, (stop, report) =>
      this.check(client, { ...request, report: (checked, total) => report({ checked, total }) }, stop),
    );
    await this.#jobs.wait(owner, key, FOREGROUND_MS, signal);
    signal.throwIfAborted();
    if (!job.outcome) {
      const isOver = (): boolean => {
        const now = this.#jobs.find(owner, key);
        return !now || now.outcome !== undefined;
      };
      return { kind: "running", ...job.progress, isOver };
    }
    if ("result" in job.outcome) return job.outcome.result;
    this.#jobs.forget(owner, key);
    throw job.outcome.error;
  }

  /** Drops the results of the checks of an extension, so that the next check reads the custom resources again. */
  forget(owner: string): void {
    this.#jobs.forget(owner);
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
    const found: SeenObjects = { kind: "seen", count: 0, cut: undefined, invalid: 0, named: [], someUnknown: false, uncheckedRules: [] };
    try {
      if (checks.length === 0) {
        if (!listAs) return { kind: "unseen", reason: "no version of the CRD is served" };
        const { items } = await client.list(listAs, { limit: 1, maxItems: 1, metadataOnly: true, signal });
        return { ...found, count: items.length };
      }
      for (const check of checks) {
        const { count, cut, invalid, named, someUnknown, uncheckedRules } = await this.#checkVersion(client, check, report, signal);
        if (invalid > found.invalid) Object.assign(found, { invalid, named });
        found.count = Math.max(found.count, count);
        found.cut ??= cut;
        found.someUnknown ||= someUnknown;
        found.uncheckedRules = addNew(found.uncheckedRules, uncheckedRules);
      }
      return found;
    } catch (err) {
      if (err instanceof KindNotServed || isForbidden(err)) return { kind: "unseen", reason: getErrorMessage(err) };
      throw err;
    }
  }

  /**
   * Compares two versions of a CRD. Uses the worker thread for large CRDs, and for CRDs with many
   * versions, because the time grows with the number of their pairs.
   * @throws RetryableError Retrying if the comparison needs more memory or time than the thread has, because an upgrade is only safe after a full
   * comparison.
   */
  async compare(before: KubeObject, after: KubeObject, ignored: Iterable<string>): Promise<CrdComparison> {
    const encoder = new TextEncoder();
    const task = { before: encoder.encode(writeExactJson(before)), after: encoder.encode(writeExactJson(after)), ignored: [...ignored] };
    const isSmall = task.before.byteLength + task.after.byteLength <= MAIN_THREAD_BYTES;
    if (isSmall && readCrdVersions(after).length <= MAIN_THREAD_VERSIONS) return compareCrds(task);
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
    const schema = new TextEncoder().encode(JSON.stringify(check.schema ?? null));
    const found: SeenObjects = { kind: "seen", count: 0, cut: undefined, invalid: 0, named: [], someUnknown: false, uncheckedRules: [] };
    let total: number | undefined;
    const read = async (page: Uint8Array): Promise<ReadPage<CheckedPage>> => {
      if (page.byteLength <= EMPTY_BYTES && parseList(page).objects.length === 0) return { content: EMPTY_PAGE, next: undefined };
      const result = await this.#checkPage(schema, check.version, page);
      if (typeof result === "string") return { tooLarge: result };
      const remaining = result.remaining ?? (result.continue === undefined ? 0 : undefined);
      total = remaining === undefined ? undefined : found.count + result.listed + remaining;
      if (result.count < result.listed) return { tooLarge: `reached the limit of ${this.#limits.steps} validation steps` };
      return { content: result, next: result.continue };
    };
    try {
      for await (const page of listPages(client, check, { read, maxBytes: this.#limits.pageBytes, signal })) {
        found.count += page.count;
        found.invalid += page.invalid;
        found.named.push(...page.named.slice(0, OBJECTS_NAMED - found.named.length));
        found.someUnknown ||= page.someUnknown;
        found.uncheckedRules = addNew(found.uncheckedRules, page.uncheckedRules);
        if (page.listed > 0) report(found.count, total);
      }
      return found;
    } catch (err) {
      if (err instanceof ObjectTooLarge) return { ...found, cut: { total, reason: err.message } };
      if (!isExpired(err) || found.count === 0) throw err;
      return { ...found, cut: { total, reason: "the list expired before all pages were read" } };
    }
  }

  /** @returns the findings, or why the page cannot be checked */
  async #checkPage(schema: Uint8Array, version: string, page: Uint8Array): Promise<CheckedPage | string> {
    const { pageValues: maxValues, steps: maxSteps, patternMs } = this.#limits;
    try {
      const task: PageTask = { schema, version, page, maxValues, maxSteps, patternMs };
      const result = (await this.#thread.run((ask) => ask(task, listMovable([page])))) as PageFindings;
      if (result.kind === "checked") return result;
      return `a custom resource has too many list items and members: ${result.values}, maximum ${maxValues}`;
    } catch (err) {
      if (err instanceof ThreadLimitExceeded) return `cannot check a custom resource: ${getErrorMessage(err)}`;
      throw err;
    }
  }
}

/** Adds new texts to a list, up to the maximum number in messages. */
function addNew(texts: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...texts, ...more])].slice(0, OBJECTS_NAMED);
}

function toJobKey({ metadata: { uid = "" } }: KubeObject, { checks, listAs }: ObjectCheckRequest): string {
  const digest = createHash("sha256").update(writeExactJson({ checks, listAs: listAs ?? null }));
  return `${uid}/${digest.digest("hex")}`;
}
