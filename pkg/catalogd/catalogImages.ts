import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import { systemClock } from "../async/clock.ts";
import { stop, stopWithoutStatus } from "../controller/stepSequence.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { type PullCounts, PullPool, type PullState, toPullTarget } from "../oci/pull/pullPool.ts";
import { SourceError } from "./failures.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import type { CatalogStep, Fetched, ResolvedImage, Started, UnpackedImage } from "./phases.ts";
import type { CatalogContent } from "./store/content.ts";

/** Resolves and pulls catalog images. Unpacks only the catalog folder of an image. */
export interface CatalogPuller extends CatalogKeeper {
  /** Resolves a reference to its current digest. @param isStored whether the content of a result needs no pull */
  resolve(ref: string, signal: AbortSignal, isStored: (canonical: string) => boolean): Promise<ResolvedImage>;
  /** @param identity the reference to which the signature policy applies; default: `ref`. */
  pull(name: string, ref: string, signal: AbortSignal, identity?: string): Promise<UnpackedImage>;
}

/** The resolved reference, and the unpacked image unless its content is already stored. */
export interface FetchedImage {
  readonly resolved: ResolvedImage;
  readonly unpacked?: UnpackedImage;
  /** Start of the pull, in milliseconds of `performance.now`. */
  readonly pullBegan?: number;
}

/** Image operations for reconciles, which do not wait for a registry. */
export interface CatalogImageSource extends CatalogKeeper {
  /**
   * Returns the state of resolving `ref` and, unless its digest is stored, of pulling the image.
   * Starts both on demand.
   */
  fetch(name: string, ref: string, isStored: (canonical: string) => boolean): PullState<FetchedImage>;
  /**
   * Returns the state of pulling an image by digest; starts the pull on demand. @param identity as
   * in CatalogPuller.
   */
  load(name: string, ref: string, identity: string): PullState<UnpackedImage>;
}

/**
 * The images of all catalogs. Resolves and pulls an image outside of reconciles and requeues the
 * catalog afterwards.
 */
export class CatalogImages implements CatalogImageSource {
  readonly #puller: CatalogPuller;
  readonly #pool: PullPool<FetchedImage>;

  constructor(puller: CatalogPuller, requeue: (catalog: string) => void) {
    this.#puller = puller;
    this.#pool = new PullPool({ onChange: requeue, clock: systemClock });
  }

  /** The number of running pulls and the number of waiting pulls. */
  get pulls(): PullCounts {
    return this.#pool;
  }

  fetch(name: string, ref: string, isStored: (canonical: string) => boolean): PullState<FetchedImage> {
    return this.#pool.request(name, JSON.stringify(["fetch", ref]), toPullTarget(ref), async (signal) => {
      const resolved = await this.#puller.resolve(ref, signal, isStored);
      if (isStored(resolved.canonical)) return { resolved };
      const pullBegan = performance.now();
      const unpacked = await this.#puller.pull(name, ref, signal);
      return { resolved: { canonical: unpacked.canonical, digest: unpacked.digest }, unpacked, pullBegan };
    });
  }

  load(name: string, ref: string, identity: string): PullState<UnpackedImage> {
    const state = this.#pool.request(name, JSON.stringify(["load", ref, identity]), toPullTarget(ref), async (signal) => {
      const unpacked = await this.#puller.pull(name, ref, signal, identity);
      return { resolved: unpacked, unpacked };
    });
    if (state.kind !== "done") return state;
    const { unpacked } = state.value;
    return unpacked ? { kind: "done", value: unpacked } : { kind: "failed", error: new Error("the image was not unpacked") };
  }

  /** Cancels the catalog's pull and removes its images. */
  async remove(name: string): Promise<void> {
    await this.#pool.cancel(name);
    await this.#puller.remove(name);
  }

  /** Restarts pulls that failed with the previous credentials. */
  renew(): void {
    this.#pool.renew();
  }

  /** Cancels all pulls; new ones may start. */
  async clear(): Promise<void> {
    await this.#pool.clear();
  }

  /** Cancels all pulls. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}

/**
 * Record of the last successful lookup of a catalog's image. In memory only and deleted after a
 * failure, so that the next reconcile resolves the image again.
 */
export interface PollRecord {
  /** The resolved reference. */
  ref: string;
  /** The result, by digest. */
  canonical: string;
  /** The catalog generation at that time. */
  generation: number;
  /** Milliseconds since the epoch. */
  at: number;
}

const MINUTE_MS = 60_000;
/** A wait is extended by up to 1% at random, so that catalogs are not polled simultaneously. */
const JITTER = 0.01;

/** The fields of a catalog that determine when its reference is resolved. */
export interface PollSubject {
  ref: string;
  generation: number;
  intervalMinutes: number | undefined;
}

/**
 * Returns the reason to resolve the reference, for the log; undefined if no lookup is due. As in
 * Go, a lookup is due after every change of the spec. It is also due if the clock was set back,
 * because the age of the last lookup is then unknown.
 */
export function getPollReason(
  record: PollRecord | undefined,
  { ref, generation, intervalMinutes }: PollSubject,
  now: number,
): string | undefined {
  if (!record) return "no cached catalog metadata found for this catalog";
  if (record.generation !== generation || record.ref !== ref) return "catalog generation differs from observed generation";
  if (intervalMinutes === undefined) return undefined;
  if (now < record.at) return "the clock was set back";
  if (record.at + intervalMinutes * MINUTE_MS < now) return "poll duration has elapsed";
  return undefined;
}

/**
 * Returns the time until the next lookup, at least a millisecond; undefined without an interval.
 * @param random from 0 (inclusive) to 1 (exclusive).
 */
export function computeNextPollMs(lastPoll: number, intervalMinutes: number | undefined, now: number, random: number): number | undefined {
  if (intervalMinutes === undefined) return undefined;
  return Math.max(1, Math.ceil(Math.min(lastPoll, now) + intervalMinutes * MINUTE_MS * (1 + JITTER * random) - now) + 1);
}

/** Dependencies of the step. */
export interface FetchDependencies {
  images: Pick<CatalogImageSource, "fetch">;
  contents: { get(name: string): CatalogContent | undefined };
  /** By catalog name. */
  polls: ReadonlyMap<string, PollRecord>;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** Delay before fetching content that was lost during the image lookup. */
const LOST_RETRY_MS = 300;

/**
 * Resolves the image and fetches it unless its content is stored. Sends requests to the registry
 * only if the spec has changed, the poll interval has elapsed, or after a restart or failure. The
 * step does not wait for the registry: the reconcile ends, and the catalog is requeued when the
 * fetch ends.
 */
export function fetchImage({ images, contents, polls, now }: FetchDependencies): CatalogStep<Started, Fetched> {
  return {
    name: "FetchImage",
    async run(phase, { log }) {
      const { metadata, spec } = phase.catalog;
      const { ref, pollIntervalMinutes } = getImageSource(phase);
      const stored = contents.get(metadata.name);
      const record = polls.get(metadata.name);
      const subject = { ref, generation: metadata.generation ?? 0, intervalMinutes: pollIntervalMinutes };
      const reason = getPollReason(record, subject, now()) ?? (stored ? undefined : "no stored content found for this catalog");
      if (reason === undefined && record && stored?.origin.ref === record.canonical)
        return { ...phase, phase: "fetched", image: { kind: "stored", content: stored } };
      const fetched = images.fetch(metadata.name, ref, (canonical) => contents.get(metadata.name)?.origin.ref === canonical);
      if (fetched.kind === "failed") throw new SourceError(fetched.error);
      if (fetched.kind === "pending" && fetched.isNew) log.debug({ reason, source: spec.source.type }, "unpack required");
      if (fetched.kind === "pending") {
        if (!fetched.isSlow || !isReported(phase.catalog)) return stopWithoutStatus(phase, { isPending: true });
        return stop({ ...phase, phase: "fetching", ref }, { isPending: true });
      }
      const { resolved, unpacked, pullBegan } = fetched.value;
      const looked = { ...phase, phase: "fetched", resolved, ...(pullBegan === undefined ? {} : { pullBegan }) } as const;
      if (unpacked) return { ...looked, image: { kind: "unpacked", unpacked } };
      if (stored?.origin.ref === resolved.canonical) return { ...looked, image: { kind: "stored", content: stored } };
      return stopWithoutStatus(phase, { isPending: true, requeueAfterMs: LOST_RETRY_MS }); // the stored content has been lost meanwhile
    },
  };
}

/**
 * Returns whether the status reports the fetch in progress. Only fetches for a new catalog or spec
 * are reported, not polls. After a failure, the condition does not change until the fetch ends.
 */
function isReported({ metadata, status }: Readonly<ClusterCatalog>): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing) return true;
  return progressing.reason === Reason.Succeeded && progressing.observedGeneration !== metadata.generation;
}

function getImageSource({ catalog }: Started): { ref: string; pollIntervalMinutes?: number | undefined } {
  const { type, image } = catalog.spec.source;
  if ((type as string) !== "Image") throw new TerminalError("Blocked", `unknown source type ${goQuote(type)}`);
  if (!image) throw new TerminalError("Blocked", `error parsing ClusterCatalog ${goQuote(catalog.metadata.name)}, image source is nil`);
  return image;
}
