import { getCiphers } from "node:tls";
import * as z from "zod";
import { EVENTS } from "../../pkg/api/events.ts";
import { certificateHostNames, SERVING_TIMES, servingSecretName } from "../../pkg/certificates/servingCertificate.ts";
import type { Task } from "../../pkg/controller/shutdown.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { EventRecorder } from "../../pkg/kube/events.ts";
import { AccessReviews } from "../../pkg/serving/accessReviews.ts";
import { ThreadIssuer } from "../../pkg/serving/certificateIssuer.ts";
import { ClusterTlsSettings } from "../../pkg/serving/clusterTlsProfile.ts";
import { type MetricsServer, type Page, startMetricsServer } from "../../pkg/serving/metricsServer.ts";
import { SelfManagedCertificate } from "../../pkg/serving/selfManagedCertificate.ts";
import { FollowedTls, type ServerTls, servingCertificateEnd, TlsFiles } from "../../pkg/serving/serverTls.ts";
import {
  isKnownCipher,
  isKnownProfile,
  TLS_CURVES,
  TLS_VERSIONS,
  type TlsSettings,
  type TlsVersion,
  tlsProfile,
  tlsSettings,
} from "../../pkg/serving/tlsProfile.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";
import type { Metrics } from "../../pkg/telemetry/metrics.ts";
import { optionalText } from "./flags.ts";

/** The profile that the cluster decides about. */
const CLUSTER_PROFILE = "cluster";

/** Where the servers' certificates may come from. */
const SERVING_CERTIFICATES = ["files", "self-managed"] as const;

/**
 * Flags about TLS and metrics that both servers have, to be spread into their flags.
 * @param served what the certificate is for, such as "serving /metrics"
 */
export function servingFlags({ served, metricsAddress }: { served: string; metricsAddress: string }) {
  return {
    "tls-cert": optionalText().describe(`certificate file for ${served}; needs tls-key; read again when it changes`),
    "tls-key": optionalText().describe(`key file for ${served}; needs tls-cert`),
    "serving-certificates": z
      .enum(SERVING_CERTIFICATES)
      .default("files")
      .describe(
        `where the certificate for ${served} comes from: files, as tls-cert and tls-key name them; self-managed: made and renewed by the program itself, in a Secret of the system namespace`,
      ),
    "metrics-bind-address": optionalText().describe(
      `address of /metrics over HTTPS, for those with the right to get it; needs a certificate; default with one: ${metricsAddress}; 0 turns it off`,
    ),
    "tls-profile": z
      .string()
      .default("intermediate")
      .refine((name) => name === CLUSTER_PROFILE || isKnownProfile(name), {
        error: ({ input }) => `unknown TLS profile: ${JSON.stringify(input)}`,
      })
      .describe(
        "which TLS connections are accepted and made: Mozilla's modern, intermediate or old, custom, or cluster: what APIServer cluster of OpenShift says, as it is by then",
      ),
    "tls-custom-ciphers": namesOf("cipher", isKnownCipher).describe(
      "cipher suites of the profile custom by IANA name, separated by commas",
    ),
    "tls-custom-curves": namesOf("curve", (name) => TLS_CURVES.has(name)).describe(
      `curves of the profile custom, preferred ones first: ${[...TLS_CURVES.keys()].join(", ")}`,
    ),
    "tls-custom-version": z
      .string()
      .default("TLSv1.2")
      .transform((name, context) => {
        if (isVersion(name)) return name;
        context.addIssue({ code: "custom", message: `unknown TLS version: ${JSON.stringify(name)}` });
        return z.NEVER;
      })
      .describe(`least version of the profile custom: ${Object.keys(TLS_VERSIONS).join(", ")}`),
  };
}

/** What was given for `servingFlags`. */
interface ServingFlags {
  "tls-cert"?: string | undefined;
  "tls-key"?: string | undefined;
  "serving-certificates": (typeof SERVING_CERTIFICATES)[number];
  "metrics-bind-address"?: string | undefined;
  "tls-profile": string;
  "tls-custom-ciphers": readonly string[];
  "tls-custom-curves": readonly string[];
  "tls-custom-version": TlsVersion;
}

/** Whether certificate and key are given together or not at all. */
export function isWholePair(flags: Pick<ServingFlags, "tls-cert" | "tls-key">): boolean {
  return (flags["tls-cert"] === undefined) === (flags["tls-key"] === undefined);
}

/** Whether at most one certificate is asked for: files are not given where the program makes its own. */
export function isOneCertificate(flags: Pick<ServingFlags, "tls-cert" | "serving-certificates">): boolean {
  return flags["serving-certificates"] === "files" || flags["tls-cert"] === undefined;
}

/** What is wrong otherwise. */
export const ONE_CERTIFICATE = "tls-cert and tls-key flags cannot be used with serving-certificates self-managed";

/** Whether there is a certificate to serve with. */
export function hasCertificate(flags: Pick<ServingFlags, "tls-cert" | "serving-certificates">): boolean {
  return flags["tls-cert"] !== undefined || flags["serving-certificates"] === "self-managed";
}

/** Whether an address for metrics comes with a certificate to serve them with. */
export function mayServeMetrics(flags: Pick<ServingFlags, "tls-cert" | "serving-certificates" | "metrics-bind-address">): boolean {
  return flags["metrics-bind-address"] === undefined || hasCertificate(flags);
}

/**
 * What OpenSSL is told for the flags' profile, and before the cluster's is known the intermediate one; cipher suites that it does not have any
 * more are logged and left out.
 */
function tlsSettingsOf(flags: ServingFlags, log: Logger): TlsSettings {
  const name = flags["tls-profile"] === CLUSTER_PROFILE ? "intermediate" : flags["tls-profile"];
  const profile = tlsProfile(name, {
    minVersion: flags["tls-custom-version"],
    ciphers: flags["tls-custom-ciphers"],
    curves: flags["tls-custom-curves"],
  });
  const { settings, missing } = tlsSettings(profile, new Set(getCiphers()));
  if (missing.length > 0) log.warn({ ciphers: missing, openssl: process.versions.openssl }, "cipher suites are not available, left out");
  return settings;
}

/** The flags' certificate and key; undefined without. @throws Error when they cannot be used. */
function tlsFilesOf(flags: ServingFlags, settings: TlsSettings, log: Logger): TlsFiles | undefined {
  const { "tls-cert": certFile, "tls-key": keyFile } = flags;
  return certFile !== undefined && keyFile !== undefined ? new TlsFiles({ certFile, keyFile, settings, log }) : undefined;
}

/** What metrics are served with. */
export interface MetricsInit {
  tls: ServerTls | undefined;
  client: Client;
  metrics: Metrics;
  log: Logger;
  /** Served beside them, with a certificate only. */
  pages?: readonly Page[];
}

/** Serves metrics to those who may get them; undefined without a certificate, when they are served on the probe port. */
export function serveMetrics(
  bindAddress: string,
  { tls, client, metrics, log, pages = [] }: MetricsInit,
): Promise<MetricsServer> | undefined {
  return tls && startMetricsServer({ bindAddress, tls, metrics, reviews: new AccessReviews({ client, log }), log, pages });
}

/** Names separated by commas. */
function namesOf(what: "cipher" | "curve", isKnown: (name: string) => boolean) {
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

/** What a program's own certificate depends on. */
export interface ServingTlsInit {
  program: "catalogd" | "operator-controller";
  /** Under which clients reach it. */
  host: string;
  client: Client;
  /** Whether this process leads at this moment. */
  leading: () => boolean;
  log: Logger;
  metrics: Metrics;
}

/** What a program's TLS servers present. */
export interface ServingTls {
  /** Undefined where nothing is served over TLS. */
  readonly tls: ServerTls | undefined;
  /** Versions, ciphers and curves by now. */
  settings(): TlsSettings;
  /** For readiness: @throws Error that says why no connection can come about. */
  check(): void;
  /** What keeps it, for as long as the program runs. */
  readonly tasks: Readonly<Record<string, Task>>;
}

/** What the flags ask for: a certificate and who may connect, be it fixed or followed. @throws Error when files cannot be used. */
export function servingTls(flags: ServingFlags & { "system-namespace": string }, init: ServingTlsInit): ServingTls {
  const { client, log, metrics } = init;
  const settings = tlsSettingsOf(flags, log);
  const certificate = certificateOf(flags, settings, init);
  servingCertificateEnd(metrics, certificate.tls);
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

/** A certificate of files, or one that is made and renewed by the program. */
function certificateOf(
  flags: ServingFlags & { "system-namespace": string },
  settings: TlsSettings,
  { program, host, client, leading, log }: ServingTlsInit,
): Omit<ServingTls, "settings"> {
  if (flags["serving-certificates"] === "files") return { tls: tlsFilesOf(flags, settings, log), check: () => undefined, tasks: {} };
  const events = new EventRecorder(client, { component: program, log });
  const own = new SelfManagedCertificate({
    client,
    place: servingSecretName(program, flags["system-namespace"]),
    dnsNames: certificateHostNames(host.replace(/:\d+$/, "")),
    issuer: new ThreadIssuer(),
    times: SERVING_TIMES,
    leading,
    tell: (secret, reason, message) => events.record(secret, EVENTS[reason].type, reason, message),
    settings,
    log,
  });
  return { tls: own, check: () => own.check(), tasks: { certificate: (signal) => own.run(signal) } };
}
