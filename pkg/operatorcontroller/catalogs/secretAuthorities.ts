import type { KubeObject } from "../../api/k8s.ts";
import { storedIn } from "../../certificates/storedCertificates.ts";
import { type Clock, sleep, systemClock } from "../../async/clock.ts";
import { Informer, type ListerWatcher } from "../../controller/informer.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type Authorities, type AuthoritySource, authoritiesOf } from "./authorityFolder.ts";

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
