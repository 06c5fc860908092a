import { isIP } from "node:net";
import * as z from "zod";
import type { GatedEndpoint } from "../../pkg/catalogd/http/catalogRoutes.ts";
import { CATALOG_VALIDATIONS } from "../../pkg/catalogd/load/findingsArtifact.ts";
import { parseDuration } from "../../pkg/golang/time.ts";
import { defineFlags, duration, featureGatesFlag, ignoredFlags, logFlags, switchFlag, systemNamespaceFlag } from "../internal/flags.ts";
import { hasPullSecret, imageFlags, PULL_SECRET_FORMAT } from "../internal/imageFlags.ts";
import { areElectionTimesValid, ELECTION_TIMES, leaderFlags } from "../internal/leaderFlags.ts";
import {
  hasCertificate,
  isLoopbackAddress,
  isOneCertificate,
  isWholePair,
  mayServeMetrics,
  ONE_CERTIFICATE,
  servingFlags,
} from "../internal/serving.ts";

/** Default address of metrics if a certificate is configured; content uses :8443. */
export const METRICS_ADDRESS = ":7443";

const MAX_DELAY_MS = 60_000;

/** Feature gates of the Go implementation at df2c201d. */
export const CATALOGD_GATES = {
  APIV1MetasHandler: { stage: "alpha", byDefault: true },
  GraphQLCatalogQueries: { stage: "alpha", byDefault: true },
} as const;

/** Flags of the server. The schema defines their help, defaults and validation. Upstream flags keep their names. */
const Flags = z
  .strictObject({
    kubeconfig: z.string().optional().describe("path of a kubeconfig (default: $KUBECONFIG, else the Pod's ServiceAccount)"),
    "system-namespace": systemNamespaceFlag("namespace of the server"),
    "catalogs-server-addr": z.string().default(":8443").describe("address to serve catalog content on"),
    "insecure-plain-http": switchFlag(
      false,
      "serve content to the network over plain HTTP; otherwise, plain HTTP is only allowed on loopback addresses",
    ),
    "shutdown-delay": z
      .string()
      .default("5s")
      .refine(
        (text) => (parseDuration(text) ?? MAX_DELAY_MS + 1) <= MAX_DELAY_MS,
        'must be a duration of at most one minute, such as "5s"; 0 disables it',
      )
      .transform((text) => parseDuration(text) ?? 0)
      .describe("time to continue serving content after SIGTERM, while clients switch to other replicas"),
    "external-address": z
      .string()
      .default("catalogd-service.olmv1-system.svc")
      .describe("host and optional port at which clients reach the content, without scheme"),
    "cache-dir": z.string().default("/var/cache/catalogd").describe("folder for unpacked images and content"),
    "gc-interval": duration("12h").describe(
      "interval between garbage collections, which delete content of removed catalogs and verify checksums of stored content",
    ),
    "catalog-validation": z
      .enum(CATALOG_VALIDATIONS)
      .default("Warn")
      .describe(
        "handling of errors that opm validate reports: Warn shows them in condition Valid, Strict rejects the content; both reject content in an invalid format",
      ),
    "load-deadline": duration("5m").describe(
      "maximum time that a replica stays unready because content is missing; afterwards, it serves the content that it has",
    ),
    ...leaderFlags("looks up tags and writes status; all replicas serve content"),
    ...servingFlags({ served: "content and /metrics", metricsAddress: METRICS_ADDRESS }),
    ...imageFlags(),
    "health-probe-bind-address": z
      .string()
      .default(":8081")
      .describe("address of /healthz and /readyz, and of /metrics if no certificate is configured; 0 disables it"),
    "feature-gates": featureGatesFlag(CATALOGD_GATES),
    ...logFlags(),
    ...ignoredFlags(),
  })
  .refine(hasPullSecret, PULL_SECRET_FORMAT)
  .refine(areElectionTimesValid, ELECTION_TIMES)
  .refine(isWholePair, "tls-cert and tls-key flags must be used together")
  .refine(isOneCertificate, ONE_CERTIFICATE)
  .refine(namesHost, "serving-certificates=self-managed requires a DNS name in external-address")
  .refine(mayServeMetrics, "metrics-bind-address requires tls-cert and tls-key flags");
export type Flags = z.output<typeof Flags>;

/** Returns whether external-address contains a DNS name, which a self-managed certificate needs. */
function namesHost(flags: { "serving-certificates": string; "external-address": string }): boolean {
  const host = flags["external-address"].replace(/:\d+$/, "");
  return flags["serving-certificates"] === "files" || (/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/i.test(host) && isIP(host) === 0);
}

/** Rejects flags that would serve content over plain HTTP on a non-loopback address, unless insecure-plain-http is set. @throws Error that lists the flags to use. */
export function checkPlainHttp(
  flags: Pick<Flags, "catalogs-server-addr" | "insecure-plain-http" | "tls-cert" | "serving-certificates">,
): void {
  const address = flags["catalogs-server-addr"];
  if (flags["insecure-plain-http"] || hasCertificate(flags) || isLoopbackAddress(address)) return;
  throw new Error(
    `catalogs-server-addr ${address} would serve content to the network over plain HTTP: ` +
      "use tls-cert and tls-key, serving-certificates=self-managed, a loopback address such as 127.0.0.1:8443, or insecure-plain-http",
  );
}

export const { flagHelp, usage, parseFlags } = defineFlags(
  "catalogd: unpacks and serves the content of ClusterCatalogs",
  Flags,
  Flags.shape,
);

/** Returns the endpoints whose feature gates are disabled; they respond with 404. */
export function listGatedEndpoints({ "feature-gates": { enabled } }: Flags): Set<GatedEndpoint> {
  const gated = new Set<GatedEndpoint>();
  if (!enabled.APIV1MetasHandler) gated.add("findMetas");
  if (!enabled.GraphQLCatalogQueries) gated.add("queryCatalog");
  return gated;
}
