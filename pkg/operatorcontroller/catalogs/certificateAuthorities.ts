import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, sleep, systemClock } from "../../async/clock.ts";
import { readStoredCertificates } from "../../certificates/storedCertificates.ts";
import { Informer, type ListerWatcher } from "../../controller/informer.ts";
import type { Logger } from "../../telemetry/log.ts";

/** CA certificates in PEM, one string for each file. */
export interface Authorities {
  readonly certificates: readonly string[];
  /** Changes when the certificates change. */
  readonly fingerprint: string;
}

/** A source of CA certificates. */
export interface AuthoritySource {
  /** Returns the current CA certificates. */
  current(): Promise<Authorities>;
}

/** How long a read is valid, in milliseconds. */
const FRESH_MS = 1_000;

/**
 * Reads the certificates in a folder again when they are used. A rotated CA is therefore trusted without a restart. Ignores subfolders and files
 * without a certificate. Keeps the previous certificates if a later read fails.
 */
export class AuthorityFolder implements AuthoritySource {
  readonly #dir: string;
  readonly #now: () => number;
  #readAt: number;
  #last: Authorities;

  /** @param now monotonic clock in milliseconds. @throws Error if the folder cannot be read. */
  constructor(dir: string, now: () => number = () => performance.now()) {
    this.#dir = dir;
    this.#now = now;
    this.#last = parseAuthorities(
      listNames(readdirSync(dir, { withFileTypes: true })).map((name) => readFileSync(join(dir, name), "utf8")),
    );
    this.#readAt = now();
  }

  async current(): Promise<Authorities> {
    if (this.#now() - this.#readAt < FRESH_MS) return this.#last;
    try {
      const names = listNames(await readdir(this.#dir, { withFileTypes: true }));
      this.#last = parseAuthorities(await Promise.all(names.map((name) => readFile(join(this.#dir, name), "utf8"))));
    } catch {
      // The kubelet replaces a mounted folder as a whole. The folder can be absent for a moment.
    }
    this.#readAt = this.#now();
    return this.#last;
  }
}

function listNames(entries: readonly { name: string; isDirectory(): boolean }[]): string[] {
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith("..")) // internal links in a mounted ConfigMap
    .map(({ name }) => name)
    .sort();
}

/** Returns the texts that contain certificates. */
export function parseAuthorities(texts: readonly string[]): Authorities {
  const certificates = texts.filter((text) => text.includes("-----BEGIN CERTIFICATE-----"));
  return { certificates, fingerprint: createHash("sha256").update(JSON.stringify(certificates)).digest("hex") };
}

/** The Secret with the CA certificates, and the client that reads it. */
export interface SecretAuthoritiesInit {
  client: ListerWatcher;
  namespace: string;
  name: string;
  log: Logger;
  clock?: Clock;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** Maximum time to wait for the first response of the API server, in milliseconds. */
const ANSWER_MS = 5_000;

/**
 * Watches the CA certificates in `ca.crt` of a Secret. Keeps the previous certificates if the Secret is deleted or contains none. Does not store
 * private keys.
 */
export class SecretAuthorities implements AuthoritySource {
  readonly #informer: Informer;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #log: Logger;
  #current: Authorities = parseAuthorities([]);

  constructor({ client, namespace, name, log, clock = systemClock }: SecretAuthoritiesInit) {
    this.#clock = clock;
    this.#name = `${namespace}/${name}`;
    this.#log = log;
    const selection = { namespace, fieldSelector: `metadata.name=${name}`, clock };
    this.#informer = new Informer(client, SECRET, { ...selection, transform: (secret) => this.#update(secret) }, log);
  }

  async current(): Promise<Authorities> {
    if (!this.#informer.hasSynced) {
      const over = new AbortController();
      const { synced } = this.#informer;
      await Promise.race([synced.catch(() => undefined), sleep(this.#clock, ANSWER_MS, over.signal)]);
      over.abort();
    }
    return this.#current;
  }

  /** Follows the Secret until `signal` aborts; never throws. Call once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** Stores the CA certificates in the Secret. @returns the Secret without its data. */
  #update(secret: KubeObject): KubeObject {
    const { authorities } = readStoredCertificates(secret);
    const found = parseAuthorities(authorities);
    if (authorities.length === 0)
      this.#log.warn({ secret: this.#name }, "catalogd Secret contains no CA certificates, keeping the previous ones");
    else if (found.fingerprint !== this.#current.fingerprint) {
      this.#current = found;
      this.#log.info({ secret: this.#name, authorities: authorities.length }, "catalogd CA certificates updated");
    }
    const { apiVersion, kind, metadata } = secret;
    return { apiVersion, kind, metadata };
  }
}
