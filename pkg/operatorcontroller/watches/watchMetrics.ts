import type { Metrics } from "../../telemetry/metrics.ts";
import type { StreamState } from "./metadataStream.ts";

/** Shows how many streams watch objects of extensions, by state; `states` is asked at each reading. */
export function watchMetrics(metrics: Metrics, states: () => Record<StreamState["kind"], number>): void {
  metrics.gauge({
    name: "object_watches",
    help: "streams that watch objects of extensions, by state; refused ones are replaced by ones by name, or by comparisons",
    labels: ["state"],
    collect: (gauge) => {
      for (const [state, count] of Object.entries(states())) gauge.set(count, { state });
    },
  });
}
