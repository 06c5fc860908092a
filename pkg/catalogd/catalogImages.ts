import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import { systemClock } from "../async/clock.ts";
import { leave, stop } from "../controller/story.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { type PullCounts, PullPool, type PullState, targetOf } from "../oci/pull/pullPool.ts";
import { SourceError } from "./failures.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import type { CatalogStep, Fetched, ResolvedImage, Started, UnpackedImage } from "./phases.ts";
import type { CatalogContent } from "./store/content.ts";

/** Looks up and pulls catalog images; of each only the catalog's folder is unpacked. */
export interface CatalogPuller extends CatalogKeeper {
  /** The digest that a reference stands for now. */
  resolve(ref: string, signal: AbortSignal): Promise<ResolvedImage>;
  /** @param identity the reference that the signature policy is applied to; `ref` by default. */
  pull(name: string, ref: string, signal: AbortSignal, identity?: string): Promise<UnpackedImage>;
}

/** What a reference stands for, and its image unless that is stored already. */
export interface FetchedImage {
  readonly resolved: ResolvedImage;
  readonly unpacked?: UnpackedImage;
  /** When its pull began, in milliseconds as `performance.now` gives them. */
  readonly pullBegan?: number;
}

/** What passes over catalogs need of their images. Nothing of it waits for a registry. */
export interface CatalogImageSource extends CatalogKeeper {
  /** How the lookup of `ref` stands, and the pull of what it stands for unless that is stored; both are started if need be. */
  fetch(name: string, ref: string, isStored: (canonical: string) => boolean): PullState<FetchedImage>;
  /** How the pull of an image by digest stands, which is started if need be. @param identity as CatalogPuller has it. */
  load(name: string, ref: string, identity: string): PullState<UnpackedImage>;
}

/** Images by catalog. They are looked up and pulled outside of passes; the catalog is woken when that has ended. */
export class CatalogImages implements CatalogImageSource {
  readonly #puller: CatalogPuller;
  readonly #pool: PullPool<FetchedImage>;

  constructor(puller: CatalogPuller, wake: (catalog: string) => void) {
    this.#puller = puller;
    this.#pool = new PullPool({ onChange: wake, clock: systemClock });
  }

  /** How many pulls run and wait. */
  get pulls(): PullCounts {
    return this.#pool;
  }

  fetch(name: string, ref: string, isStored: (canonical: string) => boolean): PullState<FetchedImage> {
    return this.#pool.request(name, JSON.stringify(["fetch", ref]), targetOf(ref), async (signal) => {
      const resolved = await this.#puller.resolve(ref, signal);
      if (isStored(resolved.canonical)) return { resolved };
      const pullBegan = performance.now();
      const unpacked = await this.#puller.pull(name, ref, signal);
      return { resolved: { canonical: unpacked.canonical, digest: unpacked.digest }, unpacked, pullBegan };
    });
  }

  load(name: string, ref: string, identity: string): PullState<UnpackedImage> {
    const state = this.#pool.request(name, JSON.stringify(["load", ref, identity]), targetOf(ref), async (signal) => {
      const unpacked = await this.#puller.pull(name, ref, signal, identity);
      return { resolved: unpacked, unpacked };
    });
    if (state.kind !== "done") return state;
    const { unpacked } = state.value;
    return unpacked ? { kind: "done", value: unpacked } : { kind: "failed", error: new Error("the image was not unpacked") };
  }

  /** Ends the catalog's pull and removes its images. */
  async remove(name: string): Promise<void> {
    await this.#pool.cancel(name);
    await this.#puller.remove(name);
  }

  /** Credentials have changed: what fails with those before is started again. */
  renew(): void {
    this.#pool.renew();
  }

  /** Ends all pulls; new ones may start. */
  async clear(): Promise<void> {
    await this.#pool.clear();
  }

  /** Ends all pulls. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}

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

/** What fetching the image needs from the outside. */
export interface FetchDependencies {
  images: Pick<CatalogImageSource, "fetch">;
  contents: { get(name: string): CatalogContent | undefined };
  /** By catalog name. */
  polls: ReadonlyMap<string, PollRecord>;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** Until content that was lost while its image was looked up is fetched. */
const LOST_RETRY_MS = 300;

/**
 * Finds out which image is wanted, and fetches it unless its content is stored. The registry is asked only when the spec changed, when the
 * interval has passed, and after a restart or a failure. The step does not wait for it: the pass ends, and the end of the fetch brings the next one.
 */
export function fetchImage({ images, contents, polls, now }: FetchDependencies): CatalogStep<Started, Fetched> {
  return {
    name: "FetchImage",
    async run(phase, { log }) {
      const { metadata, spec } = phase.catalog;
      const { ref, pollIntervalMinutes } = imageOf(phase);
      const stored = contents.get(metadata.name);
      const record = polls.get(metadata.name);
      const subject = { ref, generation: metadata.generation ?? 0, intervalMinutes: pollIntervalMinutes };
      const reason = pollReason(record, subject, now()) ?? (stored ? undefined : "no stored content found for this catalog");
      if (reason === undefined && record && stored?.origin.ref === record.canonical)
        return { ...phase, phase: "fetched", image: { kind: "stored", content: stored } };
      const fetched = images.fetch(metadata.name, ref, (canonical) => contents.get(metadata.name)?.origin.ref === canonical);
      if (fetched.kind === "failed") throw new SourceError(fetched.error);
      if (fetched.kind === "pending" && fetched.isNew) log.debug({ reason, source: spec.source.type }, "unpack required");
      if (fetched.kind === "pending") {
        if (!fetched.isSlow || !isToldOf(phase.catalog)) return leave(phase, { isPending: true });
        return stop({ ...phase, phase: "fetching", ref }, { isPending: true });
      }
      const { resolved, unpacked, pullBegan } = fetched.value;
      const looked = { ...phase, phase: "fetched", resolved, ...(pullBegan === undefined ? {} : { pullBegan }) } as const;
      if (unpacked) return { ...looked, image: { kind: "unpacked", unpacked } };
      if (stored?.origin.ref === resolved.canonical) return { ...looked, image: { kind: "stored", content: stored } };
      return leave(phase, { isPending: true, requeueAfterMs: LOST_RETRY_MS }); // what was stored is lost since then
    },
  };
}

/** Whether the status tells of the fetch: of a new catalog or spec it does; a poll is not worth a word, and a failure stays until there is an answer. */
function isToldOf({ metadata, status }: Readonly<ClusterCatalog>): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing) return true;
  return progressing.reason === Reason.Succeeded && progressing.observedGeneration !== metadata.generation;
}

function imageOf({ catalog }: Started): { ref: string; pollIntervalMinutes?: number | undefined } {
  const { type, image } = catalog.spec.source;
  if ((type as string) !== "Image") throw new TerminalError("Blocked", `unknown source type ${goQuote(type)}`);
  if (!image) throw new TerminalError("Blocked", `error parsing ClusterCatalog ${goQuote(catalog.metadata.name)}, image source is nil`);
  return image;
}
