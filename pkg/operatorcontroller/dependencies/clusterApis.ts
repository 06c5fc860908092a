import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { Informer } from "../../controller/informer.ts";
import type { Client } from "../../kube/client.ts";
import { type ServedResource, ServedResources } from "../../kube/servedResources.ts";
import { CRD_KIND } from "../../release/identity.ts";
import { claimantOf, ownershipOf } from "../../release/ownership.ts";
import type { ServedApi } from "../../resolve/solver/problem.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What CrdOwners is built from. */
interface CrdOwnersOptions {
  client: Pick<Client, "list" | "watch">;
  extensions: Pick<Informer<ClusterExtension>, "get">;
  log: Logger;
  clock?: Clock;
}

/** Whose a CustomResourceDefinition is. */
type CrdOwner =
  /** Left behind by an extension that is no more: whoever provides it may take it over. */
  | { readonly kind: "nobody" }
  | { readonly kind: "extension"; readonly name: string }
  /** Such as `Helm release "ns/name"`. */
  | { readonly kind: "other"; readonly who: string };

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;
/** Without the right to list it there is little use in asking often. */
const MAX_BACKOFF_MS = 300_000;
const OWNER_MARKS: ReadonlySet<string> = new Set([LABEL_OWNER_KIND, LABEL_OWNER_NAME, ANNOTATION_OWNER_UID]);
const NOBODY = { name: "", uid: "", installNamespace: "" };

/** A definition with nothing but its owner marks and, as member `claimant`, whom the marks of other installers name. */
type MarkedCrd = KubeObject & { claimant?: string };

/** Whose the CustomResourceDefinitions of the cluster are, by their marks: metadata is watched, and little of it is kept. */
class CrdOwners {
  readonly #crds: Informer<MarkedCrd>;
  readonly #extensions: CrdOwnersOptions["extensions"];
  readonly #answered = Promise.withResolvers<void>();
  readonly #handlers: (() => void)[] = [];
  #revision = 0;

  constructor({ client, extensions, log, clock = systemClock }: CrdOwnersOptions) {
    this.#extensions = extensions;
    const answered = (): void => this.#answered.resolve();
    const options = { metadataOnly: true, transform: marked, maxBackoffMs: MAX_BACKOFF_MS, clock, listed: answered, failed: answered };
    this.#crds = new Informer<MarkedCrd>(client, CRD, options, log);
    this.#crds.onEvent(() => {
      this.#revision++;
      for (const handler of this.#handlers) handler();
    });
  }

  /** Resolves when the definitions have been listed, or could not be; not when stopped before. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Changes whenever a definition does. */
  get revision(): number {
    return this.#revision;
  }

  /** Calls `handler` after every change of a definition. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Whether definitions are known at all. */
  get isKnown(): boolean {
    return this.#crds.hasSynced;
  }

  /** Follows until `signal` aborts; never throws. Call once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#crds.run(signal);
  }

  /** Whose the definition of that name is, such as "things.example.com"; undefined where there is none. */
  of(name: string): CrdOwner | undefined {
    const crd = this.#crds.get(name);
    if (!crd) return undefined;
    const exists = (extension: string, uid: string | undefined): boolean => {
      const found = this.#extensions.get(extension);
      return found !== undefined && (uid === undefined || uid === found.metadata.uid);
    };
    const ownership = ownershipOf(crd, NOBODY, exists);
    if (ownership.kind === "orphan") return { kind: "nobody" };
    if (ownership.kind === "foreign" && ownership.owner !== undefined) return { kind: "extension", name: ownership.owner };
    return { kind: "other", who: crd.claimant ?? `whoever created ${CRD_KIND} "${name}"` };
  }
}

function marked(crd: KubeObject): MarkedCrd {
  const { apiVersion, kind, metadata } = crd;
  const { name, uid, resourceVersion, labels, annotations, ownerReferences } = metadata;
  const ours = (all: Readonly<Record<string, string>> | undefined): Record<string, string> =>
    Object.fromEntries(Object.entries(all ?? {}).filter(([key]) => OWNER_MARKS.has(key)));
  const controller = ownerReferences?.find((reference) => reference.controller);
  const who = controller && controller.kind !== CLUSTER_EXTENSION ? `${controller.kind} "${controller.name}"` : claimantOf(crd)?.who;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      labels: ours(labels),
      annotations: ours(annotations),
      ...(controller ? { ownerReferences: [controller] } : {}),
    },
    ...(who === undefined ? {} : { claimant: who }),
  };
}

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
const RESOURCES_FRESH_MS = 1_000;
/** An API server is not replaced by another version more often than that. */
const VERSION_FRESH_MS = 60_000;
/** One request must not end with the pass of whoever happened to ask first. */
const DISCOVERY_TIMEOUT_MS = 20_000;
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
    this.#resources = new Shared(clock, RESOURCES_FRESH_MS, () => served.read(AbortSignal.timeout(DISCOVERY_TIMEOUT_MS)));
    this.#version = new Shared(clock, VERSION_FRESH_MS, async () => {
      const answer = (await client.raw("GET", "/version", undefined, { signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS) })) as {
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
