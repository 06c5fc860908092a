import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { Clock } from "../async/clock.ts";
import type { Logger } from "../telemetry/log.ts";
import { getServedImage } from "./status.ts";
import type { CatalogContent } from "./store/content.ts";

/** Inputs of the readiness check. */
export interface ReadinessInit {
  /** Returns all known catalogs; undefined until the first list has arrived. */
  catalogs: () => readonly Readonly<ClusterCatalog>[] | undefined;
  contents: { get(name: string): CatalogContent | undefined };
  /** How long readiness waits after the start for content that cannot be loaded. */
  deadlineMs: number;
  clock: Clock;
  log: Logger;
}

/** Maximum number of names in a log line or an error. */
const MAX_NAMED = 10;

/**
 * Determines whether this replica can receive requests.
 *
 * - Not ready until the catalogs are known.
 * - Not ready until every served digest has been stored on this replica once. After the deadline,
 *   the replica is ready without missing content, so that a deleted image does not block it.
 * - Ready permanently after that. When a catalog gets a new digest, no replica has the new content
 *   at first; if all replicas became unready, none would respond. A replica serves the previous
 *   content until it has loaded the new content. Each response contains the digest of its content,
 *   and requests for missing content get 503.
 */
export class ReplicaReadiness {
  readonly #init: ReadinessInit;
  readonly #startedAt: number;
  #isReady = false;

  constructor(init: ReadinessInit) {
    this.#init = init;
    this.#startedAt = init.clock.now();
  }

  /**
   * Returns the sorted names of the catalogs whose served digest is not stored on this replica;
   * undefined until the catalogs are listed.
   */
  missing(): string[] | undefined {
    const { catalogs, contents } = this.#init;
    return catalogs()
      ?.filter((catalog) => {
        const expected = getServedImage(catalog);
        return expected && contents.get(catalog.metadata.name)?.origin.digest !== expected.digest;
      })
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  /**
   * Readiness check. @returns a readable summary of the served catalogs. @throws Error while this
   * replica should not receive requests.
   */
  check(): string {
    const { catalogs, deadlineMs, clock, log } = this.#init;
    const missing = this.missing();
    if (!missing) throw new Error("the ClusterCatalogs have not been listed yet");
    const served = (catalogs() ?? []).filter((catalog) => getServedImage(catalog)).length;
    const names = missing.slice(0, MAX_NAMED);
    if (!this.#isReady && missing.length > 0) {
      if (clock.now() - this.#startedAt < deadlineMs)
        throw new Error(`the content of these catalogs is still loading: ${names.join(", ")}`);
      log.warn(
        { missing: missing.length, catalogs: names },
        "ready without the content of some catalogs, because it could not be loaded in time",
      );
    }
    this.#isReady = true;
    const lacking = missing.length === 0 ? "" : `; the content reported in the status is not stored yet: ${names.join(", ")}`;
    return `${served - missing.length} of ${served} catalogs${lacking}`;
  }
}
