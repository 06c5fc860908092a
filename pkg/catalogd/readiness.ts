import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { Clock } from "../async/clock.ts";
import type { Logger } from "../telemetry/log.ts";
import { servedImage } from "./status.ts";
import type { CatalogContent } from "./store/content.ts";

/** What readiness is judged by. */
export interface ReadinessInit {
  /** All catalogs as last seen; undefined until the first list is in. */
  catalogs: () => readonly Readonly<ClusterCatalog>[] | undefined;
  contents: { get(name: string): CatalogContent | undefined };
  /** How long after the start content that cannot be loaded is waited for. */
  deadlineMs: number;
  clock: Clock;
  log: Logger;
}

/** Names in a log line or an error. */
const MAX_NAMED = 10;

/**
 * Whether requests may be sent to this replica.
 *
 * | since the start                                | ready |
 * | the catalogs are not known                     | no |
 * | not all digests that are served were ever here | no, until the deadline; then with what is here, so that an image that is gone does not keep a replica out |
 * | all of them were here once                     | yes, for good: when a catalog gets another digest, all replicas lack it for a moment, and leaving all at once would leave nobody to answer. What is older is served until it is replaced, each answer says its digest, and what is missing is answered with 503 |
 */
export class ReplicaReadiness {
  readonly #init: ReadinessInit;
  readonly #startedAt: number;
  #isReady = false;

  constructor(init: ReadinessInit) {
    this.#init = init;
    this.#startedAt = init.clock.now();
  }

  /** Names of the catalogs whose served digest is not here, sorted; undefined while the catalogs are not known. */
  missing(): string[] | undefined {
    const { catalogs, contents } = this.#init;
    return catalogs()
      ?.filter((catalog) => {
        const wanted = servedImage(catalog);
        return wanted && contents.get(catalog.metadata.name)?.origin.digest !== wanted.digest;
      })
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  /** A health check. @returns what is served, for people. @throws Error while no request should come. */
  check(): string {
    const { catalogs, deadlineMs, clock, log } = this.#init;
    const missing = this.missing();
    if (!missing) throw new Error("the first list of ClusterCatalogs has not arrived yet");
    const served = (catalogs() ?? []).filter((catalog) => servedImage(catalog)).length;
    const names = missing.slice(0, MAX_NAMED);
    if (!this.#isReady && missing.length > 0) {
      if (clock.now() - this.#startedAt < deadlineMs) throw new Error(`content of catalogs is being loaded: ${names.join(", ")}`);
      log.warn({ missing: missing.length, catalogs: names }, "ready without the content of some catalogs: it could not be loaded in time");
    }
    this.#isReady = true;
    const lacking = missing.length === 0 ? "" : `; not here as their status says: ${names.join(", ")}`;
    return `${served - missing.length} of ${served} catalogs${lacking}`;
  }
}
