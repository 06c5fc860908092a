import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { CLUSTER_EXTENSION } from "../../api/constants.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import type { Informer } from "../../controller/informer.ts";
import type { Client } from "../../kube/client.ts";
import { type ServedResource, ServedResources } from "../../kube/servedResources.ts";
import type { ServedApi } from "../../resolve/solver/problem.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type CrdOwner, CrdOwners } from "./crdOwners.ts";

/** An API that the cluster serves. */
export interface ClusterApi extends ServedApi {
  /** Plural name in paths. */
  readonly resource: string;
  /** Name of the ClusterExtension that owns it; `owner` says so too. */
  readonly extension?: string;
}

/** What ClusterApis is built from. */
export interface ClusterApisOptions {
  client: Pick<Client, "request" | "raw" | "list" | "watch">;
  extensions: Pick<Informer<ClusterExtension>, "get" | "onEvent">;
  log: Logger;
  clock?: Clock;
}

/** For so long an answer serves everybody who asks. */
const FRESH_MS = 1_000;
/** An API server is not replaced by another version more often than that. */
const VERSION_FRESH_MS = 60_000;
/** One request must not end with the pass of whoever happened to ask first. */
const TIMEOUT_MS = 20_000;
const API_SERVER = "the API server";

/** Answers of one kind: whoever asks while one is fresh, or on its way, gets that. */
class Shared<T> {
  readonly #read: () => Promise<T>;
  readonly #freshMs: number;
  readonly #clock: Clock;
  #last: { value: T; at: number } | undefined;
  #coming: Promise<T> | undefined;

  constructor(clock: Clock, freshMs: number, read: () => Promise<T>) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#read = read;
  }

  get(): Promise<T> {
    const last = this.#last;
    if (last && this.#clock.now() - last.at < this.#freshMs) return Promise.resolve(last.value);
    this.#coming ??= this.#read()
      .then((value) => {
        this.#last = { value, at: this.#clock.now() };
        return value;
      })
      .finally(() => (this.#coming = undefined));
    return this.#coming;
  }
}

/**
 * What the API server serves and which version it has, read when somebody asks and then shared by all who ask within a second. While nothing
 * changes that is two requests of a few bytes.
 */
export class ClusterApis {
  readonly #owners: CrdOwners;
  readonly #resources: Shared<readonly ServedResource[]>;
  readonly #version: Shared<string>;
  #extensionsRevision = 0;
  #made: { from: readonly ServedResource[]; revision: string; apis: readonly ClusterApi[] } | undefined;

  constructor({ client, extensions, log, clock = systemClock }: ClusterApisOptions) {
    const served = new ServedResources(client);
    this.#owners = new CrdOwners({ client, extensions, log, clock });
    this.#resources = new Shared(clock, FRESH_MS, () => served.read(AbortSignal.timeout(TIMEOUT_MS)));
    this.#version = new Shared(clock, VERSION_FRESH_MS, async () => {
      const answer = (await client.raw("GET", "/version", undefined, { signal: AbortSignal.timeout(TIMEOUT_MS) })) as {
        gitVersion?: string;
      };
      return answer.gitVersion ?? "";
    });
    extensions.onEvent(({ type, object, old }) => {
      if (type !== "update" || old?.metadata.uid !== object.metadata.uid) this.#extensionsRevision++;
    });
  }

  /** Calls `handler` after every change of a CustomResourceDefinition, as far as they may be watched. What is served changes soon after that. */
  onChange(handler: () => void): void {
    this.#owners.onChange(handler);
  }

  /** Follows whose the definitions of the cluster are until `signal` aborts; never throws. Call once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#owners.run(signal);
  }

  /**
   * Every API that is served, at most a second ago, in the server's order. Read-only; the same list while nothing has changed.
   * One that a CustomResourceDefinition defines is owned by whoever its marks name, and by nobody where an extension that is no more left it
   * behind, or where definitions may not be read. Every other one is the API server's.
   * @throws KubeError when the server refuses; undici's errors when it does not answer.
   */
  async served(): Promise<readonly ClusterApi[]> {
    const [from] = await Promise.all([this.#resources.get(), this.#owners.answered]);
    const revision = `${this.#owners.revision}/${this.#extensionsRevision}`;
    if (this.#made?.from !== from || this.#made.revision !== revision)
      this.#made = { from, revision, apis: from.map((resource) => this.#apiFrom(resource)) };
    return this.#made.apis;
  }

  /** The same without owners, and without waiting for them. */
  resources(): Promise<readonly ServedResource[]> {
    return this.#resources.get();
  }

  /** The version of the API server, such as "v1.34.1"; at most a minute old. @throws as `served`. */
  version(): Promise<string> {
    return this.#version.get();
  }

  #apiFrom({ group, version, kind, resource }: ServedResource): ClusterApi {
    const owner = this.#ownerOf(group, resource);
    const extension = owner?.kind === "extension" ? { extension: owner.name } : {};
    return { gvk: { group, version, kind }, resource, owner: textOf(owner), ...extension };
  }

  #ownerOf(group: string, resource: string): CrdOwner | undefined {
    const builtIn: CrdOwner = { kind: "other", who: API_SERVER };
    if (this.#owners.isKnown) return this.#owners.of(`${resource}.${group}`) ?? builtIn;
    return group.includes(".") && !group.endsWith(".k8s.io") ? undefined : builtIn;
  }
}

function textOf(owner: CrdOwner | undefined): string | undefined {
  if (owner?.kind === "extension") return `${CLUSTER_EXTENSION} "${owner.name}"`;
  return owner?.kind === "other" ? owner.who : undefined;
}
