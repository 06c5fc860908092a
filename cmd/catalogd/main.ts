import { setFlagsFromString } from "node:v8";
import { SERVER_LEASES } from "../../pkg/api/constants.ts";
import { systemClock } from "../../pkg/async/clock.ts";
import { CatalogController, getCacheFolders } from "../../pkg/catalogd/catalogController.ts";
import { CatalogStore } from "../../pkg/catalogd/catalogStore.ts";
import { type ContentServer, serveUntil, startContentServer } from "../../pkg/catalogd/http/contentServer.ts";
import { Loader } from "../../pkg/catalogd/load/loader.ts";
import { ReplicaReadiness } from "../../pkg/catalogd/readiness.ts";
import { runUntilStopped, stopOnSignals } from "../../pkg/controller/shutdown.ts";
import { Client } from "../../pkg/kube/client.ts";
import { CATALOG_IMAGE_LIMITS } from "../../pkg/oci/limits.ts";
import { findConsoleAssets } from "../../pkg/serving/consoleAssets.ts";
import { HttpMetrics } from "../../pkg/serving/httpMetrics.ts";
import { parseBindAddress, startProbeServer } from "../../pkg/telemetry/health.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics, registerRestClientMetrics } from "../../pkg/telemetry/metrics.ts";
import { getLogLevel, logIgnoredFlags } from "../internal/flags.ts";
import { createPullSecrets, ImageSources } from "../internal/imageFlags.ts";
import { createLeadership } from "../internal/leaderFlags.ts";
import { ignoreConnectionResets, runProgram } from "../internal/program.ts";
import { createServingTls, serveMetrics } from "../internal/serving.ts";
import { checkPlainHttp, type Flags, listGatedEndpoints, METRICS_ADDRESS, parseFlags, usage } from "./flags.ts";

/**
 * Maximum time for requests in progress after the server stops accepting connections. With the default --shutdown-delay, a stop takes less than the
 * 30 s termination grace period of a Pod.
 */
const CONTENT_GRACE_MS = 15_000;

async function run(flags: Flags): Promise<void> {
  checkPlainHttp(flags);
  const log = createLogger({ component: "catalogd", level: getLogLevel(flags) });
  logIgnoredFlags(flags, log);
  ignoreConnectionResets(log);
  const metrics = createMetrics("catalogd");
  metrics.collectProcess();
  const folders = getCacheFolders(flags["cache-dir"]);
  const client = Client.fromKubeConfig(flags.kubeconfig, { userAgent: "catalogd", observe: registerRestClientMetrics(metrics) });
  const certificate = createServingTls(flags, {
    program: "catalogd",
    host: flags["external-address"],
    client,
    leading: () => leadership.leading,
    log,
    metrics,
  });
  const { tls } = certificate;
  const credentials = await createPullSecrets(flags, { client, log, metrics });
  const images = new ImageSources(flags, {
    client,
    credentials,
    cacheDir: folders.unpack,
    limits: CATALOG_IMAGE_LIMITS,
    namespaced: false,
    log,
  });
  const loader = new Loader({ validation: flags["catalog-validation"] });
  const leadership = createLeadership(flags, {
    client,
    name: SERVER_LEASES.catalogd,
    log,
    metrics,
    standBackMs: () => (serving?.readiness.missing()?.length === 0 ? 0 : flags["leader-election-retry-period"]),
  });
  let serving: { readonly server: ContentServer; readonly readiness: ReplicaReadiness } | undefined;
  const requireServing = (): NonNullable<typeof serving> => {
    if (!serving) throw new Error("the stored content is still being read");
    return serving;
  };
  // Before the content is read, because this takes longer than a liveness probe waits if there is much of it.
  const probes = await startProbeServer({
    bindAddress: flags["health-probe-bind-address"],
    metrics: tls ? undefined : metrics,
    log,
    live: { healthz: () => undefined },
    ready: {
      readyz: () => undefined,
      "catalog-server": () => {
        if (requireServing().server.draining) throw new Error("the catalog server is stopping");
      },
      "serving-certificate": () => certificate.check(),
      serving: () => requireServing().readiness.check(),
      leader: () => leadership.describe(),
    },
  });
  log.info({ probes: probes.url }, "reading stored catalog content");
  const store = await CatalogStore.open({ dir: folders.catalogs, log, loader });
  const controller = new CatalogController({
    client,
    leaderClient: leadership.client,
    stepDown: (why) => leadership.stepDown(why),
    puller: images.puller,
    store,
    unpackDir: folders.unpack,
    externalUrl: `${tls ? "https" : "http"}://${flags["external-address"]}`,
    gcIntervalMs: flags["gc-interval"],
    log,
    metrics,
  });
  const readiness = new ReplicaReadiness({
    catalogs: () => controller.catalogs(),
    contents: store,
    deadlineMs: flags["load-deadline"],
    clock: systemClock,
    log,
  });
  images.onChange(() => controller.retryFailing());
  const server = await startContentServer(parseBindAddress(flags["catalogs-server-addr"]), {
    source: {
      get: (name) => store.get(name),
      catalogs: () => [...new Set([...store.catalogs(), ...controller.expected()])],
      expects: (name) => controller.expects(name),
    },
    page: findConsoleAssets(),
    log,
    tls,
    metrics: new HttpMetrics(metrics),
    without: listGatedEndpoints(flags),
  });
  serving = { server, readiness };
  const secured = await serveMetrics(flags["metrics-bind-address"] ?? METRICS_ADDRESS, { tls, client, metrics, log });
  log.info(
    { node: process.version, content: server.address, tls: tls !== undefined, probes: probes.url, metrics: secured?.url },
    "starting",
  );
  try {
    const tasks = {
      ...certificate.tasks,
      ...images.tasks,
      controller: (signal: AbortSignal) => controller.run(signal),
      leadership: (signal: AbortSignal) => leadership.run(signal, (term) => controller.lead(term)),
      content: (signal: AbortSignal) => serveUntil(signal, server, { delayMs: flags["shutdown-delay"], graceMs: CONTENT_GRACE_MS }),
    };
    await runUntilStopped({ tasks, signal: stopOnSignals(log), log, graceMs: flags["shutdown-delay"] + CONTENT_GRACE_MS + 5_000 });
  } finally {
    await store.close();
    await probes.close();
    await secured?.close();
    await images.puller.close();
    await client.close();
  }
  log.info("stopped");
}

// Otherwise, V8 keeps the memory that loading a catalog needed, even while the process is idle: docs/adr/0011.
setFlagsFromString("--memory-saver-mode");
await runProgram({ name: "catalogd", parseFlags, usage, run });
