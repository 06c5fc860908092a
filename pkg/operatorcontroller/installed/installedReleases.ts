import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../controller/clock.ts";
import { Informer, withoutBulk } from "../../controller/informer.ts";
import { messageOf } from "../../errors/errors.ts";
import type { ActiveRelease, UnreadableReleases } from "../../gate/verdict.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { RELEASE_OWNER } from "../../release/encode.ts";
import { activeReleases } from "../../release/history.ts";
import type { ProvidedBundle } from "../../release/providedBundle.ts";
import { lastDeployed } from "../../release/record.ts";
import type { Logger } from "../../telemetry/log.ts";
import { indexFrom, type ReleaseIndex, type ReleaseOwner, type ReleaseStore } from "../releases/releaseStore.ts";
import type { ReleaseFactsCache } from "./releaseFacts.ts";
import { ReleaseReader } from "./releaseReader.ts";

/** What InstalledReleases is built from. */
export interface InstalledReleasesOptions {
  client: Pick<Client, "list" | "watch">;
  store: Pick<ReleaseStore, "read">;
  /** Shared with the store that the passes use. */
  cache: ReleaseFactsCache;
  systemNamespace: string;
  log: Logger;
  clock?: Clock;
}

/** What is known of what an extension has installed. */
export type InstalledState =
  | { readonly kind: "installed"; readonly bundle: ProvidedBundle }
  | { readonly kind: "absent" }
  /** `because` is absent while it is being read. */
  | { readonly kind: "unknown"; readonly because?: string };

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
const BY_EXTENSION = "extension";

/** The releases of all extensions as their Secrets change: metadata is watched, and what a release holds is read once. */
export class InstalledReleases {
  readonly #secrets: Informer;
  readonly #reader: ReleaseReader;
  readonly #handlers: (() => void)[] = [];
  readonly #answered = Promise.withResolvers<void>();
  #isAnswered = false;
  /** Why nothing can be read. */
  #refusal: string | undefined;

  constructor({ client, store, cache, systemNamespace, log, clock = systemClock }: InstalledReleasesOptions) {
    this.#reader = new ReleaseReader({ store, cache, clock, log });
    const selection = { namespace: systemNamespace, labelSelector: `owner=${RELEASE_OWNER},type=index`, metadataOnly: true };
    const listed = (): void => this.#setRefusal(undefined);
    const failed = (err: unknown, during: "list" | "watch"): void => {
      if (during === "list" && isForbidden(err)) this.#setRefusal(`list release secrets: ${messageOf(err)}`);
    };
    this.#secrets = new Informer(client, SECRET, { ...selection, transform: withoutBulk, clock, listed, failed }, log);
    this.#secrets.addIndex(BY_EXTENSION, ({ metadata }) => [metadata.labels?.["name"] ?? ""]);
    this.#secrets.onEvent(({ type, object }) => {
      if (type !== "delete") this.#reader.moved(object.metadata);
      else if (object.metadata.uid !== undefined) this.#reader.forget(object.metadata.uid);
      this.#changed();
    });
    this.#reader.onChange(() => this.#changed());
    cache.onChange(() => this.#changed());
  }

  /** Resolves when the first complete list of release Secrets is in, or was refused; not when stopped before. */
  get synced(): Promise<void> {
    return this.#answered.promise;
  }

  /** Calls `handler` whenever `of` or `providedBy` may give something else. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Follows until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#reader.start(signal);
    await this.#secrets.run(signal);
  }

  /**
   * The releases that count of each extension: the last deployed one and every attempt after it, without those that refer to another
   * extension of the same name and those whose record was never complete. A bundle that several of them hold is given once.
   * @returns undefined while some of them are still being read.
   */
  of(extensions: readonly ReleaseOwner[]): (ActiveRelease | UnreadableReleases)[] | undefined {
    const refusal = this.#refusal;
    if (refusal !== undefined) return extensions.map(({ name }) => ({ extension: name, because: refusal }));
    const all = extensions.map((extension) => this.#ofOne(extension));
    return all.some((releases) => releases === undefined) ? undefined : all.flatMap((releases) => releases ?? []);
  }

  /**
   * What the last release of an extension that was applied completely provides.
   * @returns `absent` without one; `unknown` while it is being read, or with the cause when it cannot be.
   */
  providedBy({ name, uid }: ReleaseOwner): InstalledState {
    if (this.#refusal !== undefined) return { kind: "unknown", because: this.#refusal };
    if (!this.#isAnswered) return { kind: "unknown" };
    const deployed = lastDeployed(this.#counting(name, uid));
    if (!deployed) return { kind: "absent" };
    const outcome = this.#reader.outcomeOf(deployed.secret.metadata);
    if (outcome?.kind === "read") return { kind: "installed", bundle: outcome.facts.provided };
    if (outcome?.kind === "unfinished") return { kind: "absent" };
    return outcome === undefined ? { kind: "unknown" } : { kind: "unknown", because: outcome.because };
  }

  #ofOne({ name, uid }: ReleaseOwner): (ActiveRelease | UnreadableReleases)[] | undefined {
    const found = new Map<string, ActiveRelease | UnreadableReleases>();
    let complete = true;
    for (const { secret } of this.#counting(name, uid)) {
      const outcome = this.#reader.outcomeOf(secret.metadata);
      if (outcome === undefined) complete = false;
      else if (outcome.kind === "unreadable") found.set(outcome.because, { extension: name, because: outcome.because });
      else if (outcome.kind === "read") {
        const { bundle, version, properties } = outcome.facts;
        found.set(JSON.stringify([bundle, version, properties]), { extension: name, bundle, version, properties });
      }
    }
    return complete ? [...found.values()] : undefined;
  }

  #counting(name: string, uid: string): (ReleaseIndex & { secret: KubeObject })[] {
    const indexes = this.#secrets.byIndex(BY_EXTENSION, name).map((secret) => ({ ...indexFrom(secret.metadata), secret }));
    return activeReleases(indexes.filter((index) => index.uid === undefined || index.uid === uid));
  }

  #setRefusal(refusal: string | undefined): void {
    const isSame = this.#isAnswered && this.#refusal === refusal;
    this.#refusal = refusal;
    this.#isAnswered = true;
    this.#answered.resolve();
    if (!isSame) this.#changed();
  }

  #changed(): void {
    for (const handler of this.#handlers) handler();
  }
}
