import { createSecureContext } from "node:tls";
import { messageOf } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ServerCertificate, ServerTls } from "./serverTls.ts";
import type { TlsSettings } from "./tlsProfile.ts";

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
