import type { KubeObject } from "../../api/k8s.ts";
import type { Clock } from "../../controller/clock.ts";
import { systemClock } from "../../controller/clock.ts";
import { messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../errors/goQuote.ts";
import { canonicalJson } from "../../fbc/canonical.ts";
import type { ClusterVersion } from "../../gate/clusterVersion.ts";
import { minorOf } from "../../gate/minorVersion.ts";
import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type ObjectState, OptionalObject } from "./optionalObject.ts";

/** The object that says which version an OpenShift cluster has. */
export const CLUSTER_VERSION = { apiVersion: "config.openshift.io/v1", kind: "ClusterVersion", name: "version" } as const;

/** What is read of the version of the cluster, whoever reads it. */
export interface ClusterVersionReader {
  /** As last seen; `unknown` until there is an answer. */
  current(): ClusterVersion;
  /** Calls `handler` after every change of `current`. */
  onChange(handler: () => void): void;
  /** Resolves when `current` is an answer of the API server, or when there was none for some seconds. */
  readonly synced: Promise<void>;
}

/** Options of ClusterVersionSource. */
export interface ClusterVersionSourceOptions {
  client: Pick<Client, "list" | "watch" | "resourceFor">;
  /** Flag --cluster-version, checked by `parseClusterVersion`; counts where no ClusterVersion object says otherwise. */
  byFlag: ClusterVersion | undefined;
  log: Logger;
  clock?: Clock;
}

/** For so long nothing goes on without an answer; then the version is unknown. */
const ANSWER_MS = 10_000;
const MAX_QUOTED = 128;

/** The version of the OpenShift cluster, followed for as long as it runs: `status.desired.version` of ClusterVersion `version`, else the flag. */
export class ClusterVersionSource implements ClusterVersionReader {
  readonly synced: Promise<void>;
  readonly #object: OptionalObject;
  readonly #byFlag: ClusterVersion | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #handlers: (() => void)[] = [];
  readonly #sync = Promise.withResolvers<void>();
  #current: ClusterVersion;

  constructor({ client, byFlag, log, clock = systemClock }: ClusterVersionSourceOptions) {
    this.#byFlag = byFlag;
    this.#clock = clock;
    this.#log = log;
    this.#object = new OptionalObject(client, CLUSTER_VERSION, { log, clock });
    this.#current = clusterVersionFrom(this.#object.state, byFlag);
    this.synced = this.#sync.promise;
    this.#object.onChange(() => this.#look());
  }

  current(): ClusterVersion {
    return this.#current;
  }

  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Follows until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const stopWaiting = this.#clock.after(ANSWER_MS, () => {
      if (this.#object.state.kind === "unknown") this.#log.warn({ reason: this.#text }, "cluster version not known, going on without it");
      this.#sync.resolve();
    });
    await this.#object.run(signal);
    stopWaiting();
    this.#sync.resolve();
  }

  #look(): void {
    const { state } = this.#object;
    const before = canonicalJson(this.#current);
    this.#current = clusterVersionFrom(state, this.#byFlag);
    const changed = canonicalJson(this.#current) !== before;
    if (changed && state.kind !== "unknown") this.#log.info({ clusterVersion: this.#text }, "cluster version");
    if (state.kind !== "unknown") this.#sync.resolve();
    if (changed) for (const handler of this.#handlers) handler();
  }

  get #text(): string {
    const version = this.#current;
    if (version.kind === "known") return version.text;
    return version.kind === "none" ? "none: this is no OpenShift cluster" : `unknown: ${version.because}`;
  }
}

/** What the state of ClusterVersion `version` says. A version that there must be and that cannot be told is `unknown`, never `none`. */
export function clusterVersionFrom(state: ObjectState, byFlag: ClusterVersion | undefined): ClusterVersion {
  const unknown = (because: string): ClusterVersion => ({ kind: "unknown", because });
  if (state.kind === "present") return versionIn(state.object);
  if (state.kind === "notServed") return byFlag ?? { kind: "none" };
  if (state.kind === "absent") return byFlag ?? unknown('ClusterVersion "version" does not exist');
  if (state.kind === "unreadable") return unknown(`ClusterVersion "version" cannot be read: ${state.because}`);
  return unknown(`ClusterVersion "version" has not been read yet${state.because === undefined ? "" : `: ${state.because}`}`);
}

function versionIn(object: KubeObject): ClusterVersion {
  const { desired } = (object["status"] ?? {}) as { desired?: { version?: unknown } };
  const text = desired?.version;
  if (typeof text !== "string" || text === "")
    return { kind: "unknown", because: 'ClusterVersion "version" states no status.desired.version' };
  try {
    return { kind: "known", text, minor: minorOf(text) };
  } catch (err) {
    const because = `status.desired.version ${goQuote(text.slice(0, MAX_QUOTED))} of ClusterVersion "version" is no version: ${messageOf(err)}`;
    return { kind: "unknown", because };
  }
}

/**
 * The version that a flag writes: a semantic version such as "4.18.3", or its major and minor alone.
 * @throws Error when it is neither.
 */
export function parseClusterVersion(text: string): ClusterVersion {
  const short = /^(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text);
  return { kind: "known", text, minor: minorOf(short ? `${text}.0` : text) };
}
