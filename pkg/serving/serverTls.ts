import { X509Certificate } from "node:crypto";
import type { GaugeMetric, Metrics } from "../telemetry/metrics.ts";
import type { TlsSettings } from "./tlsProfile.ts";

/** A certificate chain and its key, in PEM, and how they are served; what a TLS server of Node takes. Without them no connection comes about. */
export interface ServerCertificate extends Partial<TlsSettings> {
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** What TLS servers of a program present; it may change at any time, for new connections. */
export interface ServerTls {
  readonly current: ServerCertificate;
  /** Calls `use` with everything new until the returned function is called. */
  onChange(use: (certificate: ServerCertificate) => void): () => void;
}

/** When the certificate that is served ends, in seconds since the epoch; 0 while there is none. */
export function servingCertificateEnd(metrics: Metrics, tls: Pick<ServerTls, "current"> | undefined): GaugeMetric {
  return metrics.gauge({
    name: "serving_certificate_expiration_timestamp_seconds",
    help: "When the certificate that is served ends, in seconds since the epoch; 0 while there is none",
    collect: (gauge) => {
      const cert = tls?.current.cert;
      gauge.set(cert === undefined ? 0 : new X509Certificate(cert).validToDate.getTime() / 1_000);
    },
  });
}
