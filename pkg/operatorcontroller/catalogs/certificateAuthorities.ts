import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, sleep, systemClock } from "../../async/clock.ts";
import { storedIn } from "../../certificates/storedCertificates.ts";
import { Informer, type ListerWatcher } from "../../controller/informer.ts";
import type { Logger } from "../../telemetry/log.ts";

/** Certificates of authorities, PEM, a file each. */
export interface Authorities {
  readonly certificates: readonly string[];
  /** Changes with the certificates. */
  readonly fingerprint: string;
}

/** Where they are read. */
export interface AuthoritySource {
  /** As they are by now. */
  current(): Promise<Authorities>;
}

/** What was read a moment ago still holds. */
const FRESH_MS = 1_000;

/**
 * The certificates in a folder as they are by now: a rotated authority is trusted without a restart. Files without a certificate, and folders,
 * are passed over. What cannot be read later leaves what was read before.
 */
export class AuthorityFolder implements AuthoritySource {
  readonly #dir: string;
  readonly #now: () => number;
  #readAt: number;
  #last: Authorities;

  /** @param now milliseconds from any start. @throws Error when the folder cannot be read. */
  constructor(dir: string, now: () => number = () => performance.now()) {
    this.#dir = dir;
    this.#now = now;
    this.#last = authoritiesOf(namesOf(readdirSync(dir, { withFileTypes: true })).map((name) => readFileSync(join(dir, name), "utf8")));
    this.#readAt = now();
  }

  async current(): Promise<Authorities> {
    if (this.#now() - this.#readAt < FRESH_MS) return this.#last;
    try {
      const names = namesOf(await readdir(this.#dir, { withFileTypes: true }));
      this.#last = authoritiesOf(await Promise.all(names.map((name) => readFile(join(this.#dir, name), "utf8"))));
    } catch {
      // A mounted folder is replaced as a whole; it is there again in a moment.
    }
    this.#readAt = this.#now();
    return this.#last;
  }
}

function namesOf(entries: readonly { name: string; isDirectory(): boolean }[]): string[] {
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith("..")) // a mounted ConfigMap's own links
    .map(({ name }) => name)
    .sort();
}

/** The certificates in texts, and nothing of texts without one. */
export function authoritiesOf(texts: readonly string[]): Authorities {
  const certificates = texts.filter((text) => text.includes("-----BEGIN CERTIFICATE-----"));
  return { certificates, fingerprint: createHash("sha256").update(JSON.stringify(certificates)).digest("hex") };
}

/** Where the Secret is, and with what it is read. */
export interface SecretAuthoritiesInit {
  client: ListerWatcher;
  namespace: string;
  name: string;
  log: Logger;
  clock?: Clock;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** For so long a request waits for the first answer of the API server. */
const ANSWER_MS = 5_000;

/** The authorities in `ca.crt` of a Secret, as a watch tells them. A Secret that goes, or holds none, leaves those that were known. Keys are not kept. */
export class SecretAuthorities implements AuthoritySource {
  readonly #informer: Informer;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #log: Logger;
  #current: Authorities = authoritiesOf([]);

  constructor({ client, namespace, name, log, clock = systemClock }: SecretAuthoritiesInit) {
    this.#clock = clock;
    this.#name = `${namespace}/${name}`;
    this.#log = log;
    const selection = { namespace, fieldSelector: `metadata.name=${name}`, clock };
    this.#informer = new Informer(client, SECRET, { ...selection, transform: (secret) => this.#taken(secret) }, log);
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

  /** Follows until `signal` aborts; never throws. Call once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** Takes the authorities of what was read. @returns what is kept of it. */
  #taken(secret: KubeObject): KubeObject {
    const { authorities } = storedIn(secret);
    const found = authoritiesOf(authorities);
    if (authorities.length === 0)
      this.#log.warn({ secret: this.#name }, "no authorities of catalogd in its Secret, going on with those known");
    else if (found.fingerprint !== this.#current.fingerprint) {
      this.#current = found;
      this.#log.info({ secret: this.#name, authorities: authorities.length }, "authorities of catalogd taken");
    }
    const { apiVersion, kind, metadata } = secret;
    return { apiVersion, kind, metadata };
  }
}
