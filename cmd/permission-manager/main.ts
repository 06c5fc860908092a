import { setFlagsFromString } from "node:v8";
import { SERVER_LEASES } from "../../pkg/api/constants.ts";
import { systemClock } from "../../pkg/async/clock.ts";
import { runUntilStopped, stopOnSignals } from "../../pkg/controller/shutdown.ts";
import { Client } from "../../pkg/kube/client.ts";
import { BUNDLE_IMAGE_LIMITS } from "../../pkg/oci/limits.ts";
import { CatalogClient } from "../../pkg/operatorcontroller/catalogs/catalogClient.ts";
import { AdmissionGuard } from "../../pkg/permissionmanager/admissionGuard.ts";
import { PermissionManager } from "../../pkg/permissionmanager/permissionManager.ts";
import { toClientSettings } from "../../pkg/serving/tlsProfile.ts";
import { startProbeServer } from "../../pkg/telemetry/health.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics, registerRestClientMetrics } from "../../pkg/telemetry/metrics.ts";
import { getLogLevel } from "../internal/flags.ts";
import { createGlobalPullSecret, ImageSources } from "../internal/imageFlags.ts";
import { createLeadership, leadUntilLost } from "../internal/leaderFlags.ts";
import { ignoreConnectionResets, runProgram } from "../internal/program.ts";
import { readTlsSettings } from "../internal/serving.ts";
import { type Flags, parseFlags, usage } from "./flags.ts";

async function run(flags: Flags): Promise<void> {
  const log = createLogger({ component: "permission-manager", level: getLogLevel(flags) });
  ignoreConnectionResets(log);
  const metrics = createMetrics("permission_manager");
  metrics.collectProcess();
  const client = Client.fromKubeConfig(flags.kubeconfig, { userAgent: "permission-manager", observe: registerRestClientMetrics(metrics) });
  const tls = toClientSettings(readTlsSettings(flags, log));
  const packages = new CatalogClient({ caDir: flags["catalogd-cas-dir"], tls: () => tls });
  const credentials = createGlobalPullSecret(flags, { client, log, metrics });
  const images = new ImageSources(flags, {
    client,
    credentials,
    cacheDir: flags["cache-path"],
    limits: BUNDLE_IMAGE_LIMITS,
    namespaced: true,
    log,
  });
  const leadership = createLeadership(flags, { client, name: SERVER_LEASES["permission-manager"], log, metrics });
  const manager = new PermissionManager({
    client: leadership.client,
    puller: images.puller,
    packages,
    systemNamespace: flags["system-namespace"],
    webhookCertProvider: flags["webhook-cert-provider"],
    admission: new AdmissionGuard(client, systemClock),
    defaultGrant: flags["default-grant"],
    ignoresServiceAccounts: flags["managed-permissions"] === "always",
    workers: flags["max-concurrent-reconciles"],
    maxBackoffMs: flags["max-backoff"],
    log,
    metrics,
  });
  images.onChange(() => manager.retryPending());
  let leading = false;
  const probes = await startProbeServer({
    bindAddress: flags["health-probe-bind-address"],
    // Metrics have no port with TLS, because this server must not read the Secrets of its namespace, and therefore has no self-managed certificate.
    metrics,
    log,
    ready: {
      informers: () => {
        if (leading && !manager.ready) throw new Error("the ExtensionPermissions, policies and ClusterCatalogs have not been listed yet");
      },
      leader: () => leadership.describe(),
    },
  });
  log.info({ node: process.version, probes: probes.url }, "starting");
  try {
    const tasks = {
      ...images.tasks,
      manager: (signal: AbortSignal) =>
        leadUntilLost(leadership, signal, async (term) => {
          leading = true;
          await manager.run(term);
        }),
    };
    await runUntilStopped({ tasks, signal: stopOnSignals(log), log });
  } finally {
    await probes.close();
    await packages.close();
    await images.puller.close();
    await client.close();
  }
  log.info("stopped");
}

// Otherwise, V8 keeps up to twice the needed memory after a burst of work, even while the process is idle: docs/adr/0011.
setFlagsFromString("--memory-saver-mode");
await runProgram({ name: "permission-manager", parseFlags, usage, run });
