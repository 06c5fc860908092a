import { CatalogController, cacheFolders } from "../../pkg/catalogd/catalogController.ts";
import { requestDuration } from "../../pkg/catalogd/catalogMetrics.ts";
import { startContentServer } from "../../pkg/catalogd/http/contentServer.ts";
import { CatalogStore } from "../../pkg/catalogd/store.ts";
import { runUntilStopped, stopOnSignals } from "../../pkg/controller/shutdown.ts";
import { Client } from "../../pkg/kube/client.ts";
import { CATALOG_LIMITS } from "../../pkg/oci/limits.ts";
import { restClientMetrics } from "../../pkg/telemetry/controllerMetrics.ts";
import { parseBindAddress, startProbeServer } from "../../pkg/telemetry/health.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";
import { pullerFor } from "../imageFlags.ts";
import { runProgram } from "../program.ts";
import { serveMetrics, tlsFilesOf, tlsSettingsOf } from "../servingFlags.ts";
import { surviveLostConnections } from "../strayErrors.ts";
import { type Flags, METRICS_ADDRESS, parseFlags, usage } from "./flags.ts";

async function run(flags: Flags): Promise<void> {
  const log = createLogger({ component: "catalogd", level: flags["log-level"] });
  surviveLostConnections(log);
  const metrics = createMetrics("catalogd");
  metrics.collectProcess();
  const tls = tlsFilesOf(flags, tlsSettingsOf(flags, log), log);
  const folders = cacheFolders(flags["cache-dir"]);
  const client = Client.fromKubeConfig(flags.kubeconfig, { userAgent: "catalogd", observe: restClientMetrics(metrics) });
  const puller = pullerFor(flags, { cacheDir: folders.unpack, limits: CATALOG_LIMITS, log });
  const store = await CatalogStore.open({ dir: folders.catalogs, log });
  const controller = new CatalogController({
    client,
    puller,
    store,
    unpackDir: folders.unpack,
    externalUrl: `${tls ? "https" : "http"}://${flags["external-address"]}`,
    gcIntervalMs: flags["gc-interval"],
    log,
    metrics,
  });
  const server = await startContentServer(parseBindAddress(flags["catalogs-server-addr"]), {
    source: store,
    log,
    tls,
    duration: requestDuration(metrics),
  });
  const probes = await startProbeServer({
    bindAddress: flags["health-probe-bind-address"],
    metrics: tls ? undefined : metrics,
    log,
    ready: {
      informers: () => {
        if (!controller.ready) throw new Error("the first list of ClusterCatalogs has not arrived yet");
      },
    },
  });
  const secured = await serveMetrics(flags["metrics-bind-address"] ?? METRICS_ADDRESS, { tls, client, metrics, log });
  log.info(
    { node: process.version, content: server.address, tls: tls !== undefined, probes: probes.url, metrics: secured?.url },
    "starting",
  );
  try {
    const tasks = {
      controller: (signal: AbortSignal) => controller.run(signal),
      // From the stop on no request is accepted; those under way have some time to end.
      content: async (signal: AbortSignal) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        await server.close();
      },
    };
    await runUntilStopped({ tasks, signal: stopOnSignals(log), log });
  } finally {
    await store.close();
    await probes.close();
    await secured?.close();
    await puller.close();
    await client.close();
  }
  log.info("stopped");
}

await runProgram({ name: "catalogd", parseFlags, usage, run });
