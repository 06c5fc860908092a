import type { PullPool } from "../oci/pullPool.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** How many pulls of a pool run, and how many wait for their turn. */
export type PullCounts = Pick<PullPool<unknown>, "running" | "waiting">;

/** Reports the pulls of a program by state; `counts` is called at each reading. Registries are no label: users choose them. */
export function pullMetrics(metrics: Metrics, counts: () => PullCounts): void {
  metrics.gauge({
    name: "image_pulls",
    help: "Pulls of images by state: running, or waiting because their registry, repository or image has as many running pulls as it may have, or the program has",
    labels: ["state"],
    collect: (gauge) => {
      const { running, waiting } = counts();
      gauge.set(running, { state: "running" });
      gauge.set(waiting, { state: "waiting" });
    },
  });
}
