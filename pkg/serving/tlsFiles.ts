import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { messageOf } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ServerCertificate, ServerTls } from "./serverTls.ts";
import type { TlsSettings } from "./tlsProfile.ts";

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
