import { createSecureContext } from "node:tls";
import type { EventReason } from "../api/events.ts";
import type { KubeObject } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import {
  assessCertificates,
  type CertificateState,
  type CertificateTimes,
  dropEndedAuthorities,
  type NewCertificate,
  promotePrepared,
  storeIssued,
  storePrepared,
} from "../certificates/rotation.ts";
import {
  type ServingAction,
  type ServingSecret,
  type ServingSecretName,
  servingAction,
  servingSecretOf,
  servingSecretWith,
} from "../certificates/servingCertificate.ts";
import type { StoredCertificates } from "../certificates/storedCertificates.ts";
import { Informer } from "../controller/informer.ts";
import { messageOf, RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isForbidden } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { CertificateIssuer } from "./certificateIssuer.ts";
import type { ServerCertificate, ServerTls } from "./serverTls.ts";
import type { TlsSettings } from "./tlsProfile.ts";

/** Reasons of the Events about such a certificate, and their types. */
type ServingCertificateEvent = Extract<
  EventReason,
  "CertificateIssued" | "CertificatePrepared" | "CertificateRenewed" | "CertificateRestored" | "CertificateRefused"
>;

/** For whom, with what and when a program makes its own certificate. */
export interface SelfManagedCertificateInit {
  /** May read, watch and update the Secret. */
  client: Pick<Client, "get" | "list" | "watch" | "create" | "replace">;
  place: ServingSecretName;
  /** The names that it is for, the first of which names it too. */
  dnsNames: readonly string[];
  issuer: CertificateIssuer;
  times: CertificateTimes;
  /** Whether this replica leads at this moment. */
  leading: () => boolean;
  /** Tells an Event about the Secret. */
  tell: (secret: KubeObject, reason: ServingCertificateEvent, message: string) => void;
  /** Versions, ciphers and curves; without them Node's own. */
  settings?: TlsSettings;
  log: Logger;
  clock?: Clock;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** Longest pause without a look at the Secret; sleeping machines and set clocks are noticed by then. */
const LOOK_MS = 3_600_000;
/** So often is looked whether this replica leads by now, while there is something to do for a leader. */
const LEADER_LOOK_MS = 3_000;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;

/**
 * The certificate that a program makes for itself and shares with its replicas in a Secret, which clients take the authorities from. It is there as
 * soon as one replica has made it, and is renewed long before its end; what is damaged is restored from what is served. Every write is on the
 * version that was read, so that of several replicas one succeeds and the others take what it wrote.
 */
export class SelfManagedCertificate implements ServerTls {
  readonly #init: SelfManagedCertificateInit;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #users = new Set<(certificate: ServerCertificate) => void>();
  #held: { readonly stored: StoredCertificates; readonly endsAt: number } | undefined;
  #current: ServerCertificate;
  #problem = "it has not been read yet";
  #woken = Promise.withResolvers<void>();

  constructor(init: SelfManagedCertificateInit) {
    const { clock = systemClock, now = Date.now, settings = {} } = init;
    this.#init = init;
    this.#clock = clock;
    this.#now = now;
    this.#current = { ...settings };
  }

  get current(): ServerCertificate {
    return this.#current;
  }

  onChange(use: (certificate: ServerCertificate) => void): () => void {
    this.#users.add(use);
    return () => void this.#users.delete(use);
  }

  /** For readiness: @throws Error that says why there is no certificate that holds. */
  check(): void {
    const { name } = this.#init.place;
    if (!this.#held) throw new Error(`no serving certificate from Secret ${name}: ${this.#problem}`);
    if (this.#held.endsAt <= this.#now()) throw new Error(`the serving certificate of Secret ${name} has ended: ${this.#problem}`);
  }

  /** Keeps it until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, log, place } = this.#init;
    const { namespace, name } = place;
    const selection = { namespace, fieldSelector: `metadata.name=${name}`, clock: this.#clock };
    // A change asks for a look; nothing else is kept of it, keys least of all.
    const informer = new Informer(client, SECRET, { ...selection, transform: bare }, log);
    informer.onEvent(() => this.#wake());
    await Promise.all([informer.run(signal), this.#keep(signal)]);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
    while (!signal.aborted) {
      const woken = this.#woken.promise;
      let pauseMs: number;
      try {
        pauseMs = await this.#pass(signal);
        backoff.reset();
      } catch (err) {
        if (signal.aborted) return;
        if (!isConflict(err) && !isAlreadyExists(err)) this.#failed(messageOf(err));
        pauseMs = backoff.next();
      }
      const over = new AbortController();
      await Promise.race([woken, sleep(this.#clock, pauseMs, AbortSignal.any([signal, over.signal]))]);
      over.abort();
    }
  }

  /** One look, and one step. @returns for how long nothing else is to be done, in milliseconds. */
  async #pass(signal: AbortSignal): Promise<number> {
    const { client, place, leading, times } = this.#init;
    const live = await client.get({ ...SECRET, namespace: place.namespace, name: place.name }, { signal });
    const secret = servingSecretOf(live, place);
    const state = this.#adopt(secret);
    const held = this.#held && { startsAt: 0, endsAt: this.#held.endsAt };
    const action = servingAction({ secret, state, held, leading: leading(), now: this.#now(), times });
    if (action.kind === "rest") return Math.min(Math.max(action.at - this.#now(), 0), LOOK_MS);
    if (action.kind === "leave") return LEADER_LOOK_MS;
    if (action.kind === "refuse") throw this.#refusal(live, action.because);
    const stored = await this.#carriedOut(action, secret, signal);
    const written = await this.#write(live, stored, signal);
    this.#adopt({ kind: "stored", stored });
    this.#say(written, action);
    return 0;
  }

  /** Serves what a Secret holds if it can be served, whatever its times: clients judge them. @returns what it is worth. */
  #adopt(secret: ServingSecret): CertificateState | undefined {
    const { dnsNames, settings = {}, log, place } = this.#init;
    if (secret.kind !== "stored") return undefined;
    const { stored } = secret;
    const state = assessCertificates(stored, dnsNames);
    if (!state || "fault" in state.serving) {
      if (state && "fault" in state.serving) this.#failed(state.serving.fault);
      return state;
    }
    const certificate = { cert: Buffer.from(stored.serving.certificate), key: Buffer.from(stored.serving.key), ...settings };
    try {
      createSecureContext(certificate);
    } catch (err) {
      const fault = `it cannot be served: ${messageOf(err)}`;
      this.#failed(fault);
      return { ...state, serving: { fault } };
    }
    const isNew = !this.#held || this.#held.stored.serving.certificate !== stored.serving.certificate;
    this.#held = { stored, endsAt: state.serving.endsAt };
    this.#problem = `it holds until ${new Date(state.serving.endsAt).toISOString()}`;
    if (!isNew) return state;
    this.#current = certificate;
    log.info({ secret: place.name, endsAt: new Date(state.serving.endsAt).toISOString() }, "serving certificate taken");
    for (const use of this.#users) use(certificate);
    return state;
  }

  async #carriedOut(action: Action, secret: ServingSecret, signal: AbortSignal): Promise<StoredCertificates> {
    const now = this.#now();
    const stored = secret.kind === "stored" ? secret.stored : undefined;
    if (action.kind === "restore" && this.#held) return this.#held.stored;
    if (!stored || action.kind === "issue") return storeIssued(await this.#made(signal), stored?.authorities ?? [], now);
    if (action.kind === "prepare") return storePrepared(stored, await this.#made(signal), now);
    return action.kind === "promote" ? promotePrepared(stored) : dropEndedAuthorities(stored, now);
  }

  async #made(signal: AbortSignal): Promise<NewCertificate> {
    const { issuer, times, dnsNames } = this.#init;
    const now = this.#now();
    const task = { host: dnsNames[0] ?? "", dnsNames, startsAt: now - times.skewMs, endsAt: now + times.validityMs };
    const { authority, certificate, key } = await issuer.issue(task, signal);
    return { authority: authority.trim(), pair: { certificate, key } };
  }

  async #write(live: KubeObject | undefined, stored: StoredCertificates, signal: AbortSignal): Promise<KubeObject> {
    const { client, place } = this.#init;
    const secret = servingSecretWith(live, place, stored);
    if (live) return client.replace(secret, { signal });
    try {
      return await client.create(secret, { signal });
    } catch (err) {
      if (!isForbidden(err)) throw err;
      const why = "it does not exist and may not be created; apply the manifests again, which have it without content";
      throw new RetryableError("Retrying", why, { cause: err });
    }
  }

  #refusal(live: KubeObject | undefined, because: string): Error {
    const text = `somebody else's, nothing is written into it: ${because}; delete or rename it and apply the manifests again`;
    const { namespace, name } = this.#init.place;
    if (live && this.#problem !== text)
      this.#init.tell(live, "CertificateRefused", `serving certificate in Secret ${namespace}/${name}: ${text}`);
    return new RetryableError("Retrying", text);
  }

  #say(secret: KubeObject, action: Action): void {
    const { place, log, tell } = this.#init;
    const { reason, what } = SAID[action.kind];
    const because = "because" in action ? action.because : undefined;
    log.info({ secret: place.name, action: action.kind, because }, "serving certificate changed");
    if (!reason) return;
    const cause = because === undefined ? "" : `; ${because}`;
    tell(secret, reason, `serving certificate in Secret ${place.namespace}/${place.name}: ${what}${cause}`);
  }

  #failed(reason: string): void {
    const { log, place } = this.#init;
    if (reason === this.#problem) return;
    this.#problem = reason;
    log.error(
      { secret: `${place.namespace}/${place.name}`, reason },
      "serving certificate cannot be kept, going on with the last one if there is one",
    );
  }

  #wake(): void {
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }
}

type Action = Extract<ServingAction, { kind: "issue" | "prepare" | "promote" | "trim" | "restore" }>;

const SAID: Readonly<Record<Action["kind"], { reason?: ServingCertificateEvent; what: string }>> = {
  issue: { reason: "CertificateIssued", what: "issued" },
  prepare: { reason: "CertificatePrepared", what: "its successor issued, whose authority is trusted from now on" },
  promote: { reason: "CertificateRenewed", what: "renewed: the successor is served, and the authority of both is trusted" },
  restore: { reason: "CertificateRestored", what: "written back as it is served" },
  trim: { what: "authorities that have ended removed" },
};

/** An object without its content. */
function bare({ apiVersion, kind, metadata: { name, namespace, resourceVersion } }: KubeObject): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  };
}
