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
  buildServingSecret,
  chooseServingAction,
  parseServingSecret,
  type ServingAction,
  type ServingSecret,
  type ServingSecretName,
} from "../certificates/servingCertificate.ts";
import type { StoredCertificates } from "../certificates/storedCertificates.ts";
import { Informer } from "../controller/informer.ts";
import { getErrorMessage, RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isForbidden } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import type { CertificateIssuer } from "./certificateIssuer.ts";
import type { ServerCertificate, ServerTls } from "./serverTls.ts";
import type { TlsSettings } from "./tlsProfile.ts";

/** Reasons of the Events about a self-managed certificate, and their types. */
type ServingCertificateEvent = Extract<
  EventReason,
  "CertificateIssued" | "CertificatePrepared" | "CertificateRenewed" | "CertificateRestored" | "CertificateRefused"
>;

/** Options of a self-managed certificate. */
export interface SelfManagedCertificateInit {
  /** Needs permission to read, watch and update the Secret. */
  client: Pick<Client, "get" | "list" | "watch" | "create" | "replace">;
  place: ServingSecretName;
  /** The DNS names of the certificate; the first one is also its common name. */
  dnsNames: readonly string[];
  issuer: CertificateIssuer;
  times: CertificateTimes;
  /** Returns whether this replica is the leader. */
  leading: () => boolean;
  /** Records an Event about the Secret. */
  recordEvent: (secret: KubeObject, reason: ServingCertificateEvent, message: string) => void;
  /** Versions, ciphers and curves; default: Node's. */
  settings?: TlsSettings;
  log: Logger;
  clock?: Clock;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** Maximum time between checks of the Secret, to notice clock changes and machines that were suspended. */
const LOOK_MS = 3_600_000;
/**
 * Interval for checking whether this replica has become the leader, while there is work for a
 * leader.
 */
const LEADER_LOOK_MS = 3_000;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;

/**
 * A certificate that a server issues for itself and shares with its replicas in a Secret, from
 * which clients read the authorities. The first replica issues the certificate, and the leader
 * renews it long before it expires. If the Secret is damaged, it is restored from the served
 * certificate. Every write contains the resourceVersion that was read, so that only one replica
 * succeeds and the other replicas use its result.
 */
export class SelfManagedCertificate implements ServerTls {
  readonly #init: SelfManagedCertificateInit;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #users = new Set<(certificate: ServerCertificate) => void>();
  #held: { readonly stored: StoredCertificates; readonly endsAt: number } | undefined;
  #current: ServerCertificate;
  #problem = "the Secret has not been read yet";
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

  /** Readiness check. @throws Error with the reason why there is no valid certificate. */
  check(): void {
    const { name } = this.#init.place;
    if (!this.#held) throw new Error(`no serving certificate from Secret ${name}: ${this.#problem}`);
    if (this.#held.endsAt <= this.#now()) throw new Error(`the serving certificate of Secret ${name} has expired: ${this.#problem}`);
  }

  /** Maintains the certificate until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, log, place } = this.#init;
    const { namespace, name } = place;
    const selection = { namespace, fieldSelector: `metadata.name=${name}`, clock: this.#clock };
    // A change triggers a check. The informer stores nothing else, in particular no keys.
    const informer = new Informer(client, SECRET, { ...selection, transform: bare }, log);
    informer.onEvent(() => this.#wakeUp());
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
        if (!isConflict(err) && !isAlreadyExists(err)) this.#failed(getErrorMessage(err));
        pauseMs = backoff.next();
      }
      const over = new AbortController();
      await Promise.race([woken, sleep(this.#clock, pauseMs, AbortSignal.any([signal, over.signal]))]);
      over.abort();
    }
  }

  /** Runs one check and one step. @returns the time until the next step, in milliseconds. */
  async #pass(signal: AbortSignal): Promise<number> {
    const { client, place, leading, times } = this.#init;
    const live = await client.get({ ...SECRET, namespace: place.namespace, name: place.name }, { signal });
    const secret = parseServingSecret(live, place);
    const state = this.#adopt(secret);
    const held = this.#held && { startsAt: 0, endsAt: this.#held.endsAt };
    const action = chooseServingAction({ secret, state, held, leading: leading(), now: this.#now(), times });
    if (action.kind === "rest") return Math.min(Math.max(action.at - this.#now(), 0), LOOK_MS);
    if (action.kind === "leave") return LEADER_LOOK_MS;
    if (action.kind === "refuse") throw this.#refusal(live, action.reason);
    const stored = await this.#carriedOut(action, secret, signal);
    const written = await this.#write(live, stored, signal);
    this.#adopt({ kind: "stored", stored });
    this.#report(written, action);
    return 0;
  }

  /**
   * Serves the certificate in a Secret if possible, even if it has expired: clients check the
   * validity.
   * @returns the assessment of the certificate.
   */
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
      const fault = `the certificate cannot be used: ${getErrorMessage(err)}`;
      this.#failed(fault);
      return { ...state, serving: { fault } };
    }
    const isNew = !this.#held || this.#held.stored.serving.certificate !== stored.serving.certificate;
    this.#held = { stored, endsAt: state.serving.endsAt };
    this.#problem = `the certificate was valid until ${new Date(state.serving.endsAt).toISOString()}`;
    if (!isNew) return state;
    this.#current = certificate;
    log.info({ secret: place.name, endsAt: new Date(state.serving.endsAt).toISOString() }, "using serving certificate");
    for (const use of this.#users) use(certificate);
    return state;
  }

  async #carriedOut(action: Action, secret: ServingSecret, signal: AbortSignal): Promise<StoredCertificates> {
    const now = this.#now();
    const stored = secret.kind === "stored" ? secret.stored : undefined;
    if (action.kind === "restore" && this.#held) return this.#held.stored;
    if (!stored || action.kind === "issue") return storeIssued(await this.#issued(signal), stored?.authorities ?? [], now);
    if (action.kind === "prepare") return storePrepared(stored, await this.#issued(signal), now);
    return action.kind === "promote" ? promotePrepared(stored) : dropEndedAuthorities(stored, now);
  }

  async #issued(signal: AbortSignal): Promise<NewCertificate> {
    const { issuer, times, dnsNames } = this.#init;
    const now = this.#now();
    const task = { host: dnsNames[0] ?? "", dnsNames, startsAt: now - times.skewMs, endsAt: now + times.validityMs };
    const { authority, certificate, key } = await issuer.issue(task, signal);
    return { authority: authority.trim(), pair: { certificate, key } };
  }

  async #write(live: KubeObject | undefined, stored: StoredCertificates, signal: AbortSignal): Promise<KubeObject> {
    const { client, place } = this.#init;
    const secret = buildServingSecret(live, place, stored);
    if (live) return client.replace(secret, { signal });
    try {
      return await client.create(secret, { signal });
    } catch (err) {
      if (!isForbidden(err)) throw err;
      const why = "the Secret does not exist, and this server may not create it. Apply the manifests again: they contain an empty Secret";
      throw new RetryableError("Retrying", why, { cause: err });
    }
  }

  #refusal(live: KubeObject | undefined, because: string): Error {
    const text = `the Secret does not belong to this server, so it is not changed: ${because}. Delete or rename it, then apply the manifests again`;
    const { namespace, name } = this.#init.place;
    if (live && this.#problem !== text)
      this.#init.recordEvent(live, "CertificateRefused", `serving certificate in Secret ${namespace}/${name}: ${text}`);
    return new RetryableError("Retrying", text);
  }

  #report(secret: KubeObject, action: Action): void {
    const { place, log, recordEvent: tell } = this.#init;
    const { reason, what } = SAID[action.kind];
    const because = "reason" in action ? action.reason : undefined;
    log.info({ secret: place.name, action: action.kind, because }, "serving certificate changed");
    if (!reason) return;
    const cause = because === undefined ? "" : `, because ${because}`;
    tell(secret, reason, `serving certificate in Secret ${place.namespace}/${place.name}: ${what}${cause}`);
  }

  #failed(reason: string): void {
    const { log, place } = this.#init;
    if (reason === this.#problem) return;
    this.#problem = reason;
    log.error(
      { secret: `${place.namespace}/${place.name}`, reason },
      "cannot maintain serving certificate, keeping the current one if there is one",
    );
  }

  #wakeUp(): void {
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }
}

type Action = Extract<ServingAction, { kind: "issue" | "prepare" | "promote" | "trim" | "restore" }>;

const SAID: Readonly<Record<Action["kind"], { reason?: ServingCertificateEvent; what: string }>> = {
  issue: { reason: "CertificateIssued", what: "issued" },
  prepare: { reason: "CertificatePrepared", what: "the next certificate was issued and its authority is now trusted" },
  promote: { reason: "CertificateRenewed", what: "renewed: the next certificate is served, and both authorities are trusted" },
  restore: { reason: "CertificateRestored", what: "restored from the served certificate" },
  trim: { what: "expired authorities were removed" },
};

/** Returns an object with only its metadata. */
function bare({ apiVersion, kind, metadata: { name, namespace, resourceVersion } }: KubeObject): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  };
}
