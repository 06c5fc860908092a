import { CatalogMetrics, replicaMetrics } from "../../pkg/catalogd/catalogMetrics.ts";
import { HttpMetrics } from "../../pkg/catalogd/http/httpMetrics.ts";
import { pullSecretStates } from "../../pkg/controller/pullSecrets.ts";
import { pullMetrics } from "../../pkg/oci/pull/pullPool.ts";
import { GateMetrics } from "../../pkg/operatorcontroller/clusterupgrade/gateMetrics.ts";
import { ExtensionMetrics } from "../../pkg/operatorcontroller/status/extensionMetrics.ts";
import { watchMetrics } from "../../pkg/operatorcontroller/watches/watchMetrics.ts";
import { servingCertificateEnd } from "../../pkg/serving/serverTls.ts";
import { type Metrics, controllerMetrics, createMetrics, leaderMetrics, queueMetrics, restClientMetrics } from "../../pkg/telemetry/metrics.ts";

/** One program with all metrics that it has when it runs, those of its process left out. */
export interface ProgramMetrics {
  readonly program: string;
  readonly metrics: Metrics;
}

/** Both programs' metrics, without a value. */
export function programMetrics(): ProgramMetrics[] {
  const [controller, catalogd] = [createMetrics("operator_controller"), createMetrics("catalogd")];
  for (const metrics of [controller, catalogd]) {
    controllerMetrics(metrics, "x");
    queueMetrics(metrics, "x");
    restClientMetrics(metrics);
    pullMetrics(metrics, () => ({ running: 0, waiting: 0 }));
    pullSecretStates(metrics);
    leaderMetrics(metrics, "x");
  }
  void [new ExtensionMetrics(controller), new GateMetrics(controller), new CatalogMetrics(catalogd), new HttpMetrics(catalogd)];
  for (const metrics of [controller, catalogd]) servingCertificateEnd(metrics, undefined);
  replicaMetrics(catalogd);
  watchMetrics(controller, () => [{ starting: 0, open: 0, broken: 0, refused: 0 }]);
  return [
    { program: "operator-controller", metrics: controller },
    { program: "catalogd", metrics: catalogd },
  ];
}
