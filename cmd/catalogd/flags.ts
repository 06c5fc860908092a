import { z } from "zod";
import { duration, parseFlagsWith, usageOf } from "../flags.ts";
import { imageFlags } from "../imageFlags.ts";
import { isWholePair, mayServeMetrics, servingFlags } from "../servingFlags.ts";

/** Where metrics are served with a certificate and without --metrics-bind-address; :8443 is that of the content. */
export const METRICS_ADDRESS = ":7443";

/** Flags of the binary: the schema is the help text, the defaults and the validation. Names are upstream's where upstream has the flag. */
const Flags = z
  .strictObject({
    kubeconfig: z.string().optional().describe("path of a kubeconfig; default: $KUBECONFIG, else the pod's own identity"),
    "system-namespace": z.string().default("olmv1-system").describe("namespace the program runs in"),
    "catalogs-server-addr": z.string().default(":8443").describe("address where catalog content is served"),
    "external-address": z
      .string()
      .default("catalogd-service.olmv1-system.svc")
      .describe("host, and port if needed, under which clients reach the content; without scheme"),
    "cache-dir": z.string().default("/var/cache/catalogd").describe("folder for unpacked images and stored content"),
    "gc-interval": duration("12h").describe("how often content of catalogs that no longer exist is looked for"),
    ...servingFlags({ served: "serving content and /metrics", metricsAddress: METRICS_ADDRESS }),
    ...imageFlags(),
    "health-probe-bind-address": z
      .string()
      .default(":8081")
      .describe("address of /healthz, /readyz and, without tls-cert, /metrics; 0 turns it off"),
    "log-level": z.enum(["debug", "info", "warn", "error"]).default("info").describe("least level that is logged"),
  })
  .refine(isWholePair, "tls-cert and tls-key flags must be used together")
  .refine(mayServeMetrics, "metrics-bind-address requires tls-cert and tls-key flags");
export type Flags = z.output<typeof Flags>;

/** What `--help` prints. */
export function usage(): string {
  return usageOf("catalogd: unpacks and serves the content of ClusterCatalogs", Flags.shape);
}

/** @throws Error that names each wrong flag. */
export function parseFlags(args: string[]): Flags | "help" {
  return parseFlagsWith(Flags, Flags.shape, args);
}
