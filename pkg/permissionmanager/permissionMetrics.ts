import type { ExtensionPermissionsStatus } from "../api/extensionPermissions.ts";
import type { CounterMetric, Metrics } from "../telemetry/metrics.ts";

/** The state that permission-manager reported, or Unverified for a request that no selected catalog offers. */
type DecisionLabel = NonNullable<ExtensionPermissionsStatus["state"]> | "Unverified";
const DECISIONS: readonly DecisionLabel[] = ["Granted", "Pending", "Denied", "Failed", "Unverified"];

/** Metrics of the decisions about permissions. */
export class PermissionMetrics {
  readonly #decisions: CounterMetric;

  constructor(metrics: Metrics) {
    this.#decisions = metrics.counter({
      name: "decisions_total",
      help: "Number of decisions about the permissions of extensions, by state: Granted, Pending, Denied, Failed, or Unverified for a request that no catalog of the extension offers",
      labels: ["state"],
      initial: DECISIONS.map((state) => ({ state })),
    });
  }

  /** Counts a decision. */
  countDecision(state: DecisionLabel): void {
    this.#decisions.inc({ state });
  }
}
