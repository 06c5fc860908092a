import { createHash } from "node:crypto";
import type { EventSink } from "../api/events.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { type Clock, systemClock } from "../async/clock.ts";
import { rejectOnAbort, waitForAbort } from "../async/concurrency.ts";
import {
  CLUSTER_CONFIG_NAMESPACE,
  CLUSTER_IMAGE,
  CLUSTER_IMAGE_ORIGIN,
  getAuthoritiesName,
  MIRROR_KINDS,
  type MirrorKind,
  type RegistryProblem,
} from "../oci/registries/registryObjects.ts";
import {
  type ConfigMapRegistries,
  NO_REGISTRY_SETTINGS,
  type RegistrySettings,
  type RegistrySettingsSource,
  readRegistriesConfigMap,
  toRegistrySettings,
} from "../oci/registries/registrySettings.ts";
import type { Logger } from "../telemetry/log.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { OptionalKind, type OptionalKindClient } from "./optionalKind.ts";
import { type ObjectState, OptionalObject } from "./optionalObject.ts";

/** Options of ClusterRegistries. */
export interface ClusterRegistriesOptions {
  client: OptionalKindClient;
  /** The ConfigMap with registries.conf; undefined: none. */
  configMap: { readonly namespace: string; readonly name: string } | undefined;
  log: Logger;
  clock?: Clock;
}

/** Maximum wait for the first response of the API server. After that, pulls continue with the known settings. */
const ANSWER_MS = 10_000;
/** Time during which changes are collected, because users often create several objects at once. */
const COLLECT_MS = 100;
/** Longest list of problems in a log line. */
const LOGGED_MAX = 20;

/** The ConfigMap that Image `cluster` names, while it is watched. */
interface FollowedConfigMap {
  readonly name: string;
  readonly object: OptionalObject;
  readonly stop: AbortController;
}

/**
 * Follows the objects of a cluster that configure registries: on OpenShift the mirror sets and Image `cluster` with its certificate authorities,
 * elsewhere a ConfigMap. Kinds that the cluster does not serve cost a small request every minute, and need no permission. If objects can no longer be
 * read, keeps the last known ones. If Image `cluster` was never read, every image is rejected, because it may restrict registries.
 */
export class ClusterRegistries implements RegistrySettingsSource {
  readonly #options: ClusterRegistriesOptions;
  readonly #clock: Clock;
  readonly #mirrors: readonly { readonly kind: MirrorKind; readonly objects: OptionalKind }[];
  readonly #image: OptionalObject;
  readonly #configMap: OptionalObject | undefined;
  readonly #settled = Promise.withResolvers<void>();
  readonly #listeners: (() => void)[] = [];
  /** The last known objects, by kind. */
  readonly #known = new Map<string, readonly KubeObject[]>();
  /** Current and ending watches of ConfigMaps with certificate authorities. */
  readonly #followers = new Set<Promise<void>>();
  #authorities: FollowedConfigMap | undefined;
  #lastValid: ConfigMapRegistries | undefined;
  #signal: AbortSignal | undefined;
  #settings: RegistrySettings = NO_REGISTRY_SETTINGS;
  #isOutdated = true;
  #isCollecting = false;
  #digest = "";
  #events: EventSink | undefined;
  /** The last reported problems, as text. */
  #reported: readonly string[] = [];

  constructor(options: ClusterRegistriesOptions) {
    const { client, configMap, log, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#mirrors = MIRROR_KINDS.map((gvk) => ({ kind: gvk.kind, objects: new OptionalKind(client, gvk, { log, clock }) }));
    this.#image = new OptionalObject(client, CLUSTER_IMAGE, { log, clock });
    this.#configMap = configMap && new OptionalObject(client, toConfigMapRef(configMap), { log, clock });
    for (const { objects } of this.#mirrors) objects.onChange(() => this.#change());
    this.#image.onChange(() => this.#change());
    this.#configMap?.onChange(() => this.#change());
  }

  async settings(signal: AbortSignal): Promise<RegistrySettings> {
    await rejectOnAbort(this.#settled.promise, signal);
    return this.#current();
  }

  /** Calls `listener` shortly after each change of the settings. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Records an Event for each current and new problem from now on. Problems are also logged. */
  recordEvents(events: EventSink): void {
    this.#events = events;
    for (const problem of this.#settings.problems) this.#recordEvent(problem);
  }

  /** Watches the objects until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const stopWaiting = this.#clock.after(ANSWER_MS, () => {
      this.#settled.resolve();
      this.#publish();
    });
    await Promise.all([
      ...this.#mirrors.map(({ objects }) => objects.run(signal)),
      this.#image.run(signal),
      ...(this.#configMap ? [this.#configMap.run(signal)] : []),
      waitForAbort(signal),
    ]);
    await Promise.all(this.#followers);
    stopWaiting();
    this.#settled.resolve();
  }

  #change(): void {
    this.#isOutdated = true;
    this.#followAuthorities();
    const all = [...this.#mirrors.map(({ objects }) => objects), this.#image, this.#configMap, this.#authorities?.object];
    if (all.every((watched) => watched?.state.kind !== "unknown")) this.#settled.resolve();
    if (this.#isCollecting) return;
    this.#isCollecting = true;
    this.#clock.after(COLLECT_MS, () => {
      this.#isCollecting = false;
      if (!this.#signal?.aborted) this.#publish();
    });
  }

  /** Watches the ConfigMap that Image `cluster` names, and ends the watch for an earlier one. */
  #followAuthorities(): void {
    const name = getAuthoritiesName(this.#listKnown(CLUSTER_IMAGE.kind, this.#image)[0]);
    if (name === this.#authorities?.name || !this.#signal) return;
    this.#authorities?.stop.abort();
    this.#authorities = undefined;
    if (name === undefined) return;
    const { client, log } = this.#options;
    const object = new OptionalObject(client, toConfigMapRef({ namespace: CLUSTER_CONFIG_NAMESPACE, name }), { log, clock: this.#clock });
    const stop = new AbortController();
    this.#authorities = { name, object, stop };
    object.onChange(() => {
      if (!stop.signal.aborted) this.#change();
    });
    const follower = object.run(AbortSignal.any([this.#signal, stop.signal])).finally(() => this.#followers.delete(follower));
    this.#followers.add(follower);
  }

  /** Tells listeners and reports problems if something changed. */
  #publish(): void {
    const settings = this.#current();
    this.#reportProblems(settings.problems);
    const { entries, authorities, scopes, unreadable, fault } = settings;
    const digest = createHash("sha256")
      .update(JSON.stringify([entries, [...authorities], scopes, unreadable, fault]))
      .digest("hex");
    const isEmpty = entries.length === 0 && authorities.size === 0 && !scopes && unreadable === undefined && fault === undefined;
    const isNew = digest !== this.#digest && (this.#digest !== "" || !isEmpty);
    this.#digest = digest;
    if (!isNew) return;
    this.#options.log.info({ entries: entries.length, authorities: authorities.size }, "registry settings changed");
    for (const listener of this.#listeners) listener();
  }

  #current(): RegistrySettings {
    if (!this.#isOutdated) return this.#settings;
    this.#isOutdated = false;
    const unreadable: RegistryProblem[] = [];
    const read = (kind: string, watched: OptionalKind | OptionalObject, origin: string): readonly KubeObject[] => {
      if (watched.state.kind === "unreadable") unreadable.push({ origin, message: `cannot be read: ${watched.state.reason}` });
      return this.#listKnown(kind, watched);
    };
    const mirrors = Object.fromEntries(this.#mirrors.map(({ kind, objects }) => [kind, read(kind, objects, `${kind} objects`)]));
    const [image] = read(CLUSTER_IMAGE.kind, this.#image, CLUSTER_IMAGE_ORIGIN);
    const authorities = this.#authorities && this.#readAuthorities(this.#authorities, unreadable);
    const [configMap] = this.#configMap ? read("ConfigMap", this.#configMap, this.#configMapOrigin) : [];
    const own = configMap && readRegistriesConfigMap(configMap, this.#lastValid);
    this.#lastValid = own?.fault === undefined ? own : undefined;
    const settings = toRegistrySettings({
      mirrors: mirrors as Record<MirrorKind, readonly KubeObject[]>,
      image,
      authorities,
      configMaps: own ? [own] : [],
    });
    const unknownImage = image ? undefined : describeUnknownImage(this.#image.state);
    this.#settings = {
      ...settings,
      problems: [...settings.problems, ...unreadable],
      ...(unknownImage === undefined ? {} : { unreadable: unknownImage }),
    };
    return this.#settings;
  }

  #readAuthorities({ name, object }: FollowedConfigMap, unreadable: RegistryProblem[]): KubeObject | undefined {
    const origin = `ConfigMap "${CLUSTER_CONFIG_NAMESPACE}/${name}"`;
    const { state } = object;
    const by = `${CLUSTER_IMAGE_ORIGIN} names it in spec.additionalTrustedCA`;
    if (state.kind === "absent") unreadable.push({ origin, message: `it does not exist, but ${by}` });
    if (state.kind === "unreadable") unreadable.push({ origin, message: `cannot be read: ${state.reason}` });
    return this.#listKnown(origin, object)[0];
  }

  /** Returns the objects, or the last known ones if they cannot be read. */
  #listKnown(key: string, { state }: OptionalKind | OptionalObject): readonly KubeObject[] {
    if (state.kind === "served") this.#known.set(key, state.objects);
    else if (state.kind === "present") this.#known.set(key, [state.object]);
    else if (state.kind !== "unreadable") this.#known.delete(key);
    return this.#known.get(key) ?? [];
  }

  get #configMapOrigin(): string {
    const { namespace = "", name = "" } = this.#options.configMap ?? {};
    return `ConfigMap "${namespace}/${name}"`;
  }

  #reportProblems(problems: readonly RegistryProblem[]): void {
    const before = new Set(this.#reported);
    const texts = problems.map(formatProblem);
    this.#reported = texts;
    if (texts.length === before.size && texts.every((text) => before.has(text))) return;
    const { log } = this.#options;
    if (texts.length === 0) log.info("registry settings have no problems");
    else log.warn({ problems: texts.slice(0, LOGGED_MAX), count: texts.length }, "parts of the registry settings have no effect");
    for (const problem of problems) if (!before.has(formatProblem(problem))) this.#recordEvent(problem);
  }

  #recordEvent({ object, message }: RegistryProblem): void {
    if (object) this.#events?.record(object, "Warning", "RegistrySettingsInvalid", message);
  }
}

/** Returns why Image `cluster` is not known; undefined if it is. */
function describeUnknownImage(state: ObjectState): string | undefined {
  if (state.kind !== "unknown" && state.kind !== "unreadable") return undefined;
  const { reason = "the API server has not responded" } = state;
  const grant = state.kind === "unreadable" ? "; grant the servers list and watch, as config/openshift does" : "";
  return `${CLUSTER_IMAGE_ORIGIN} cannot be read, and may block registries: ${truncateExcerpt(reason)}${grant}`;
}

function formatProblem({ origin, message }: RegistryProblem): string {
  return `${origin}: ${message}`;
}

function toConfigMapRef({ namespace, name }: { readonly namespace: string; readonly name: string }): ObjectRef {
  return { apiVersion: "v1", kind: "ConfigMap", namespace, name };
}
