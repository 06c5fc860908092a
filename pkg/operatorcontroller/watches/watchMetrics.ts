import type { Metrics } from "../../telemetry/metrics.ts";
import type { StreamState } from "./metadataStream.ts";

/** Shows how many streams watch objects of extensions, by state; `states` is asked at each reading. */
export function watchMetrics(metrics: Metrics, states: () => readonly Record<StreamState["kind"], number>[]): void {
  metrics.gauge({
    name: "object_watches",
    help: "streams that watch objects of extensions and sources of their configuration, by state; refused ones are replaced by ones by name, or by comparisons",
    labels: ["state"],
    collect: (gauge) => {
      const counts = new Map<string, number>();
      for (const [state, count] of states().flatMap(Object.entries<number>)) counts.set(state, (counts.get(state) ?? 0) + count);
      for (const [state, count] of counts) gauge.set(count, { state });
    },
  });
}
