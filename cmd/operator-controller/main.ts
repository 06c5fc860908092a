import { setFlagsFromString } from "node:v8";
import { getCatalogdNamespace, SERVER_LEASES } from "../../pkg/api/constants.ts";
import { getServingSecretName } from "../../pkg/certificates/servingCertificate.ts";
import { runUntilStopped, stopOnSignals } from "../../pkg/controller/shutdown.ts";
import { Client } from "../../pkg/kube/client.ts";
import { EventRecorder } from "../../pkg/kube/events.ts";
import { BUNDLE_IMAGE_LIMITS } from "../../pkg/oci/limits.ts";
import { CatalogClient } from "../../pkg/operatorcontroller/catalogs/catalogClient.ts";
import { SecretAuthorities } from "../../pkg/operatorcontroller/catalogs/certificateAuthorities.ts";
import { newResolutionPage } from "../../pkg/operatorcontroller/dryResolution.ts";
import { newClusterProxySource } from "../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { ClusterVersionSource } from "../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { OperatorController } from "../../pkg/operatorcontroller/operatorController.ts";
import { toClientSettings } from "../../pkg/serving/tlsProfile.ts";
import { startProbeServer } from "../../pkg/telemetry/health.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics, registerRestClientMetrics } from "../../pkg/telemetry/metrics.ts";
import { getLogLevel, logIgnoredFlags } from "../internal/flags.ts";
import { createPullSecrets, ImageSources } from "../internal/imageFlags.ts";
import { createLeadership, leadUntilLost } from "../internal/leaderFlags.ts";
import { getOperatorProxySettings } from "../internal/operatorProxyFlags.ts";
import { ignoreConnectionResets, runProgram } from "../internal/program.ts";
import { createServingTls, serveMetrics } from "../internal/serving.ts";
import { type Flags, METRICS_ADDRESS, parseFlags, usage } from "./flags.ts";

async function run(flags: Flags): Promise<void> {
  const log = createLogger({ component: "operator-controller", level: getLogLevel(flags) });
  logIgnoredFlags(flags, log);
  ignoreConnectionResets(log);
  const metrics = createMetrics("operator_controller");
  metrics.collectProcess();
  const client = Client.fromKubeConfig(flags.kubeconfig, { userAgent: "operator-controller", observe: registerRestClientMetrics(metrics) });
  const systemNamespace = flags["system-namespace"];
  const certificate = createServingTls(flags, {
    program: "operator-controller",
    host: `operator-controller-service.${systemNamespace}.svc`,
    client,
    leading: () => leadership.leading,
    log,
    metrics,
  });
  const { tls } = certificate;
  const own =
    flags["serving-certificates"] === "self-managed"
      ? new SecretAuthorities({ client, ...getServingSecretName("catalogd", getCatalogdNamespace(systemNamespace)), log })
      : undefined;
  const packages = new CatalogClient({
    caDir: flags["catalogd-cas-dir"],
    authorities: own,
    tls: () => toClientSettings(certificate.settings()),
  });
  const credentials = await createPullSecrets(flags, { client, log, metrics });
  const images = new ImageSources(flags, {
    client,
    credentials,
    cacheDir: flags["cache-path"],
    limits: BUNDLE_IMAGE_LIMITS,
    namespaced: true,
    log,
  });
  const leadership = createLeadership(flags, { client, name: SERVER_LEASES["operator-controller"], log, metrics });
  const clusterVersion = new ClusterVersionSource({ client, byFlag: flags["cluster-version"], log });
  const clusterProxy = newClusterProxySource(getOperatorProxySettings(flags), { client, log });
  const controller = new OperatorController({
    client: leadership.client,
    puller: images.puller,
    packages,
    systemNamespace,
    managedPermissions: flags["managed-permissions"],
    sharedWatches: flags["shared-watches"],
    webhookCertProvider: flags["webhook-cert-provider"],
    clusterVersion,
    clusterProxy,
    clusterUpgrade: {
      mode: flags["cluster-operator"],
      includesVetoes: flags["operator-conditions-block-cluster-upgrades"],
      operatorImageVersion: flags["operator-image-version"] ?? process.env["OPERATOR_IMAGE_VERSION"],
      releaseVersion: flags["release-version"] ?? process.env["RELEASE_VERSION"],
    },
    workers: flags["max-concurrent-reconciles"],
    driftIntervalMs: flags["drift-interval"],
    maxBackoffMs: flags["max-backoff"],
    recheckIntervalMs: flags["recheck-interval"],
    log,
    metrics,
  });
  images.onChange(() => controller.retryFailing());
  let leading = false;
  const informersReady = (): void => {
    if (leading && !controller.ready) throw new Error("the ClusterExtensions and ClusterCatalogs have not been listed yet");
  };
  const probes = await startProbeServer({
    bindAddress: flags["health-probe-bind-address"],
    metrics: tls ? undefined : metrics,
    log,
    ready: {
      informers: informersReady,
      "serving-certificate": () => certificate.check(),
      leader: () => leadership.describe(),
    },
  });
  const secured = await serveMetrics(flags["metrics-bind-address"] ?? METRICS_ADDRESS, {
    tls,
    client,
    metrics,
    log,
    pages: [newResolutionPage(controller, () => leading)],
  });
  log.info({ node: process.version, probes: probes.url, metrics: secured?.url }, "starting");
  try {
    const tasks = {
      ...certificate.tasks,
      ...(own ? { catalogAuthorities: (signal: AbortSignal) => own.run(signal) } : {}),
      ...images.tasks,
      clusterVersion: (signal: AbortSignal) => clusterVersion.run(signal),
      clusterProxy: (signal: AbortSignal) => clusterProxy.run(signal),
      controller: (signal: AbortSignal) =>
        leadUntilLost(leadership, signal, async (term) => {
          leading = true;
          images.registries.recordEvents(new EventRecorder(leadership.client, { component: "operator-controller", log }));
          await controller.run(term);
        }),
    };
    await runUntilStopped({ tasks, signal: stopOnSignals(log), log });
  } finally {
    await probes.close();
    await secured?.close();
    await packages.close();
    await images.puller.close();
    await client.close();
  }
  log.info("stopped");
}

// Otherwise, V8 keeps up to twice the needed memory after a burst of work, even while the process is idle: docs/adr/0011.
setFlagsFromString("--memory-saver-mode");
await runProgram({ name: "operator-controller", parseFlags, usage, run });
