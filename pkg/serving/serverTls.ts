import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { getErrorMessage } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { GaugeMetric, Metrics } from "../telemetry/metrics.ts";
import type { TlsSettings } from "./tlsProfile.ts";

/**
 * A PEM certificate chain, its key, and TLS settings for Node. Without certificate and key, no
 * connection is accepted.
 */
export interface ServerCertificate extends Partial<TlsSettings> {
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** The certificate and settings of a server's TLS listeners; changes apply to new connections. */
export interface ServerTls {
  readonly current: ServerCertificate;
  /** Calls `use` after every change, until the returned function is called. */
  onChange(use: (certificate: ServerCertificate) => void): () => void;
}

/** Registers the gauge for the expiration time of the serving certificate. */
export function createCertificateEndMetric(metrics: Metrics, tls: Pick<ServerTls, "current"> | undefined): GaugeMetric {
  return metrics.gauge({
    name: "serving_certificate_expiration_timestamp_seconds",
    help: "Expiration time of the serving certificate, in seconds since the epoch; 0 without a certificate",
    collect: (gauge) => {
      const cert = tls?.current.cert;
      gauge.set(cert === undefined ? 0 : new X509Certificate(cert).validToDate.getTime() / 1_000);
    },
  });
}

/** Provides the current TLS settings for accepted connections. */
export interface SettingsSource {
  current(): TlsSettings;
  onChange(handler: () => void): void;
  /** Resolves when the settings are known, or cannot be read for now. */
  readonly synced: Promise<void>;
}

/**
 * A certificate with TLS settings that can change without a restart. Changes apply to new
 * connections. No connection is accepted until the settings are known.
 */
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

  /** Readiness check. @throws Error while the settings are unknown. */
  check(): void {
    if (!this.#applied) throw new Error("the TLS profile of the cluster has not been read yet");
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
      this.#log.error({ ...settings, reason: getErrorMessage(err) }, "cannot apply TLS settings, keeping the previous ones");
      return;
    }
    this.#applied = settings;
    for (const use of this.#users) use(this.current);
  }
}

/** The PEM files of the certificate and its key, and the TLS settings. */
export interface TlsFilesOptions {
  certFile: string;
  keyFile: string;
  /** Versions, ciphers and curves; default: Node's. */
  settings?: TlsSettings;
  log: Logger;
}

const POLL_MS = 10_000;

type FilePair = ServerCertificate & { readonly cert: Buffer; readonly key: Buffer };

/**
 * A certificate and key in files that another program renews, for all servers of this program.
 * Compares the files every ten seconds, because a mounted Secret is replaced through symbolic
 * links, which file watchers do not detect. Logs an invalid pair and keeps the last valid one.
 */
export class TlsFiles implements ServerTls {
  readonly #options: TlsFilesOptions;
  readonly #users = new Set<(certificate: ServerCertificate) => void>();
  #timer: NodeJS.Timeout | undefined;
  #current: FilePair;

  /** @throws Error if the files cannot be read or do not match, or if OpenSSL rejects the settings. */
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

  /** Checks the files now. */
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
      log.error({ file: certFile, reason: getErrorMessage(err) }, "cannot use new certificate, keeping the previous one");
    }
  }

  #read(): FilePair {
    const { certFile, keyFile, settings } = this.#options;
    const certificate = { cert: readFileSync(certFile), key: readFileSync(keyFile), ...settings };
    createSecureContext(certificate);
    return certificate;
  }
}
