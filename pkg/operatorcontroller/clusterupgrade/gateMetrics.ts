import type { Verdict } from "../../openshift/upgradeable.ts";
import type { GaugeMetric, Labels, Metrics } from "../../telemetry/metrics.ts";
import { type ClusterVersion, minorText } from "../../version/clusterVersion.ts";

/** What extensions mean for cluster upgrades, as metrics; also where no ClusterOperator shows it. */
export class GateMetrics {
  readonly #blocked: GaugeMetric;
  readonly #upgradeable: GaugeMetric;
  /** What is shown, by extension, bundle and maximum. */
  #shown = new Map<string, Labels>();

  constructor(metrics: Metrics) {
    this.#blocked = metrics.gauge({
      name: "cluster_upgrade_blocked",
      help: "1 for each installed bundle that keeps the cluster from being upgraded to its next minor version, 0 for one that states a maximum OpenShift version and does not; max is unknown where it cannot be read",
      labels: ["extension", "bundle", "max"],
    });
    this.#upgradeable = metrics.gauge({
      name: "cluster_upgradeable",
      help: "1 when the installed bundles allow the cluster to be upgraded to its next minor version, else 0; absent while nobody asks and the cluster has no known OpenShift version",
    });
    this.#upgradeable.remove({});
  }

  /** @param upgradeable undefined where there is nothing to say about the cluster. */
  report(verdicts: readonly Verdict[], cluster: ClusterVersion, upgradeable: boolean | undefined): void {
    const shown = new Map<string, Labels>();
    for (const verdict of verdicts) {
      if (verdict.kind === "unlimited") continue;
      const { extension, bundle } = verdict;
      const labels = { extension, bundle, max: verdict.kind === "error" ? "unknown" : minorText(verdict.max) };
      shown.set(JSON.stringify(labels), labels);
      this.#blocked.set(blocks(verdict, cluster) ? 1 : 0, labels);
    }
    for (const [key, labels] of this.#shown) if (!shown.has(key)) this.#blocked.remove(labels);
    this.#shown = shown;
    if (upgradeable === undefined) this.#upgradeable.remove({});
    else this.#upgradeable.set(upgradeable ? 1 : 0);
  }
}

function blocks({ kind }: Verdict, cluster: ClusterVersion): boolean {
  return kind === "blocked" || kind === "error" || (kind === "undecided" && cluster.kind === "unknown");
}
