import { getCiphers } from "node:tls";
import * as z from "zod";
import { EVENTS } from "../../pkg/api/events.ts";
import { getServingSecretName, listCertificateHostNames, SERVING_TIMES } from "../../pkg/certificates/servingCertificate.ts";
import type { Task } from "../../pkg/controller/shutdown.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { EventRecorder } from "../../pkg/kube/events.ts";
import { AccessReviews } from "../../pkg/serving/accessReviews.ts";
import { ThreadIssuer } from "../../pkg/serving/certificateIssuer.ts";
import { ClusterTlsSettings } from "../../pkg/serving/clusterTlsProfile.ts";
import { type MetricsServer, type Page, startMetricsServer } from "../../pkg/serving/metricsServer.ts";
import { SelfManagedCertificate } from "../../pkg/serving/selfManagedCertificate.ts";
import { createCertificateEndMetric, FollowedTls, type ServerTls, TlsFiles } from "../../pkg/serving/serverTls.ts";
import {
  computeTlsSettings,
  getTlsProfile,
  isKnownCipher,
  isKnownProfile,
  TLS_CURVES,
  TLS_VERSIONS,
  type TlsSettings,
  type TlsVersion,
} from "../../pkg/serving/tlsProfile.ts";
import { parseBindAddress } from "../../pkg/telemetry/health.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";
import type { Metrics } from "../../pkg/telemetry/metrics.ts";
import { optionalText } from "./flags.ts";

/** The value of --tls-profile that follows the TLS profile of the cluster. */
const CLUSTER_PROFILE = "cluster";

/** Values of --serving-certificates. */
const SERVING_CERTIFICATES = ["files", "self-managed"] as const;

/** Flags for a certificate in files, to spread into the flags of a server. @param served the endpoints that use the certificate, such as "/metrics" */
export function certificateFileFlags(served: string) {
  return {
    "tls-cert": optionalText().describe(`certificate file for ${served}; requires tls-key; reloaded when it changes`),
    "tls-key": optionalText().describe(`key file for ${served}; requires tls-cert`),
  };
}

/** Flags for TLS versions, ciphers and curves, to spread into the flags of a server. @param cluster whether the server can read the cluster's profile */
export function tlsProfileFlags({ cluster }: { cluster: boolean }) {
  const profiles = "TLS profile for all connections: Mozilla's modern, intermediate or old";
  return {
    "tls-profile": z
      .string()
      .default("intermediate")
      .refine((name) => (cluster && name === CLUSTER_PROFILE) || isKnownProfile(name), {
        error: ({ input }) => `unknown TLS profile: ${JSON.stringify(input)}`,
      })
      .describe(cluster ? `${profiles}; custom; or cluster, which follows the OpenShift APIServer "cluster"` : `${profiles}; or custom`),
    "tls-custom-ciphers": nameList("cipher", isKnownCipher).describe("comma-separated IANA names of the cipher suites in profile custom"),
    "tls-custom-curves": nameList("curve", (name) => TLS_CURVES.has(name)).describe(
      `comma-separated curves in profile custom, in order of preference: ${[...TLS_CURVES.keys()].join(", ")}`,
    ),
    "tls-custom-version": z
      .string()
      .default("TLSv1.2")
      .transform((name, context) => {
        if (isVersion(name)) return name;
        context.addIssue({ code: "custom", message: `unknown TLS version: ${JSON.stringify(name)}` });
        return z.NEVER;
      })
      .describe(`minimum TLS version in profile custom: ${Object.keys(TLS_VERSIONS).join(", ")}`),
  };
}

/** TLS and metrics flags of both servers, to spread into their flags. @param served the endpoints that use the certificate, such as "/metrics" */
export function servingFlags({ served, metricsAddress }: { served: string; metricsAddress: string }) {
  return {
    ...certificateFileFlags(served),
    "serving-certificates": z
      .enum(SERVING_CERTIFICATES)
      .default("files")
      .describe(
        `source of the certificate for ${served}: files (tls-cert and tls-key) or self-managed (issued and renewed by the server, in a Secret in the system namespace)`,
      ),
    "metrics-bind-address": optionalText().describe(
      `address to serve /metrics on over HTTPS, to clients with permission to get it; requires a certificate; 0 disables it (default: ${metricsAddress} with a certificate)`,
    ),
    ...tlsProfileFlags({ cluster: true }),
  };
}

/** The values of `tlsProfileFlags`. */
interface TlsProfileFlags {
  "tls-profile": string;
  "tls-custom-ciphers": readonly string[];
  "tls-custom-curves": readonly string[];
  "tls-custom-version": TlsVersion;
}

/** The values of `certificateFileFlags` and `tlsProfileFlags`. */
interface CertificateFileFlags extends TlsProfileFlags {
  "tls-cert"?: string | undefined;
  "tls-key"?: string | undefined;
}

/** The values of `servingFlags`. */
interface ServingFlags extends CertificateFileFlags {
  "serving-certificates": (typeof SERVING_CERTIFICATES)[number];
  "metrics-bind-address"?: string | undefined;
}

/** Returns whether an address accepts only connections of this machine. */
export function isLoopbackAddress(address: string): boolean {
  const { host } = parseBindAddress(address);
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Returns whether certificate and key are both set or both absent. */
export function isWholePair(flags: Pick<ServingFlags, "tls-cert" | "tls-key">): boolean {
  return (flags["tls-cert"] === undefined) === (flags["tls-key"] === undefined);
}

/** Returns whether at most one certificate is configured: files cannot be combined with a self-managed certificate. */
export function isOneCertificate(flags: Pick<ServingFlags, "tls-cert" | "serving-certificates">): boolean {
  return flags["serving-certificates"] === "files" || flags["tls-cert"] === undefined;
}

/** The error unless `isOneCertificate`. */
export const ONE_CERTIFICATE = "tls-cert and tls-key flags cannot be used with serving-certificates=self-managed";

/** Returns whether a certificate is configured. */
export function hasCertificate(flags: Pick<ServingFlags, "tls-cert" | "serving-certificates">): boolean {
  return flags["tls-cert"] !== undefined || flags["serving-certificates"] === "self-managed";
}

/** Returns false if --metrics-bind-address is set without a certificate. */
export function mayServeMetrics(flags: Pick<ServingFlags, "tls-cert" | "serving-certificates" | "metrics-bind-address">): boolean {
  return flags["metrics-bind-address"] === undefined || hasCertificate(flags);
}

/**
 * Returns the Node.js TLS settings for the profile in the flags. For the cluster profile, returns the intermediate profile until the cluster profile
 * is known. Logs and omits cipher suites that OpenSSL no longer supports.
 */
export function readTlsSettings(flags: TlsProfileFlags, log: Logger): TlsSettings {
  const name = flags["tls-profile"] === CLUSTER_PROFILE ? "intermediate" : flags["tls-profile"];
  const profile = getTlsProfile(name, {
    minVersion: flags["tls-custom-version"],
    ciphers: flags["tls-custom-ciphers"],
    curves: flags["tls-custom-curves"],
  });
  const { settings, missing } = computeTlsSettings(profile, new Set(getCiphers()));
  if (missing.length > 0)
    log.warn({ ciphers: missing, openssl: process.versions.openssl }, "ignoring cipher suites that are not available");
  return settings;
}

/** Returns the certificate and key in the flags; undefined if they are not set. @throws Error if they are invalid. */
function openTlsFiles(flags: CertificateFileFlags, settings: TlsSettings, log: Logger): TlsFiles | undefined {
  const { "tls-cert": certFile, "tls-key": keyFile } = flags;
  return certFile !== undefined && keyFile !== undefined ? new TlsFiles({ certFile, keyFile, settings, log }) : undefined;
}

/** Returns the certificate and TLS settings in the flags of a server without access to the API server; undefined without a certificate. @throws Error if they are invalid. */
export function createFileTls(flags: CertificateFileFlags, { log, metrics }: { log: Logger; metrics: Metrics }): ServerTls | undefined {
  const tls = openTlsFiles(flags, readTlsSettings(flags, log), log);
  createCertificateEndMetric(metrics, tls);
  return tls;
}

/** Options for serving metrics. */
export interface MetricsInit {
  tls: ServerTls | undefined;
  client: Client;
  metrics: Metrics;
  log: Logger;
  /** Additional pages to serve; only with a certificate. */
  pages?: readonly Page[];
}

/**
 * Serves metrics to authorized clients. Returns undefined without a certificate, because metrics
 * are then served on the probe port.
 */
export function serveMetrics(
  bindAddress: string,
  { tls, client, metrics, log, pages = [] }: MetricsInit,
): Promise<MetricsServer> | undefined {
  return tls && startMetricsServer({ bindAddress, tls, metrics, reviews: new AccessReviews({ client, log }), log, pages });
}

/** Returns a schema for comma-separated names. */
function nameList(what: "cipher" | "curve", isKnown: (name: string) => boolean) {
  return z
    .string()
    .default("")
    .transform((text, context) => {
      const names = text === "" ? [] : text.split(",").map((name) => name.trim());
      const unknown = names.find((name) => !isKnown(name));
      if (unknown !== undefined) context.addIssue({ code: "custom", message: `unknown ${what} ${JSON.stringify(unknown)}` });
      return names;
    });
}

function isVersion(name: string): name is TlsVersion {
  return Object.hasOwn(TLS_VERSIONS, name);
}

/** Options of a server's TLS configuration. */
export interface ServingTlsInit {
  program: "catalogd" | "operator-controller";
  /** The host name for clients. */
  host: string;
  client: Client;
  /** Returns whether this process is the leader. */
  leading: () => boolean;
  log: Logger;
  metrics: Metrics;
}

/** TLS configuration of a server. */
export interface ServingTls {
  /** Undefined if no certificate is configured. */
  readonly tls: ServerTls | undefined;
  /** Returns the current TLS versions, ciphers and curves. */
  settings(): TlsSettings;
  /** Readiness check. @throws Error with the reason if the server cannot accept TLS connections. */
  check(): void;
  /** Tasks that keep the certificate and settings current while the server runs. */
  readonly tasks: Readonly<Record<string, Task>>;
}

/**
 * Returns the TLS configuration in the flags: the certificate, and TLS settings that are fixed or follow the cluster.
 * @throws Error if files are invalid.
 */
export function createServingTls(flags: ServingFlags & { "system-namespace": string }, init: ServingTlsInit): ServingTls {
  const { client, log, metrics } = init;
  const settings = readTlsSettings(flags, log);
  const certificate = createCertificate(flags, settings, init);
  createCertificateEndMetric(metrics, certificate.tls);
  if (flags["tls-profile"] !== CLUSTER_PROFILE) return { ...certificate, settings: () => settings };
  const profile = new ClusterTlsSettings({ client, log });
  const followed = certificate.tls && new FollowedTls(certificate.tls, profile, log);
  return {
    tls: followed,
    settings: () => profile.current(),
    check: () => {
      followed?.check();
      certificate.check();
    },
    tasks: { ...certificate.tasks, tlsProfile: (signal) => profile.run(signal) },
  };
}

/** Returns a certificate from files, or a self-managed one. */
function createCertificate(
  flags: ServingFlags & { "system-namespace": string },
  settings: TlsSettings,
  { program, host, client, leading, log }: ServingTlsInit,
): Omit<ServingTls, "settings"> {
  if (flags["serving-certificates"] === "files") return { tls: openTlsFiles(flags, settings, log), check: () => undefined, tasks: {} };
  const events = new EventRecorder(client, { component: program, log });
  const own = new SelfManagedCertificate({
    client,
    place: getServingSecretName(program, flags["system-namespace"]),
    dnsNames: listCertificateHostNames(host.replace(/:\d+$/, "")),
    issuer: new ThreadIssuer(),
    times: SERVING_TIMES,
    leading,
    recordEvent: (secret, reason, message) => events.record(secret, EVENTS[reason].type, reason, message),
    settings,
    log,
  });
  return { tls: own, check: () => own.check(), tasks: { certificate: (signal) => own.run(signal) } };
}
