import type { Metrics } from "../telemetry/metrics.ts";
import type { CatalogContent } from "./content.ts";

/** Upper bounds in seconds that dashboards know. */
const REQUEST_SECONDS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.6, 2, 2.4, 2.8, 3.2, 3.6, 4, 10];

/** Seconds that requests for content took, by status code. */
export function requestDuration(metrics: Metrics) {
  return metrics.histogram({
    name: "http_request_duration_seconds",
    help: "Histogram of request duration in seconds",
    labels: ["code"],
    buckets: REQUEST_SECONDS,
  });
}

/** What is served of each catalog, as metrics. */
export class CatalogMetrics {
  readonly #objects;
  readonly #bytes;
  readonly #polled;

  constructor(metrics: Metrics) {
    const labels = ["catalog"];
    this.#objects = metrics.gauge({ name: "catalog_objects", help: "Objects in the content that is served of a catalog", labels });
    this.#bytes = metrics.gauge({ name: "catalog_bytes", help: "Bytes of the content that is served of a catalog", labels });
    this.#polled = metrics.gauge({
      name: "catalog_last_poll_timestamp_seconds",
      help: "When the image of a catalog was last looked up with success, in seconds since the epoch",
      labels,
    });
  }

  /** @param polledAt milliseconds since the epoch. */
  report(catalog: string, content: CatalogContent | undefined, polledAt: number | undefined): void {
    if (content) {
      this.#objects.set(content.index.lines, { catalog });
      this.#bytes.set(content.index.bytes, { catalog });
    } else for (const gauge of [this.#objects, this.#bytes]) gauge.remove({ catalog });
    if (polledAt === undefined) this.#polled.remove({ catalog });
    else this.#polled.set(polledAt / 1_000, { catalog });
  }
}
