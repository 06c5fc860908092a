import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { Informer, withoutBulk } from "../../controller/informer.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { type ActiveRelease, formatMissingRelease, type UnreadableReleases } from "../../openshift/upgradeable.ts";
import type { ProvidedBundle } from "../../release/providedBundle.ts";
import { findLastDeployed, listActiveReleases } from "../../release/record.ts";
import { formatUnreadable, parseReleaseIndex, type ReleaseIndex, type UnreadableRelease } from "../../release/storage/decode.ts";
import { RELEASE_OWNER } from "../../release/storage/encode.ts";
import type { Logger } from "../../telemetry/log.ts";
import { compareText } from "../../text/compare.ts";
import type { ObjectSets } from "./objectSets.ts";
import { type InstalledSummary, type InstalledSummaryCache, ReleaseReader } from "./releaseReader.ts";
import type { ReleaseOwner, ReleaseStore } from "./releaseStore.ts";

/** The options of InstalledReleases. */
export interface InstalledReleasesOptions {
  client: Pick<Client, "list" | "watch">;
  store: Pick<ReleaseStore, "read">;
  /** The cache of the store that the reconciles use. */
  cache: InstalledSummaryCache;
  systemNamespace: string;
  /** The releases that the Go implementation stored in object sets; default: none. */
  objectSets?: Pick<ObjectSets, "list" | "onChange">;
  log: Logger;
  clock?: Clock;
}

/** An extension of which the cluster upgrade gate requests the releases. */
export interface ReleasesQuery extends ReleaseOwner {
  /** The installed bundle in the extension's status. */
  readonly installed?: { readonly name: string; readonly version: string } | undefined;
  /** Whether the extension is being deleted. If so, it may have no releases although its status contains a bundle. */
  readonly isDeleted?: boolean;
}

/** What is known about the installed bundle of an extension. */
export type InstalledState =
  | { readonly kind: "installed"; readonly bundle: ProvidedBundle }
  | { readonly kind: "absent" }
  /** `reason` is absent while the release is being read. */
  | { readonly kind: "unknown"; readonly reason?: string };

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
const BY_EXTENSION = "extension";

/** Tracks the releases of all extensions: watches the metadata of their Secrets, and reads the content of each release once. */
export class InstalledReleases {
  readonly #secrets: Informer;
  readonly #reader: ReleaseReader;
  readonly #systemNamespace: string;
  readonly #objectSets: InstalledReleasesOptions["objectSets"];
  readonly #handlers: ((extension?: string) => void)[] = [];
  readonly #secretHandlers: ((extension: string) => void)[] = [];
  /** Extension names by Secret uid. */
  readonly #extensions = new Map<string, string>();
  /** The Secrets of an extension and the last result of `listActive` for it, until one of its Secrets changes. */
  readonly #kept = new Map<string, { uid: string; found: FoundReleases; result?: CachedResult }>();
  readonly #firstSync = Promise.withResolvers<void>();
  #isSynced = false;
  /** The reason why the Secrets cannot be listed. */
  #refusal: string | undefined;

  constructor({ client, store, cache, systemNamespace, objectSets, log, clock = systemClock }: InstalledReleasesOptions) {
    this.#systemNamespace = systemNamespace;
    this.#objectSets = objectSets;
    objectSets?.onChange(() => this.#changed());
    this.#reader = new ReleaseReader({ store, cache, clock, log });
    const selection = { namespace: systemNamespace, labelSelector: `owner=${RELEASE_OWNER},type=index`, metadataOnly: true };
    const onList = (): void => this.#setRefusal(undefined);
    const onError = (err: unknown, during: "list" | "watch"): void => {
      if (during === "list" && isForbidden(err)) this.#setRefusal(`cannot list release secrets: ${getErrorMessage(err)}`);
    };
    this.#secrets = new Informer(client, SECRET, { ...selection, transform: withoutBulk, clock, onList, onError }, log);
    this.#secrets.addIndex(BY_EXTENSION, ({ metadata }) => [metadata.labels?.["name"] ?? ""]);
    this.#secrets.onEvent(({ type, object, old }) => {
      const { uid, labels } = object.metadata;
      const extension = labels?.["name"] ?? "";
      if (type !== "delete") this.#reader.noteVersion(object.metadata);
      else if (uid !== undefined) this.#reader.forget(uid);
      if (uid !== undefined && type === "delete") this.#extensions.delete(uid);
      else if (uid !== undefined) this.#extensions.set(uid, extension);
      // The label that contains the extension name may have changed.
      this.#changed(old && old.metadata.labels?.["name"] !== extension ? undefined : extension);
      for (const handler of this.#secretHandlers) handler(extension);
    });
    this.#reader.onChange((extension) => this.#changed(extension));
    cache.onChange((secret) => {
      const extension = this.#extensions.get(secret);
      if (extension !== undefined) this.#changed(extension); // otherwise the watch has not reported the Secret yet
    });
  }

  /** Resolves when the release Secrets were completely listed for the first time, or listing them was denied. Never resolves if stopped before. */
  get synced(): Promise<void> {
    return this.#firstSync.promise;
  }

  /**
   * Calls `handler` with the name of an extension when its results of `listActive` and `getInstalled` may have changed; without a name if this
   * applies to all extensions.
   */
  onChange(handler: (extension?: string) => void): void {
    this.#handlers.push(handler);
  }

  /** Calls `handler` with the name of the extension whenever one of its index Secrets is created, changed or deleted. */
  onSecret(handler: (extension: string) => void): void {
    this.#secretHandlers.push(handler);
  }

  /** Watches the Secrets until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#reader.start(signal);
    await this.#secrets.run(signal);
  }

  /**
   * Returns the active releases of each extension: the last deployed release and all later attempts, without incomplete records. Returns a bundle
   * only once if several releases contain it. Includes an entry for each unreadable Secret, and for each extension without releases whose status
   * contains an installed bundle. Includes releases in object sets. While their Secrets exist, releases of an earlier extension with the same name
   * count, too, unless the status contains a different bundle.
   * @returns undefined while some of them are still being read.
   */
  listActive(extensions: readonly ReleasesQuery[]): Releases | undefined {
    const refusal = this.#refusal;
    if (refusal !== undefined) return extensions.map(({ name }) => ({ extension: name, reason: refusal }));
    const all = extensions.map((extension) => this.#listOne(extension));
    return all.some((releases) => releases === undefined) ? undefined : all.flatMap((releases) => releases ?? []);
  }

  /**
   * Returns the bundle of the last deployed release of an extension, with its provided APIs.
   * @returns `absent` if there is no such release; `unknown` while the release is being read, and with a reason if it cannot be read.
   */
  getInstalled({ name, uid }: ReleaseOwner): InstalledState {
    if (this.#refusal !== undefined) return { kind: "unknown", reason: this.#refusal };
    if (!this.#isSynced) return { kind: "unknown" };
    const { own, unreadable } = this.#found({ name, uid });
    const [damaged] = unreadable;
    if (damaged) return { kind: "unknown", reason: formatUnreadable(damaged) };
    const deployed = findLastDeployed(listActiveReleases(own));
    if (!deployed) return { kind: "absent" };
    const outcome = this.#reader.getOutcome(deployed.secret.metadata);
    if (outcome?.kind === "read") return { kind: "installed", bundle: outcome.summary.provided };
    if (outcome?.kind === "unfinished") return { kind: "absent" };
    return outcome === undefined ? { kind: "unknown" } : { kind: "unknown", reason: outcome.reason };
  }

  #listOne(query: ReleasesQuery): Releases | undefined {
    const found = this.#found(query);
    const kept = this.#kept.get(query.name);
    const key = `${query.installed?.name}/${query.installed?.version}/${query.isDeleted === true}`;
    if (kept?.result?.key === key) return kept.result.releases;
    const releases = this.#toReleases(query, found);
    if (kept && releases) kept.result = { key, releases };
    return releases;
  }

  #toReleases({ name: extension, installed, isDeleted }: ReleasesQuery, { own, foreign, unreadable }: FoundReleases): Releases | undefined {
    const active = listActiveReleases(own);
    const counting = new Set([...active, ...listActiveReleases(foreign)]);
    const stillDeployed = [...own, ...foreign].filter((index) => index.status === "deployed" && !counting.has(index));
    const found = new Map<string, ActiveRelease | UnreadableReleases>();
    const addUnreadable = (reason: string): void => void found.set(reason, { extension, reason });
    for (const one of unreadable) addUnreadable(formatUnreadable(one));
    let isComplete = true;
    for (const index of [...counting, ...stillDeployed]) {
      const outcome = this.#reader.getOutcome(index.secret.metadata);
      if (outcome === undefined) isComplete = false;
      else if (outcome.kind === "unreadable") addUnreadable(outcome.reason);
      else if (outcome.kind === "read" && counting.has(index)) {
        const { bundle, version, properties } = outcome.summary;
        if (!active.includes(index) && installed && !matchesInstalled(installed, outcome.summary)) continue;
        found.set(JSON.stringify([bundle, version, properties]), { extension, bundle, version, properties });
      }
    }
    const bundles = new Set([...found.values()].flatMap((one) => ("bundle" in one ? [one.bundle] : [])));
    const inObjectSets = this.#objectSets ? this.#objectSets.list(extension, bundles) : [];
    if (!isComplete || inObjectSets === undefined) return undefined;
    for (const one of inObjectSets)
      found.set("reason" in one ? one.reason : JSON.stringify([one.bundle, one.version, one.properties]), one);
    if (installed && !isDeleted && this.#isSynced && own.length + found.size === 0)
      addUnreadable(formatMissingRelease(installed.name, this.#systemNamespace));
    return [...found.values()];
  }

  /** Returns the metadata of an extension's Secrets. Those in `foreign` refer to another extension with the same name. */
  #found({ name, uid }: ReleaseOwner): FoundReleases {
    const kept = this.#kept.get(name);
    if (kept?.uid === uid) return kept.found;
    const found = this.#find({ name, uid });
    this.#kept.set(name, { uid, found });
    return found;
  }

  #find({ name, uid }: ReleaseOwner): FoundReleases {
    const all = this.#secrets.byIndex(BY_EXTENSION, name).map((secret) => ({ secret, index: parseReleaseIndex(secret.metadata) }));
    const indexes = all.flatMap(({ secret, index }) => (index.kind === "index" ? [{ ...index, secret }] : []));
    const isOwn = (index: ReleaseIndex): boolean => index.uid === undefined || index.uid === uid;
    return {
      own: indexes.filter(isOwn),
      foreign: indexes.filter((index) => !isOwn(index)),
      unreadable: all.flatMap(({ index }) => (index.kind === "unreadable" ? [index] : [])),
    };
  }

  #setRefusal(refusal: string | undefined): void {
    const isSame = this.#isSynced && this.#refusal === refusal;
    this.#refusal = refusal;
    this.#isSynced = true;
    this.#firstSync.resolve();
    if (!isSame) this.#changed();
  }

  /** Drops cached results and calls the handlers. @param extension undefined: all extensions. */
  #changed(extension?: string): void {
    if (extension === undefined) this.#kept.clear();
    else this.#kept.delete(extension);
    for (const handler of this.#handlers) handler(extension);
  }
}

type FoundRelease = ReleaseIndex & { readonly secret: KubeObject };
type Releases = (ActiveRelease | UnreadableReleases)[];

interface FoundReleases {
  readonly own: FoundRelease[];
  readonly foreign: FoundRelease[];
  readonly unreadable: UnreadableRelease[];
}

interface CachedResult {
  readonly key: string;
  readonly releases: Releases;
}

/** Reports whether a release contains the bundle in a status. */
function matchesInstalled({ name, version }: NonNullable<ReleasesQuery["installed"]>, summary: InstalledSummary): boolean {
  return summary.bundle === name && summary.version === version;
}

/** The installed bundle of an extension, as a provider for other extensions. */
export interface InstalledProvider extends ProvidedBundle {
  /** Name of the ClusterExtension. */
  readonly extension: string;
}

/** The options of InstalledBundles. */
export interface InstalledBundlesOptions {
  extensions: Pick<Informer<ClusterExtension>, "list" | "onEvent">;
  releases: Pick<InstalledReleases, "getInstalled" | "onChange">;
  clock?: Clock;
}

/** Several changes within this time cause only one notification, in milliseconds. */
const COALESCE_MS = 200;

/**
 * The installed bundles of all extensions: for each extension, the bundle of its last deployed release. Uses releases that the controller has cached,
 * and sends no requests. After a change, reads only the changed extension again.
 */
export class InstalledBundles {
  readonly #options: InstalledBundlesOptions;
  readonly #clock: Clock;
  readonly #handlers: (() => void)[] = [];
  /** By extension name. The last known bundle is kept while a newer version of its Secret is being read. */
  readonly #known = new Map<string, { uid: string; provider: InstalledProvider }>();
  /** Uids of all extensions, by name. */
  #extensions = new Map<string, string>();
  readonly #unread = new Set<string>();
  readonly #unreadable = new Map<string, string>();
  /** Names of the changed extensions; undefined means all extensions. */
  #outdated: Set<string> | undefined;
  /** The values of `#known`, sorted by name; undefined after a change. */
  #list: readonly InstalledProvider[] | undefined = [];
  #isNotified = true;

  constructor(options: InstalledBundlesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    options.releases.onChange((extension) => this.#outdate(extension));
    options.extensions.onEvent(({ type, object: { metadata }, old }) => {
      if (type === "update" && old?.metadata.uid === metadata.uid) return;
      if (type === "delete") this.#extensions.delete(metadata.name);
      else this.#extensions.set(metadata.name, metadata.uid ?? "");
      this.#outdate(metadata.name);
    });
  }

  /** Calls `handler` shortly after the results of the other methods change, and only once for changes at the same time. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Returns one entry for each extension with an installed bundle, by name of the extension. The list is shared; do not modify it. */
  list(): readonly InstalledProvider[] {
    this.#refresh();
    return (this.#list ??= [...this.#known].sort(([a], [b]) => compareText(a, b)).map(([, { provider }]) => provider));
  }

  /** Returns the names of extensions whose releases are being read for the first time. `list` does not contain their bundles yet. */
  unread(): readonly string[] {
    this.#refresh();
    return [...this.#unread].sort();
  }

  /** Returns the reason why releases cannot be read, by name of the extension; `list` contains their last known bundles. */
  unreadable(): ReadonlyMap<string, string> {
    this.#refresh();
    return this.#unreadable;
  }

  #outdate(extension: string | undefined): void {
    if (extension === undefined) this.#outdated = undefined;
    else this.#outdated?.add(extension);
    if (!this.#isNotified) return;
    this.#isNotified = false;
    const before = this.#list;
    const [unread, unreadable] = [this.#unread.size, this.#unreadable.size];
    this.#clock.after(COALESCE_MS, () => {
      this.#isNotified = true;
      if (this.list() === before && unread === this.#unread.size && unreadable === this.#unreadable.size) return;
      for (const handler of this.#handlers) handler();
    });
  }

  /** Reads the changed extensions again. */
  #refresh(): void {
    const outdated = this.#outdated;
    if (outdated?.size === 0) return;
    this.#outdated = new Set();
    if (outdated === undefined) {
      const all = this.#options.extensions.list();
      this.#extensions = new Map(all.map(({ metadata: { name, uid = "" } }) => [name, uid]));
    }
    for (const name of outdated ??
      new Set([...this.#known.keys(), ...this.#unread, ...this.#unreadable.keys(), ...this.#extensions.keys()]))
      this.#refreshOne(name);
  }

  #refreshOne(name: string): void {
    const uid = this.#extensions.get(name);
    this.#unread.delete(name);
    this.#unreadable.delete(name);
    const known = this.#known.get(name);
    const last = known?.uid === uid ? known?.provider : undefined;
    const state = uid === undefined ? undefined : this.#options.releases.getInstalled({ name, uid });
    let provider: InstalledProvider | undefined;
    if (state?.kind === "installed") provider = last && isSameBundle(last, state.bundle) ? last : { ...state.bundle, extension: name };
    else if (state?.kind === "unknown") {
      provider = last;
      if (state.reason !== undefined) this.#unreadable.set(name, state.reason);
      else if (!last) this.#unread.add(name);
    }
    if (provider === known?.provider) return;
    this.#list = undefined;
    if (provider && uid !== undefined) this.#known.set(name, { uid, provider });
    else this.#known.delete(name);
  }
}

/** Reports whether `known` equals `bundle`: a release is written several times with the same content. */
function isSameBundle(known: InstalledProvider, bundle: ProvidedBundle): boolean {
  return (
    known.properties === bundle.properties || encodeCanonicalJson(known) === encodeCanonicalJson({ ...bundle, extension: known.extension })
  );
}
