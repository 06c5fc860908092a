import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { messageOf } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";
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

/** Expiration time of the serving certificate, in seconds since the epoch; 0 without a certificate. */
export function servingCertificateEnd(metrics: Metrics, tls: Pick<ServerTls, "current"> | undefined): GaugeMetric {
  return metrics.gauge({
    name: "serving_certificate_expiration_timestamp_seconds",
    help: "Expiration time of the serving certificate, in seconds since the epoch; 0 without a certificate",
    collect: (gauge) => {
      const cert = tls?.current.cert;
      gauge.set(cert === undefined ? 0 : new X509Certificate(cert).validToDate.getTime() / 1_000);
    },
  });
}

/** Decides which connections are accepted, as it is by now. */
export interface SettingsSource {
  current(): TlsSettings;
  onChange(handler: () => void): void;
  /** Resolves once that is known, or cannot be known for the time being. */
  readonly synced: Promise<void>;
}

/** A certificate with settings that may change: for new connections, without a restart. Before they are known no connection comes about. */
export class FollowedTls implements ServerTls {
  readonly #certificate: ServerTls;
  readonly #settings: SettingsSource;
  readonly #log: Logger;
  readonly #users = new Set<(certificate: ServerCertificate) => void>();
  #known = false;
  #applied: TlsSettings | undefined;

  constructor(certificate: ServerTls, settings: SettingsSource, log: Logger) {
    this.#certificate = certificate;
    this.#settings = settings;
    this.#log = log;
    settings.onChange(() => this.#look());
    void this.#begin();
  }

  get current(): ServerCertificate {
    if (!this.#applied) return {};
    return { ...this.#certificate.current, ...this.#applied };
  }

  onChange(use: (certificate: ServerCertificate) => void): () => void {
    this.#users.add(use);
    const stop = this.#certificate.onChange(() => use(this.current));
    return () => {
      stop();
      this.#users.delete(use);
    };
  }

  /** For readiness: @throws Error while it is not known which connections to accept. */
  check(): void {
    if (!this.#applied) throw new Error("which TLS connections the cluster's servers accept is not known yet");
  }

  async #begin(): Promise<void> {
    await this.#settings.synced;
    this.#known = true;
    this.#look();
  }

  #look(): void {
    if (!this.#known) return;
    const settings = this.#settings.current();
    try {
      createSecureContext(settings);
    } catch (err) {
      this.#log.error({ ...settings, reason: messageOf(err) }, "TLS settings cannot be used, keeping the last ones");
      return;
    }
    this.#applied = settings;
    for (const use of this.#users) use(this.current);
  }
}

/** Which files hold the certificate and its key, as PEM, and how TLS is spoken with them. */
export interface TlsFilesOptions {
  certFile: string;
  keyFile: string;
  /** Versions, ciphers and curves; without them Node's own. */
  settings?: TlsSettings;
  log: Logger;
}

const POLL_MS = 10_000;

type FilePair = ServerCertificate & { readonly cert: Buffer; readonly key: Buffer };

/**
 * A certificate and key in files that somebody renews, for all servers of a program. The files are compared every ten seconds, since a mounted
 * Secret is replaced through links that file watchers miss; a pair that does not work is reported and the last good one stays.
 */
export class TlsFiles implements ServerTls {
  readonly #options: TlsFilesOptions;
  readonly #users = new Set<(certificate: ServerCertificate) => void>();
  #timer: NodeJS.Timeout | undefined;
  #current: FilePair;

  /** @throws Error when the files cannot be read or do not belong together, or when OpenSSL does not take the settings. */
  constructor(options: TlsFilesOptions) {
    this.#options = options;
    this.#current = this.#read();
  }

  get current(): ServerCertificate {
    return this.#current;
  }

  onChange(use: (certificate: ServerCertificate) => void): () => void {
    this.#users.add(use);
    this.#timer ??= setInterval(() => this.check(), POLL_MS).unref();
    return () => {
      this.#users.delete(use);
      if (this.#users.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Looks at the files now. */
  check(): void {
    const { certFile, keyFile, log } = this.#options;
    try {
      const known = this.#current;
      if (readFileSync(certFile).equals(known.cert) && readFileSync(keyFile).equals(known.key)) return;
      const renewed = this.#read();
      this.#current = renewed;
      for (const use of this.#users) use(renewed);
      log.info({ file: certFile }, "certificate reloaded");
    } catch (err) {
      log.error({ file: certFile, reason: messageOf(err) }, "new certificate cannot be used, keeping the last one");
    }
  }

  #read(): FilePair {
    const { certFile, keyFile, settings } = this.#options;
    const certificate = { cert: readFileSync(certFile), key: readFileSync(keyFile), ...settings };
    createSecureContext(certificate);
    return certificate;
  }
}
