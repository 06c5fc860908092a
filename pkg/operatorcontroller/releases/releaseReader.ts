import { LRUCache } from "lru-cache";
import { ANNOTATION_PROPERTIES, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../../api/constants.ts";
import type { ObjectMeta } from "../../api/k8s.ts";
import { Backoff } from "../../async/backoff.ts";
import { type Clock, Deadline } from "../../async/clock.ts";
import { MAX_OPENSHIFT_VERSION } from "../../bundle/maxOpenShiftVersion.ts";
import { parseRawProperties } from "../../bundle/properties.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { type ProvidedBundle, readProvidedBundle } from "../../release/providedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { formatUnreadable, parseReleaseIndex } from "../../release/storage/decode.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ReleaseStore } from "./releaseStore.ts";

/** Maximum length of the properties of a release, in characters. A maximum OpenShift version needs a few dozen. */
const MAX_PROPERTIES = 16_384;

/** The cached part of a release: properties that affect cluster upgrades, and what the bundle provides to other extensions. */
export interface InstalledSummary {
  readonly bundle: string;
  readonly version: string;
  /** Value of annotation olm.properties, reduced to properties that affect cluster upgrades; undefined if the annotation does not exist. */
  readonly properties: string | undefined;
  readonly provided: ProvidedBundle;
}

/** The part of a release that the cluster upgrade gate reads. */
export type NotedRelease = Pick<ReleaseRecord, "labels" | "annotations" | "properties" | "objects">;

/**
 * Extracts the cached part of a release.
 * @throws Error if the properties cannot be decoded and are too long to keep unchanged.
 */
export function summarizeRelease(release: NotedRelease): InstalledSummary {
  const { labels, annotations } = release;
  const properties = annotations[ANNOTATION_PROPERTIES];
  return {
    bundle: labels[LABEL_BUNDLE_NAME] ?? "",
    version: labels[LABEL_BUNDLE_VERSION] ?? "",
    properties: properties === undefined ? undefined : keepMaximums(properties),
    provided: readProvidedBundle(release),
  };
}

/**
 * Returns at most two maximum OpenShift versions, because a second one is already an error. Returns malformed properties unchanged, because the error
 * quotes them.
 */
function keepMaximums(text: string): string {
  let kept: string;
  try {
    const stated = parseRawProperties(text).filter(({ type }) => type === MAX_OPENSHIFT_VERSION);
    const members = stated.slice(0, 2).map(({ value }) => `{"type":"${MAX_OPENSHIFT_VERSION}"${value === "" ? "" : `,"value":${value}`}}`);
    kept = `[${members.join(",")}]`;
  } catch (err) {
    if (text.length > MAX_PROPERTIES)
      throw new Error(`cannot decode annotation ${ANNOTATION_PROPERTIES}: ${getErrorMessage(err)}`, { cause: err });
    return text;
  }
  if (kept.length > MAX_PROPERTIES)
    throw new Error(
      `${MAX_OPENSHIFT_VERSION} in annotation ${ANNOTATION_PROPERTIES} is too long: ${kept.length} characters, maximum ${MAX_PROPERTIES}`,
    );
  return Buffer.from(kept).toString(); // a copy, because a substring keeps the complete original in memory
}

/** Caches summaries of releases by Secret and resourceVersion. Shared by all code that reads or writes releases. */
export class InstalledSummaryCache {
  /** Evicts the least recently used entries. */
  readonly #known: LRUCache<string, { resourceVersion: string; summary: InstalledSummary }>;
  readonly #handlers: ((uid: string) => void)[] = [];

  /** @param maxEntries maximum number of entries. The default exceeds the number of releases in any cluster. */
  constructor(maxEntries = 20_000) {
    // Uses `maxSize`, because with `max` the cache would allocate all slots immediately.
    this.#known = new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 });
  }

  /** Calls `handler` with the uid of a Secret whenever its cached summary changes. */
  onChange(handler: (uid: string) => void): void {
    this.#handlers.push(handler);
  }

  /** Caches the summary of a release for one version of its Secret. */
  note({ uid, resourceVersion }: SecretVersion, record: NotedRelease): void {
    if (uid === undefined || resourceVersion === undefined || this.#known.peek(uid)?.resourceVersion === resourceVersion) return;
    let summary: InstalledSummary;
    try {
      summary = summarizeRelease(record);
    } catch {
      return; // a later read of the release reports the error
    }
    this.#known.set(uid, { resourceVersion, summary });
    for (const handler of this.#handlers) handler(uid);
  }

  /** Returns the cached summary for this version of a Secret; undefined if it is not cached. */
  get({ uid, resourceVersion }: SecretVersion): InstalledSummary | undefined {
    const known = uid === undefined ? undefined : this.#known.get(uid);
    return known?.resourceVersion === resourceVersion ? known?.summary : undefined;
  }

  /** Drops a deleted Secret. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

/** One version of one Secret. */
export interface SecretVersion {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** The result of reading a release. */
export type ReadOutcome =
  | { readonly kind: "read"; readonly summary: InstalledSummary }
  /** The record was not stored completely, so none of its objects were applied; or the release no longer exists. */
  | { readonly kind: "unfinished" }
  | { readonly kind: "unreadable"; readonly reason: string };

/** The options of a ReleaseReader. */
export interface ReleaseReaderOptions {
  store: Pick<ReleaseStore, "read">;
  cache: InstalledSummaryCache;
  clock: Clock;
  log: Logger;
}

interface ReleaseRead {
  readonly resourceVersion: string | undefined;
  readonly backoff: Backoff;
  outcome?: ReadOutcome;
  cancel: () => void;
}

/** Delay before a release is read, in milliseconds. If this process wrote the release, its summary is cached by then and need not be read. */
const GRACE_MS = 100;
const CONCURRENCY = 4;
const READ_TIMEOUT_MS = 20_000;
const BASE_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;
const MAX_CAUSE = 1_024;

/**
 * Reads releases unless this process has already read or written them: each version of a Secret once, a few in parallel. Retries unreadable and
 * incomplete releases with backoff.
 */
export class ReleaseReader {
  readonly #options: ReleaseReaderOptions;
  readonly #readings = new Map<string, ReleaseRead>();
  readonly #due = new Map<string, ObjectMeta>();
  readonly #handlers: ((extension: string) => void)[] = [];
  #running = 0;
  #signal: AbortSignal | undefined;

  constructor(options: ReleaseReaderOptions) {
    this.#options = options;
    options.cache.onChange((uid) => this.#drop(uid));
  }

  /** Reads until `signal` aborts. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    signal.addEventListener("abort", () => {
      for (const { cancel } of this.#readings.values()) cancel();
      this.#due.clear();
    });
    this.#work();
  }

  /** Calls `handler` with the name of the extension after every read. */
  onChange(handler: (extension: string) => void): void {
    this.#handlers.push(handler);
  }

  /** Returns the result for the release in this index Secret; undefined while it is being read. */
  getOutcome(index: ObjectMeta): ReadOutcome | undefined {
    const { uid, resourceVersion } = index;
    const summary = this.#options.cache.get(index);
    if (summary) return { kind: "read", summary };
    if (uid === undefined) return { kind: "unreadable", reason: `release secret "${index.name}" has no uid` };
    const before = this.#readings.get(uid);
    if (before && before.resourceVersion === resourceVersion) return before.outcome;
    before?.cancel();
    const reading = { resourceVersion, backoff: new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS), cancel: () => undefined };
    this.#readings.set(uid, reading);
    this.#schedule(reading, index, GRACE_MS);
    return undefined;
  }

  /** Records the current version of a Secret. If its summary is cached, stops reading an earlier version. */
  noteVersion(index: ObjectMeta): void {
    if (index.uid !== undefined && this.#options.cache.get(index)) this.#drop(index.uid);
  }

  /** Drops a deleted Secret, and stops reading it. */
  forget(uid: string): void {
    this.#drop(uid);
    this.#options.cache.forget(uid);
  }

  #drop(uid: string): void {
    this.#readings.get(uid)?.cancel();
    this.#readings.delete(uid);
    this.#due.delete(uid);
  }

  #schedule(reading: ReleaseRead, index: ObjectMeta, ms: number): void {
    reading.cancel = this.#options.clock.after(ms, () => {
      this.#due.set(index.uid ?? "", index);
      this.#work();
    });
  }

  #work(): void {
    const signal = this.#signal;
    if (!signal || signal.aborted) return;
    for (const [uid, index] of this.#due) {
      if (this.#running >= CONCURRENCY) return;
      this.#due.delete(uid);
      const reading = this.#readings.get(uid);
      if (!reading || reading.resourceVersion !== index.resourceVersion) continue;
      void this.#readOne(reading, index, signal);
    }
  }

  async #readOne(reading: ReleaseRead, index: ObjectMeta, signal: AbortSignal): Promise<void> {
    this.#running++;
    const outcome = await this.#read(index, signal);
    this.#running--;
    if (!signal.aborted) this.#finish(reading, index, outcome);
    this.#work();
  }

  #finish(reading: ReleaseRead, index: ObjectMeta, outcome: ReadOutcome): void {
    if (this.#readings.get(index.uid ?? "") !== reading) return;
    const before = reading.outcome;
    reading.outcome = outcome;
    if (outcome.kind !== "read") {
      const retryAfterMs = reading.backoff.next();
      this.#schedule(reading, index, retryAfterMs);
      if (outcome.kind === "unreadable" && before?.kind !== "unreadable")
        this.#options.log.warn({ secret: index.name, reason: outcome.reason, retryAfterMs }, "cannot read release");
    }
    for (const handler of this.#handlers) handler(index.labels?.["name"] ?? "");
  }

  /** Never throws. */
  async #read(index: ObjectMeta, signal: AbortSignal): Promise<ReadOutcome> {
    const summary = this.#options.cache.get(index);
    if (summary) return { kind: "read", summary };
    try {
      const labelled = parseReleaseIndex(index);
      if (labelled.kind === "unreadable") return { kind: "unreadable", reason: formatUnreadable(labelled) };
      using deadline = new Deadline(signal, READ_TIMEOUT_MS);
      const release = await this.#options.store.read(index.labels?.["name"] ?? "", labelled.version, { signal: deadline.signal });
      if (release?.kind === "unreadable") return { kind: "unreadable", reason: formatUnreadable(release) };
      return release?.kind === "readable" ? { kind: "read", summary: summarizeRelease(release.record) } : { kind: "unfinished" };
    } catch (err) {
      return { kind: "unreadable", reason: getErrorMessage(err).slice(0, MAX_CAUSE).toWellFormed() };
    }
  }
}
