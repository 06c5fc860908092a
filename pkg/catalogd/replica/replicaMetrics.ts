import type { Metrics } from "../../telemetry/metrics.ts";

/** What a replica reports of the content that it is to serve. */
export interface ReplicaMetrics {
  /** Whether the content here is another than the status says, or none; undefined for a catalog of which nothing is to be served. */
  behind(catalog: string, behind: boolean | undefined): void;
  loadFailed(catalog: string): void;
}

/** How replicas keep up with what the leader says is served, as metrics. */
export function replicaMetrics(metrics: Metrics): ReplicaMetrics {
  const labels = ["catalog"];
  const behind = metrics.gauge({
    name: "catalog_behind",
    help: "Whether this replica lacks the content that the status of a catalog says is served: 1, or 0 when it has it",
    labels,
  });
  const failures = metrics.counter({
    name: "follower_load_failures_total",
    help: "Attempts of this replica, while it does not lead, to load the content that the status of a catalog says is served and that failed",
    labels,
  });
  return {
    behind: (catalog, is) => {
      if (is !== undefined) return behind.set(is ? 1 : 0, { catalog });
      behind.remove({ catalog });
      return failures.remove({ catalog });
    },
    loadFailed: (catalog) => failures.inc({ catalog }),
  };
}
