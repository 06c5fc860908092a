import { EVENTS } from "../pkg/api/events.ts";
import { servedNames } from "../pkg/certificates/serviceNames.ts";
import { SERVING_TIMES } from "../pkg/certificates/servingPlan.ts";
import { servingSecretName } from "../pkg/certificates/servingSecret.ts";
import type { Task } from "../pkg/controller/shutdown.ts";
import type { Client } from "../pkg/kube/client.ts";
import { EventRecorder } from "../pkg/kube/events.ts";
import { ThreadIssuer } from "../pkg/serving/certificates/certificateIssuer.ts";
import { SelfManagedCertificate } from "../pkg/serving/certificates/selfManagedCertificate.ts";
import { type ServerTls, servingCertificateEnd } from "../pkg/serving/serverTls.ts";
import type { TlsSettings } from "../pkg/serving/tlsProfile.ts";
import type { Logger } from "../pkg/telemetry/log.ts";
import type { Metrics } from "../pkg/telemetry/metrics.ts";
import { type ServingFlags, tlsFilesOf } from "./servingFlags.ts";

/** What a program's own certificate depends on. */
export interface ServingTlsInit {
  program: "catalogd" | "operator-controller";
  /** Under which clients reach it. */
  host: string;
  client: Client;
  /** Whether this process leads at this moment. */
  leading: () => boolean;
  settings: TlsSettings;
  log: Logger;
  metrics: Metrics;
}

/** What a program's TLS servers present. */
export interface ServingTls {
  /** Undefined where nothing is served over TLS. */
  readonly tls: ServerTls | undefined;
  /** For readiness: @throws Error that says why there is no certificate that holds. */
  check(): void;
  /** What keeps it, for as long as the program runs. */
  readonly tasks: Readonly<Record<string, Task>>;
}

/** The certificate that the flags ask for: of files, or made and renewed by the program. @throws Error when files cannot be used. */
export function servingTls(flags: ServingFlags & { "system-namespace": string }, init: ServingTlsInit): ServingTls {
  const { program, host, client, leading, settings, log, metrics } = init;
  if (flags["serving-certificates"] === "files") {
    const files = tlsFilesOf(flags, settings, log);
    servingCertificateEnd(metrics, files);
    return { tls: files, check: () => undefined, tasks: {} };
  }
  const events = new EventRecorder(client, { component: program, log });
  const own = new SelfManagedCertificate({
    client,
    place: servingSecretName(program, flags["system-namespace"]),
    dnsNames: servedNames(host.replace(/:\d+$/, "")),
    issuer: new ThreadIssuer(),
    times: SERVING_TIMES,
    leading,
    tell: (secret, reason, message) => events.record(secret, EVENTS[reason].type, reason, message),
    settings,
    log,
  });
  servingCertificateEnd(metrics, own);
  return { tls: own, check: () => own.check(), tasks: { certificate: (signal) => own.run(signal) } };
}
