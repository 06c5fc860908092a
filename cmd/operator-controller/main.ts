import { parseArgs } from "node:util";
import { z } from "zod";
import { runUntilStopped, stopOnSignals } from "../../pkg/controller/shutdown.ts";
import { Client } from "../../pkg/kube/client.ts";
import { BUNDLE_LIMITS } from "../../pkg/oci/limits.ts";
import { Puller } from "../../pkg/oci/puller.ts";
import { CatalogClient } from "../../pkg/operatorcontroller/catalogClient.ts";
import { OperatorController } from "../../pkg/operatorcontroller/operatorController.ts";
import { restClientMetrics } from "../../pkg/telemetry/controllerMetrics.ts";
import { startProbeServer } from "../../pkg/telemetry/health.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";

/** Flags of the binary: the schema is the help text, the defaults and the validation. Names are upstream's where upstream has the flag. */
const Flags = z.strictObject({
  kubeconfig: z.string().optional().describe("path of a kubeconfig; default: $KUBECONFIG, else the pod's own identity"),
  "system-namespace": z.string().default("olmv1-system").describe("namespace that holds the release Secrets"),
  "cache-path": z.string().default("/var/cache/operator-controller").describe("folder for unpacked bundle images"),
  "catalogd-cas-dir": z.string().optional().describe("folder of PEM files that sign catalogd's certificate"),
  "pull-cas-dir": z.string().optional().describe("folder of PEM files that sign registries' certificates"),
  "registries-conf": z.string().optional().describe("path of a registries.conf; default: the system's"),
  "auth-file": z.string().optional().describe("path of a docker config file with registry credentials"),
  "health-probe-bind-address": z.string().default(":8081").describe("address of /healthz, /readyz and /metrics; 0 turns it off"),
  "service-account-fallback": z
    .enum(["deny", "controller"])
    .default("deny")
    .describe("who acts for an extension that names no ServiceAccount"),
  "max-concurrent-reconciles": z.coerce.number().int().min(1).max(64).default(4).describe("extensions worked on at once"),
  "drift-interval": z.coerce
    .number()
    .int()
    .min(1)
    .default(300)
    .describe("seconds between two comparisons of an unchanged release with the cluster"),
  "max-backoff": z.coerce.number().int().min(1).default(120).describe("longest wait in seconds between two tries of a failing extension"),
  "log-level": z.enum(["debug", "info", "warn", "error"]).default("info").describe("least level that is logged"),
});

function usage(): string {
  const lines = Object.entries(Flags.shape).map(([name, type]) => `  --${name.padEnd(28)} ${type.description ?? ""}`);
  return `operator-controller: installs and keeps ClusterExtensions\n\n${lines.join("\n")}\n`;
}

function parseFlags(args: string[]): z.output<typeof Flags> {
  const options = {
    ...Object.fromEntries(Object.keys(Flags.shape).map((name) => [name, { type: "string" as const }])),
    help: { type: "boolean" as const },
  };
  const { values } = parseArgs({ args, options, strict: true });
  const { help, ...given } = values;
  if (help) {
    process.stdout.write(usage());
    process.exit(0);
  }
  return Flags.parse(given);
}

async function main(): Promise<void> {
  const flags = parseFlags(process.argv.slice(2));
  const log = createLogger({ component: "operator-controller", level: flags["log-level"] });
  const metrics = createMetrics("operator_controller");
  metrics.collectProcess();
  const client = Client.fromKubeConfig(flags.kubeconfig, { userAgent: "operator-controller", observe: restClientMetrics(metrics) });
  const packages = new CatalogClient({ caDir: flags["catalogd-cas-dir"] });
  const puller = new Puller({
    cacheDir: flags["cache-path"],
    limits: BUNDLE_LIMITS,
    registriesConf: flags["registries-conf"],
    authFile: flags["auth-file"],
    casDir: flags["pull-cas-dir"],
    log,
  });
  const controller = new OperatorController({
    client,
    puller,
    packages,
    systemNamespace: flags["system-namespace"],
    serviceAccountFallback: flags["service-account-fallback"],
    workers: flags["max-concurrent-reconciles"],
    driftIntervalMs: flags["drift-interval"] * 1_000,
    maxBackoffMs: flags["max-backoff"] * 1_000,
    log,
    metrics,
  });
  const informersReady = (): void => {
    if (!controller.ready) throw new Error("the first list of ClusterExtensions and ClusterCatalogs has not arrived yet");
  };
  const probes = await startProbeServer({
    bindAddress: flags["health-probe-bind-address"],
    metrics,
    log,
    ready: { informers: informersReady },
  });
  log.info({ node: process.version, probes: probes.url }, "starting");
  try {
    await runUntilStopped({ tasks: { controller: (signal) => controller.run(signal) }, signal: stopOnSignals(log), log });
  } finally {
    await probes.close();
    await packages.close();
    await puller.close();
    await client.close();
  }
  log.info("stopped");
}

await main().catch((err: unknown) => {
  process.stderr.write(`operator-controller: ${err instanceof Error ? err.message : String(err)}\n`);
  process.exit(1);
});
