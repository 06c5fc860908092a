import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { Backoff } from "../async/backoff.ts";
import type { StepResult } from "../controller/stepSequence.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { CatalogImageSource } from "./catalogImages.ts";
import type { ReplicaMetrics } from "./catalogMetrics.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import { type Fetched, newStarted } from "./phases.ts";
import { getServedImage, type ServedImage } from "./status.ts";
import type { CatalogContent } from "./store/content.ts";
import { type StoreDependencies, storeContent } from "./storeContent.ts";

/** Dependencies of a follower. It cannot write to the API server. */
export interface FollowerDependencies {
  store: StoreDependencies["store"] & CatalogKeeper & { get(name: string): CatalogContent | undefined };
  images: Pick<CatalogImageSource, "load" | "remove">;
  metrics: ReplicaMetrics;
  /** From 0 (inclusive) to 1 (exclusive). */
  random: () => number;
}

const BASE_BACKOFF_MS = 1_000;
/** Maximum delay before a failed load is retried. */
const MAX_BACKOFF_MS = 60_000;
/** Only the leader records Events about catalogs. */
const SILENT = { record: () => undefined };

/**
 * Loads the content that the leader reports in the status. Keeps the previous content until the new
 * content is complete, and retries failed loads with increasing delays.
 */
export class CatalogFollower {
  readonly #deps: FollowerDependencies;
  /** Delays of catalogs whose content could not be loaded. */
  readonly #backoffs = new Map<string, Backoff>();

  constructor(deps: FollowerDependencies) {
    this.#deps = deps;
  }

  /** The names of catalogs whose content could not be loaded. */
  get failing(): string[] {
    return [...this.#backoffs.keys()];
  }

  /**
   * Does not wait for a registry: the catalog is requeued when the pull ends. @param catalog
   * undefined if it does not exist. @throws Error if content that should not be served cannot be
   * removed.
   */
  async follow(name: string, catalog: Readonly<ClusterCatalog> | undefined, log: Logger, signal: AbortSignal): Promise<StepResult> {
    const { store, images, metrics } = this.#deps;
    const target = getServedImage(catalog);
    if (!catalog || !target) {
      this.#backoffs.delete(name);
      metrics.setOutdated(name, undefined);
      if (store.get(name)) log.info("removing content that is no longer served");
      for (const keeper of [store, images]) await keeper.remove(name);
      return undefined;
    }
    if (store.get(name)?.origin.ref === target.ref) return this.#loaded(name);
    metrics.setOutdated(name, true);
    try {
      if ((await this.#load(name, catalog, target, log, signal)) === "pending") return { isPending: true };
      log.info({ image: target.ref }, "loaded the content that the leader serves");
      return this.#loaded(name);
    } catch (err) {
      signal.throwIfAborted();
      const requeueAfterMs = this.#backoffOf(name).next();
      const serving = store.get(name)?.origin.ref;
      metrics.loadFailed(name);
      log.warn(
        { image: target.ref, serving, reason: getErrorMessage(err), requeueAfterMs },
        "cannot load the content that the leader serves",
      );
      return { requeueAfterMs };
    }
  }

  async #load(
    name: string,
    catalog: Readonly<ClusterCatalog>,
    target: ServedImage,
    log: Logger,
    signal: AbortSignal,
  ): Promise<"loaded" | "pending"> {
    const { store, images } = this.#deps;
    const pull = images.load(name, target.ref, findIdentity(catalog, target));
    if (pull.kind === "pending") return "pending";
    if (pull.kind === "failed") throw pull.error;
    const unpacked = pull.value;
    // Uses the values in the status, so that this replica has nothing to write if it becomes the
    // leader.
    const modTime = target.lastUnpacked === undefined ? unpacked.modTime : new Date(target.lastUnpacked);
    const fetched: Fetched = { ...newStarted(catalog), phase: "fetched", image: { kind: "unpacked", unpacked: { ...unpacked, modTime } } };
    await storeContent({ store, images, events: SILENT }).run(fetched, { log, signal });
    return "loaded";
  }

  #loaded(name: string): undefined {
    this.#backoffs.delete(name);
    this.#deps.metrics.setOutdated(name, false);
    return undefined;
  }

  #backoffOf(name: string): Backoff {
    const backoff = this.#backoffs.get(name) ?? new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS, this.#deps.random);
    this.#backoffs.set(name, backoff);
    return backoff;
  }
}

/**
 * Returns the reference in the spec if it is a tag of the same repository, because a signature
 * policy may apply to the tag; otherwise the reference by digest.
 */
function findIdentity({ spec }: Readonly<ClusterCatalog>, { ref }: ServedImage): string {
  const requested = spec.source.image?.ref ?? "";
  const repository = ref.slice(0, ref.indexOf("@"));
  return requested.startsWith(`${repository}:`) && !requested.includes("@") ? requested : ref;
}

/** Dependencies of `ContentRecovery`. */
export interface ContentRecoveryInit {
  contents: { get(name: string): CatalogContent | undefined };
  follower: Pick<CatalogFollower, "follow" | "failing">;
  /** Yields leadership to another replica that has all content, if any. */
  stepDown: (why: string) => void;
}

/**
 * Recovers content that the leader has stored and lost, for example because a file is damaged. The
 * leader loads the digest in the status again. If that fails, for example because the registry is
 * down, another replica may still have the content, but would remove it if the leader removed it
 * from the status. The leader therefore yields leadership, once per digest. If leadership returns
 * to this replica, no replica has the content.
 */
export class ContentRecovery {
  readonly #init: ContentRecoveryInit;
  readonly #names = new Set<string>();
  /** Digests for which this replica has already yielded leadership. */
  readonly #left = new Map<string, string>();

  constructor(init: ContentRecoveryInit) {
    this.#init = init;
  }

  /** Records that content was lost. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Loads the lost content of a catalog again. @throws the signal's reason when it aborts. */
  async replace(
    name: string,
    catalog: Readonly<ClusterCatalog>,
    log: Logger,
    signal: AbortSignal,
  ): Promise<"nothing to do" | "pending" | "loaded" | "leadership yielded"> {
    const { contents, follower, stepDown } = this.#init;
    const image = getServedImage(catalog);
    if (contents.get(name)) this.#forget(name);
    if (!image || !this.#names.has(name) || this.#left.get(name) === image.digest) return "nothing to do";
    const result = await follower.follow(name, catalog, log, signal);
    if (result?.isPending) return "pending";
    if (!follower.failing.includes(name)) {
      this.#forget(name);
      return "loaded";
    }
    this.#left.set(name, image.digest);
    stepDown(`stored content of catalog ${name} was lost and cannot be loaded again, but other replicas may have it`);
    return "leadership yielded";
  }

  #forget(name: string): void {
    this.#names.delete(name);
    this.#left.delete(name);
  }
}
