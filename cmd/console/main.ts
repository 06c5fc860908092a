import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { waitForAbort } from "../../pkg/async/concurrency.ts";
import { TokenIdentities } from "../../pkg/console/cluster/tokenIdentities.ts";
import { registerConsoleMetrics } from "../../pkg/console/server/consoleMetrics.ts";
import { startConsoleServer } from "../../pkg/console/server/consoleServer.ts";
import { BearerCallers } from "../../pkg/console/session/bearerCallers.ts";
import { runUntilStopped, stopOnSignals } from "../../pkg/controller/shutdown.ts";
import { Client } from "../../pkg/kube/client.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { CatalogConnections } from "../../pkg/operatorcontroller/catalogs/catalogConnections.ts";
import { loadConsoleAssets } from "../../pkg/serving/consoleAssets.ts";
import { HttpMetrics } from "../../pkg/serving/httpMetrics.ts";
import { ServiceRequests } from "../../pkg/sources/catalogdRequests.ts";
import { KeptCatalogs } from "../../pkg/sources/keptCatalogs.ts";
import { ServedCatalogs } from "../../pkg/sources/servedCatalogs.ts";
import { parseBindAddress, startProbeServer } from "../../pkg/telemetry/health.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics, registerRestClientMetrics } from "../../pkg/telemetry/metrics.ts";
import { getLogLevel } from "../internal/flags.ts";
import { ignoreConnectionResets, PROGRAM_VERSION, runProgram } from "../internal/program.ts";
import { createFileTls } from "../internal/serving.ts";
import { type Flags, getApiServer, parseFlags, usage } from "./flags.ts";

/** Maximum time for requests in progress to finish. With the default --shutdown-delay, a stop takes less than the grace period of a Pod. */
const GRACE_MS = 10_000;

async function run(flags: Flags): Promise<void> {
  const log = createLogger({ component: "console", level: getLogLevel(flags) });
  ignoreConnectionResets(log);
  const metrics = createMetrics("console");
  metrics.collectProcess();
  const apiServer = getApiServer(flags, process.env);
  const credentials = Credentials.forServer({ server: apiServer, caFile: flags["api-server-ca-file"] });
  const client = Client.of(credentials, { userAgent: "olmv1-console", observe: registerRestClientMetrics(metrics) });
  const identities = new TokenIdentities(client, log);
  const tls = createFileTls(flags, { log, metrics });
  const registry = {
    registriesConf: flags["registries-conf"],
    signaturePolicy: flags["signature-policy"],
    authFile: flags["auth-file"],
    casDir: flags["pull-cas-dir"],
  };
  const requests = new ServiceRequests(new CatalogConnections({ caDir: flags["catalogd-cas-dir"] }));
  const served = new ServedCatalogs({ requests, cluster: apiServer });
  const hosts = flags["allowed-host"].length > 0 ? new Set(flags["allowed-host"]) : undefined;
  const server = await startConsoleServer(parseBindAddress(flags["bind-address"]), {
    context: {
      callers: new BearerCallers(identities),
      catalogs: new KeptCatalogs({ ...registry, served, cacheFolder: flags["cache-dir"] }),
      served,
      registry,
      session: {
        mode: "cluster",
        server: apiServer,
        readOnly: !flags["allow-changes"],
        systemNamespace: flags["system-namespace"],
        version: PROGRAM_VERSION,
      },
      log,
    },
    assets: loadConsoleAssets(),
    hostPolicy: () => ({ hosts }),
    tls,
    metrics: new HttpMetrics(metrics),
    graceMs: GRACE_MS,
  });
  registerConsoleMetrics(metrics, { streams: () => server.streamCount, identities: () => identities.size });
  let isStopping = false;
  const probes = await startProbeServer({
    bindAddress: flags["health-probe-bind-address"],
    // Metrics have no port with TLS, because this server cannot review tokens.
    metrics,
    log,
    live: { healthz: () => undefined },
    ready: {
      console: () => {
        if (isStopping) throw new Error("the console is stopping");
      },
    },
  });
  log.info({ node: process.version, console: server.address, tls: tls !== undefined, probes: probes.url }, "starting");
  const serve = async (signal: AbortSignal): Promise<void> => {
    await waitForAbort(signal);
    isStopping = true;
    await delay(flags["shutdown-delay"]);
    await server[Symbol.asyncDispose]();
  };
  try {
    await runUntilStopped({
      tasks: { console: serve },
      signal: stopOnSignals(log),
      log,
      graceMs: flags["shutdown-delay"] + GRACE_MS + 5_000,
    });
  } finally {
    await probes.close();
    await client.close();
  }
  log.info("stopped");
}

// Otherwise, V8 keeps the memory that a burst of requests needed, even while the process is idle: docs/adr/0011.
setFlagsFromString("--memory-saver-mode");
await runProgram({ name: "console", parseFlags, usage, run });
