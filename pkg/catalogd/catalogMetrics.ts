import { CATALOG_FAILURE_REASONS, CATALOG_FAILURE_REASONS_TEXT } from "../api/clusterCatalog.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { getFailureReason } from "./failures.ts";
import type { CatalogStep, Fetched, Stored } from "./phases.ts";
import type { CatalogContent } from "./store/content.ts";

/** Metrics of the content that catalogd serves for each catalog. */
export class CatalogMetrics {
  readonly #objects;
  readonly #bytes;
  readonly #polled;
  readonly #findings;
  readonly #unpacked;
  readonly #unpackSeconds;
  readonly #failures;
  readonly #lost;

  constructor(metrics: Metrics) {
    const labels = ["catalog"];
    this.#lost = metrics.counter({
      name: "catalog_content_lost_total",
      help: "Number of times that the stored content of a catalog was damaged and fetched again",
      labels,
    });
    this.#objects = metrics.gauge({ name: "catalog_objects", help: "Number of objects in the served content of a catalog", labels });
    this.#bytes = metrics.gauge({ name: "catalog_bytes", help: "Size of the served content of a catalog, in bytes", labels });
    this.#polled = metrics.gauge({
      name: "catalog_last_poll_timestamp_seconds",
      help: "Time of the last successful image lookup of a catalog with a poll interval, in seconds since the epoch; absent before the first one, and on replicas that do not lead",
      labels,
    });
    this.#findings = metrics.gauge({
      name: "catalog_findings",
      help: "Number of findings in the served content of a catalog, by severity (error or warning)",
      labels: ["catalog", "severity"],
    });
    this.#unpacked = metrics.gauge({
      name: "catalog_last_unpacked_timestamp_seconds",
      help: "Time when the served content of a catalog was unpacked, in seconds since the epoch",
      labels,
    });
    this.#unpackSeconds = metrics.histogram({
      name: "catalog_unpack_duration_seconds",
      help: "Time from starting the pull of a new catalog image until its content is served, in seconds",
      labels,
    });
    this.#failures = metrics.counter({
      name: "catalog_failures_total",
      help: `Number of failed reconciles of a catalog, by reason: ${CATALOG_FAILURE_REASONS_TEXT}`,
      labels: ["catalog", "reason"],
    });
  }

  /** Wraps the step that stores an image, to measure the time from the start of the pull to the end of the step. */
  timed(store: CatalogStep<Fetched, Stored>): CatalogStep<Fetched, Stored> {
    return {
      name: store.name,
      run: async (phase, context) => {
        const result = await store.run(phase, context);
        const { pullBegan, catalog } = phase;
        if (pullBegan !== undefined)
          this.#unpackSeconds.observe((performance.now() - pullBegan) / 1_000, { catalog: catalog.metadata.name });
        return result;
      },
    };
  }

  /** Counts a reconcile that ended with an error. */
  failed(catalog: string, error: unknown): void {
    this.#failures.inc({ catalog, reason: getFailureReason(error) });
  }

  /** Removes the metrics of a deleted catalog. */
  forget(catalog: string): void {
    this.#unpackSeconds.remove({ catalog });
    this.#lost.remove({ catalog });
    for (const reason of CATALOG_FAILURE_REASONS) this.#failures.remove({ catalog, reason });
  }

  /** Counts damaged stored content. */
  lost(catalog: string): void {
    this.#lost.inc({ catalog });
  }

  /** @param polledAt milliseconds since the epoch. */
  report(catalog: string, content: CatalogContent | undefined, polledAt: number | undefined): void {
    if (content) {
      this.#objects.set(content.catalog.index.lines, { catalog });
      this.#bytes.set(content.catalog.index.bytes, { catalog });
      this.#unpacked.set(Date.parse(content.origin.lastUnpacked) / 1_000, { catalog });
    } else for (const gauge of [this.#objects, this.#bytes, this.#unpacked]) gauge.remove({ catalog });
    for (const [severity, count] of [
      ["error", content?.findings.errors],
      ["warning", content?.findings.warnings],
    ] as const) {
      if (count === undefined) this.#findings.remove({ catalog, severity });
      else this.#findings.set(count, { catalog, severity });
    }
    if (polledAt === undefined) this.#polled.remove({ catalog });
    else this.#polled.set(polledAt / 1_000, { catalog });
  }
}

/** Metrics about the content that this replica should serve. */
export interface ReplicaMetrics {
  /**
   * Records whether the local content is missing or differs from the status. @param isOutdated
   * undefined if the catalog has no content to serve.
   */
  setOutdated(catalog: string, isOutdated: boolean | undefined): void;
  loadFailed(catalog: string): void;
}

/** Creates the metrics that compare this replica with the content that the leader reports. */
export function registerReplicaMetrics(metrics: Metrics): ReplicaMetrics {
  const labels = ["catalog"];
  const outdated = metrics.gauge({
    name: "catalog_behind",
    help: "1 if this replica does not have the content reported in the status of a catalog, otherwise 0",
    labels,
  });
  const failures = metrics.counter({
    name: "follower_load_failures_total",
    help: "Number of failed attempts to load the content reported in the status of a catalog while this replica is not the leader",
    labels,
  });
  return {
    setOutdated: (catalog, isOutdated) => {
      if (isOutdated !== undefined) return outdated.set(isOutdated ? 1 : 0, { catalog });
      outdated.remove({ catalog });
      return failures.remove({ catalog });
    },
    loadFailed: (catalog) => failures.inc({ catalog }),
  };
}
