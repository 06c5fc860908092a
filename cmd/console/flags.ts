import * as z from "zod";
import { parseDuration } from "../../pkg/golang/time.ts";
import { defineFlags, logFlags, optionalText, switchFlag, systemNamespaceFlag } from "../internal/flags.ts";
import { registryFlags } from "../internal/imageFlags.ts";
import { certificateFileFlags, isLoopbackAddress, isWholePair, tlsProfileFlags } from "../internal/serving.ts";

const MAX_DELAY_MS = 60_000;
/** A host with an optional port, as browsers send it. */
const HOST = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$/;

/** Flags of the server. It has no flag for a kubeconfig, because it has no identity: each request uses the token of its caller. */
const Flags = z
  .strictObject({
    "system-namespace": systemNamespaceFlag("namespace of the installation that the console shows"),
    "bind-address": z.string().default(":8443").describe("address to serve the console on"),
    "insecure-plain-http": switchFlag(
      false,
      "serve the console to the network over plain HTTP, with the tokens of its users; otherwise, plain HTTP is only allowed on loopback addresses",
    ),
    "allowed-host": z
      .string()
      .default("")
      .transform((text) =>
        text
          .toLowerCase()
          .split(",")
          .map((host) => host.trim())
          .filter((host) => host !== ""),
      )
      .refine(
        (hosts) => hosts.every((host) => HOST.test(host)),
        'must be hosts such as "console.example.com" or "console.example.com:8443"',
      )
      .meta({
        description: "hosts that browsers use for the console, comma-separated or repeated; others are rejected (default: all hosts)",
        isList: true,
      }),
    "allow-changes": switchFlag(
      false,
      "allow users to change objects, with their own permissions; otherwise, the console rejects all changes",
    ),
    "api-server": optionalText().describe("URL of the API server (default: from KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT)"),
    "api-server-ca-file": z
      .string()
      .default("/etc/olmv1/api-server/ca.crt")
      .describe("PEM file with the certificate authorities of the API server, such as ca.crt of ConfigMap kube-root-ca.crt"),
    "catalogd-cas-dir": optionalText().describe("folder of PEM files with CA certificates for catalogd"),
    "cache-dir": z.string().default("/var/cache/console").describe("folder for the content of catalogs"),
    ...registryFlags(),
    ...certificateFileFlags("the console"),
    ...tlsProfileFlags({ cluster: false }),
    "health-probe-bind-address": z.string().default(":8081").describe("address to serve /healthz, /readyz and /metrics on; 0 disables it"),
    "shutdown-delay": z
      .string()
      .default("5s")
      .refine(
        (text) => (parseDuration(text) ?? MAX_DELAY_MS + 1) <= MAX_DELAY_MS,
        'must be a duration of at most one minute, such as "5s"; 0 disables it',
      )
      .transform((text) => parseDuration(text) ?? 0)
      .describe("time to continue serving after SIGTERM, while clients switch to other replicas"),
    ...logFlags(),
  })
  .refine(isWholePair, "tls-cert and tls-key flags must be used together")
  .refine(isEncrypted, {
    error:
      "bind-address would serve the console to the network over plain HTTP: use tls-cert and tls-key, a loopback address such as 127.0.0.1:8080, or insecure-plain-http",
  });

export type Flags = z.output<typeof Flags>;

function isEncrypted(flags: { "bind-address": string; "insecure-plain-http": boolean; "tls-cert"?: string | undefined }): boolean {
  return flags["insecure-plain-http"] || flags["tls-cert"] !== undefined || isLoopbackAddress(flags["bind-address"]);
}

/** Returns the URL of the API server. @throws Error if neither the flag nor the environment of a Pod contains it */
export function getApiServer(flags: Pick<Flags, "api-server">, env: Readonly<Record<string, string | undefined>>): string {
  if (flags["api-server"] !== undefined) return flags["api-server"];
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (!host) throw new Error("api-server must be set outside of a Pod");
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export const { flagHelp, usage, parseFlags } = defineFlags(
  "console: serves the web console to users whose requests carry a bearer token",
  Flags,
  Flags.shape,
);
