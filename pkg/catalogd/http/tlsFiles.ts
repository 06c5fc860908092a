import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { messageOf } from "../../errors/errors.ts";
import type { Logger } from "../../telemetry/log.ts";

/** A certificate chain and its key, in PEM. */
export interface CertificatePair {
  cert: Buffer;
  key: Buffer;
}

const POLL_MS = 10_000;

/**
 * A certificate and key in files that somebody renews. The files are compared every ten seconds, since a mounted Secret is replaced through
 * links that file watchers miss; a pair that does not work is reported and the last good one stays.
 */
export class TlsFiles {
  readonly #certFile: string;
  readonly #keyFile: string;
  readonly #log: Logger;
  #current: CertificatePair;

  /** @throws Error when the files cannot be read or do not belong together. */
  constructor(certFile: string, keyFile: string, log: Logger) {
    this.#certFile = certFile;
    this.#keyFile = keyFile;
    this.#log = log;
    this.#current = this.#read();
  }

  get current(): CertificatePair {
    return this.#current;
  }

  /** Calls `use` with every new pair until the returned function is called. */
  onChange(use: (pair: CertificatePair) => void): () => void {
    const timer = setInterval(() => this.check(use), POLL_MS).unref();
    return () => clearInterval(timer);
  }

  /** Looks at the files now. */
  check(use: (pair: CertificatePair) => void): void {
    try {
      const cert = readFileSync(this.#certFile);
      const key = readFileSync(this.#keyFile);
      if (cert.equals(this.#current.cert) && key.equals(this.#current.key)) return;
      this.#current = this.#read();
      use(this.#current);
      this.#log.info({ file: this.#certFile }, "certificate reloaded");
    } catch (err) {
      this.#log.error({ file: this.#certFile, reason: messageOf(err) }, "new certificate cannot be used, keeping the last one");
    }
  }

  #read(): CertificatePair {
    const pair = { cert: readFileSync(this.#certFile), key: readFileSync(this.#keyFile) };
    createSecureContext(pair);
    return pair;
  }
}
