import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { Backoff } from "../async/backoff.ts";
import type { StepResult } from "../controller/story.ts";
import { messageOf } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { CatalogImageSource } from "./catalogImages.ts";
import type { ReplicaMetrics } from "./catalogMetrics.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import { type Fetched, newStarted } from "./phases.ts";
import { type ServedImage, servedImage } from "./status.ts";
import type { CatalogContent } from "./store/content.ts";
import { type StoreDependencies, storeContent } from "./storeContent.ts";

/** What a follower works with. It has nothing to write to the API server with. */
export interface FollowerDependencies {
  store: StoreDependencies["store"] & CatalogKeeper & { get(name: string): CatalogContent | undefined };
  images: Pick<CatalogImageSource, "load" | "remove">;
  metrics: ReplicaMetrics;
  /** From 0 up to 1. */
  random: () => number;
}

const BASE_BACKOFF_MS = 1_000;
/** Longest pause before a digest that could not be loaded is tried again. */
const MAX_BACKOFF_MS = 60_000;
/** Events about a catalog are the leader's. */
const SILENT = { record: () => undefined };

/**
 * Keeps one replica's store as the leader's status says. What is served stays until what comes after it is complete; what could not be loaded is
 * tried again with growing pauses.
 */
export class CatalogFollower {
  readonly #deps: FollowerDependencies;
  /** Of catalogs that could not be loaded. */
  readonly #backoffs = new Map<string, Backoff>();

  constructor(deps: FollowerDependencies) {
    this.#deps = deps;
  }

  /** Names of the catalogs whose content could not be loaded. */
  get failing(): string[] {
    return [...this.#backoffs.keys()];
  }

  /** Does not wait for a registry: the end of a pull brings the next pass. @param catalog undefined when it does not exist. @throws Error when content that is not to be served cannot be removed. */
  async follow(name: string, catalog: Readonly<ClusterCatalog> | undefined, log: Logger, signal: AbortSignal): Promise<StepResult> {
    const { store, images, metrics } = this.#deps;
    const wanted = servedImage(catalog);
    if (!catalog || !wanted) {
      this.#backoffs.delete(name);
      metrics.behind(name, undefined);
      if (store.get(name)) log.info("content is served no more");
      for (const keeper of [store, images]) await keeper.remove(name);
      return undefined;
    }
    if (store.get(name)?.origin.ref === wanted.ref) return this.#loaded(name);
    metrics.behind(name, true);
    try {
      if ((await this.#load(name, catalog, wanted, log, signal)) === "pending") return { isPending: true };
      log.info({ image: wanted.ref }, "loaded what the leader serves");
      return this.#loaded(name);
    } catch (err) {
      signal.throwIfAborted();
      const requeueAfterMs = this.#backoffOf(name).next();
      const serving = store.get(name)?.origin.ref;
      metrics.loadFailed(name);
      log.warn(
        { image: wanted.ref, serving, reason: messageOf(err), requeueAfterMs },
        "content that the leader serves could not be loaded",
      );
      return { requeueAfterMs };
    }
  }

  async #load(
    name: string,
    catalog: Readonly<ClusterCatalog>,
    wanted: ServedImage,
    log: Logger,
    signal: AbortSignal,
  ): Promise<"loaded" | "pending"> {
    const { store, images } = this.#deps;
    const pull = images.load(name, wanted.ref, identityOf(catalog, wanted));
    if (pull.kind === "pending") return "pending";
    if (pull.kind === "failed") throw pull.error;
    const unpacked = pull.value;
    // As the leader's status has it: should this replica lead one day, it finds nothing to write.
    const modTime = wanted.lastUnpacked === undefined ? unpacked.modTime : new Date(wanted.lastUnpacked);
    const fetched: Fetched = { ...newStarted(catalog), phase: "fetched", image: { kind: "unpacked", unpacked: { ...unpacked, modTime } } };
    await storeContent({ store, images, events: SILENT }).run(fetched, { log, signal });
    return "loaded";
  }

  #loaded(name: string): undefined {
    this.#backoffs.delete(name);
    this.#deps.metrics.behind(name, false);
    return undefined;
  }

  #backoffOf(name: string): Backoff {
    const backoff = this.#backoffs.get(name) ?? new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS, this.#deps.random);
    this.#backoffs.set(name, backoff);
    return backoff;
  }
}

/** The reference that the leader asked for the image by, as long as the spec still has the one: a policy may be about its tag. */
function identityOf({ spec }: Readonly<ClusterCatalog>, { ref }: ServedImage): string {
  const asked = spec.source.image?.ref ?? "";
  const repository = ref.slice(0, ref.indexOf("@"));
  return asked.startsWith(`${repository}:`) && !asked.includes("@") ? asked : ref;
}

/** What a leader needs that has lost content. */
export interface LostContentsInit {
  contents: { get(name: string): CatalogContent | undefined };
  follower: Pick<CatalogFollower, "follow" | "failing">;
  /** Leaves leading to another replica, if there is one that has all content. */
  stepDown: (why: string) => void;
}

/**
 * Content that was stored here and turned out to be damaged or gone while this replica leads. It is loaded again as the status names it. Where
 * that fails, with the registry down for one, the other replicas may still have it: a leader that said that it is not served would have them drop
 * it. So leading is left to them, once; when it comes back to this replica nobody has it.
 */
export class LostContents {
  readonly #init: LostContentsInit;
  readonly #names = new Set<string>();
  /** For which leading was left to others, by the digest. */
  readonly #left = new Map<string, string>();

  constructor(init: LostContentsInit) {
    this.#init = init;
  }

  /** Tells that content was lost. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Loads again what was lost of a catalog. @throws the signal's reason when it aborts. */
  async replace(
    name: string,
    catalog: Readonly<ClusterCatalog>,
    log: Logger,
    signal: AbortSignal,
  ): Promise<"nothing to do" | "pending" | "loaded" | "left to others"> {
    const { contents, follower, stepDown } = this.#init;
    const image = servedImage(catalog);
    if (contents.get(name)) this.#forget(name);
    if (!image || !this.#names.has(name) || this.#left.get(name) === image.digest) return "nothing to do";
    const result = await follower.follow(name, catalog, log, signal);
    if (result?.isPending) return "pending";
    if (!follower.failing.includes(name)) {
      this.#forget(name);
      return "loaded";
    }
    this.#left.set(name, image.digest);
    stepDown(`content of catalog ${name} was lost here and cannot be loaded again; other replicas may have it`);
    return "left to others";
  }

  #forget(name: string): void {
    this.#names.delete(name);
    this.#left.delete(name);
  }
}
