import type { Metrics } from "../../telemetry/metrics.ts";

/** Where the gauges get their values, at each scrape. */
export interface ConsoleMetricSources {
  readonly streams: () => number;
  readonly identities: () => number;
}

/** Registers the metrics of the console, in addition to those of its HTTP server. */
export function registerConsoleMetrics(metrics: Metrics, { streams, identities }: ConsoleMetricSources): void {
  metrics.gauge({
    name: "event_streams",
    help: "Number of open event streams; each open page has one",
    collect: (gauge) => gauge.set(streams()),
  });
  metrics.gauge({
    name: "identities",
    help: "Number of bearer tokens in use; each has its own watches while a page is open",
    collect: (gauge) => gauge.set(identities()),
  });
}
