import { EVENTS } from "../pkg/api/events.ts";
import { SERVING_TIMES, certificateHostNames, servingSecretName } from "../pkg/certificates/servingCertificate.ts";
import type { Task } from "../pkg/controller/shutdown.ts";
import type { Client } from "../pkg/kube/client.ts";
import { EventRecorder } from "../pkg/kube/events.ts";
import { ThreadIssuer } from "../pkg/serving/certificateIssuer.ts";
import { ClusterTlsSettings } from "../pkg/serving/clusterTlsProfile.ts";
import { SelfManagedCertificate } from "../pkg/serving/selfManagedCertificate.ts";
import { FollowedTls, type ServerTls, servingCertificateEnd } from "../pkg/serving/serverTls.ts";
import type { TlsSettings } from "../pkg/serving/tlsProfile.ts";
import type { Logger } from "../pkg/telemetry/log.ts";
import type { Metrics } from "../pkg/telemetry/metrics.ts";
import { CLUSTER_PROFILE, type ServingFlags, tlsFilesOf, tlsSettingsOf } from "./servingFlags.ts";

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
