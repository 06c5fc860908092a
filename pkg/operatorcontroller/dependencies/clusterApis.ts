import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { Informer } from "../../controller/informer.ts";
import type { Client } from "../../kube/client.ts";
import { readServerInfo, type ServedResource, ServedResources } from "../../kube/servedResources.ts";
import { CRD_KIND } from "../../release/identity.ts";
import { determineOwnership, findClaimant } from "../../release/ownership.ts";
import type { ServedApi } from "../../resolve/solver/problem.ts";
import type { Logger } from "../../telemetry/log.ts";

/** Dependencies of CrdOwners. */
interface CrdOwnersOptions {
  client: Pick<Client, "list" | "watch">;
  extensions: Pick<Informer<ClusterExtension>, "get">;
  log: Logger;
  clock?: Clock;
}

/** Owner of a CustomResourceDefinition. */
type CrdOwner =
  /** Left by an extension that no longer exists; any extension may adopt it. */
  | { readonly kind: "none" }
  | { readonly kind: "extension"; readonly name: string }
  /** Another owner, such as `Helm release "ns/name"`. */
  | { readonly kind: "other"; readonly who: string };

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;
/** Maximum delay between retries of the list, which usually fails because the permission is missing. */
const MAX_BACKOFF_MS = 300_000;
const OWNER_MARKS: ReadonlySet<string> = new Set([LABEL_OWNER_KIND, LABEL_OWNER_NAME, ANNOTATION_OWNER_UID]);
const NO_OWNER = { name: "", uid: "", installNamespace: "" };

/**
 * The metadata of a definition that identifies its owner. `claimant` is the owner according to marks of other
 * installers.
 */
type MarkedCrd = KubeObject & { claimant?: string };

/**
 * The owners of the cluster's CustomResourceDefinitions, by their marks. Watches metadata, and stores only what it
 * needs.
 */
class CrdOwners {
  readonly #crds: Informer<MarkedCrd>;
  readonly #extensions: CrdOwnersOptions["extensions"];
  readonly #answered = Promise.withResolvers<void>();
  readonly #handlers: (() => void)[] = [];
  #revision = 0;

  constructor({ client, extensions, log, clock = systemClock }: CrdOwnersOptions) {
    this.#extensions = extensions;
    const answered = (): void => this.#answered.resolve();
    const options = {
      metadataOnly: true,
      transform: toMarkedCrd,
      maxBackoffMs: MAX_BACKOFF_MS,
      clock,
      onList: answered,
      onError: answered,
    };
    this.#crds = new Informer<MarkedCrd>(client, CRD, options, log);
    this.#crds.onEvent(() => {
      this.#revision++;
      for (const handler of this.#handlers) handler();
    });
  }

  /** Resolves after the first list of definitions, successful or not. Does not resolve if stopped before. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Changes with every change of a definition. */
  get revision(): number {
    return this.#revision;
  }

  /** Calls `handler` after every change of a definition. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Whether the definitions are known. */
  get isKnown(): boolean {
    return this.#crds.hasSynced;
  }

  /** Watches until `signal` aborts; never throws. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#crds.run(signal);
  }

  /**
   * Returns the owner of the definition with this name, such as "things.example.com"; undefined if it does not exist.
   */
  of(name: string): CrdOwner | undefined {
    const crd = this.#crds.get(name);
    if (!crd) return undefined;
    const exists = (extension: string, uid: string | undefined): boolean => {
      const found = this.#extensions.get(extension);
      return found !== undefined && (uid === undefined || uid === found.metadata.uid);
    };
    const ownership = determineOwnership(crd, NO_OWNER, exists);
    if (ownership.kind === "orphan") return { kind: "none" };
    if (ownership.kind === "foreign" && ownership.owner !== undefined) return { kind: "extension", name: ownership.owner };
    return { kind: "other", who: crd.claimant ?? `the creator of ${CRD_KIND} "${name}"` };
  }
}

function toMarkedCrd(crd: KubeObject): MarkedCrd {
  const { apiVersion, kind, metadata } = crd;
  const { name, uid, resourceVersion, labels, annotations, ownerReferences } = metadata;
  const ours = (all: Readonly<Record<string, string>> | undefined): Record<string, string> =>
    Object.fromEntries(Object.entries(all ?? {}).filter(([key]) => OWNER_MARKS.has(key)));
  const controller = ownerReferences?.find((reference) => reference.controller);
  const who = controller && controller.kind !== CLUSTER_EXTENSION ? `${controller.kind} "${controller.name}"` : findClaimant(crd)?.who;
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
  /** Name of the ClusterExtension that owns it, also part of `owner`. */
  readonly extension?: string;
}

/** Dependencies of ClusterApis. */
export interface ClusterApisOptions {
  client: Pick<Client, "request" | "raw" | "list" | "watch">;
  extensions: Pick<Informer<ClusterExtension>, "get" | "onEvent">;
  log: Logger;
  clock?: Clock;
}

/** Time during which all callers share a response. */
const RESOURCES_FRESH_MS = 1_000;
/** API servers are not upgraded more often. */
const VERSION_FRESH_MS = 60_000;
/** Timeout of a shared request, which must not end with the reconcile of its first caller. */
const DISCOVERY_TIMEOUT_MS = 20_000;
const API_SERVER = "the API server";

/** A shared value: callers get the last value while it is fresh, or the one being read. */
class SharedValue<T> {
  readonly #read: () => Promise<T>;
  readonly #freshMs: number;
  readonly #clock: Clock;
  #last: { value: T; at: number } | undefined;
  #reading: Promise<T> | undefined;

  constructor(clock: Clock, freshMs: number, read: () => Promise<T>) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#read = read;
  }

  get(): Promise<T> {
    const last = this.#last;
    if (last && this.#clock.now() - last.at < this.#freshMs) return Promise.resolve(last.value);
    this.#reading ??= this.#read()
      .then((value) => {
        this.#last = { value, at: this.#clock.now() };
        return value;
      })
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }
}

/**
 * The APIs and the version of the API server. A value is read on demand and shared by all callers for a second. Without
 * changes that takes two requests of a few bytes.
 */
export class ClusterApis {
  readonly #owners: CrdOwners;
  readonly #resources: SharedValue<readonly ServedResource[]>;
  readonly #version: SharedValue<string>;
  #extensionsRevision = 0;
  #computed: { from: readonly ServedResource[]; revision: string; apis: readonly ClusterApi[] } | undefined;

  constructor({ client, extensions, log, clock = systemClock }: ClusterApisOptions) {
    const served = new ServedResources(client);
    this.#owners = new CrdOwners({ client, extensions, log, clock });
    this.#resources = new SharedValue(clock, RESOURCES_FRESH_MS, () => served.read(AbortSignal.timeout(DISCOVERY_TIMEOUT_MS)));
    this.#version = new SharedValue(
      clock,
      VERSION_FRESH_MS,
      async () => (await readServerInfo(client, AbortSignal.timeout(DISCOVERY_TIMEOUT_MS))).version,
    );
    extensions.onEvent(({ type, object, old }) => {
      if (type !== "update" || old?.metadata.uid !== object.metadata.uid) this.#extensionsRevision++;
    });
  }

  /**
   * Calls `handler` after every change of a CustomResourceDefinition, if they can be watched. The served APIs change
   * shortly afterwards.
   */
  onChange(handler: () => void): void {
    this.#owners.onChange(handler);
  }

  /** Watches the owners of definitions until `signal` aborts; never throws. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#owners.run(signal);
  }

  /**
   * Returns every served API in the server's order, at most a second old. Read-only; the same list if nothing has
   * changed. The API of a CustomResourceDefinition has the owner that its marks name; none if its extension no longer
   * exists, or if definitions cannot be read. All other APIs belong to the API server.
   * @throws KubeError if the server denies the request; undici's errors if it does not respond.
   */
  async served(): Promise<readonly ClusterApi[]> {
    const [from] = await Promise.all([this.#resources.get(), this.#owners.answered]);
    const revision = `${this.#owners.revision}/${this.#extensionsRevision}`;
    if (this.#computed?.from !== from || this.#computed.revision !== revision)
      this.#computed = { from, revision, apis: from.map((resource) => this.#apiFrom(resource)) };
    return this.#computed.apis;
  }

  /** Returns the served resources without owners, and without waiting for them. */
  resources(): Promise<readonly ServedResource[]> {
    return this.#resources.get();
  }

  /** Returns the version of the API server, such as "v1.34.1", at most a minute old. @throws as `served`. */
  version(): Promise<string> {
    return this.#version.get();
  }

  #apiFrom({ group, version, kind, resource }: ServedResource): ClusterApi {
    const owner = this.#ownerOf(group, resource);
    const extension = owner?.kind === "extension" ? { extension: owner.name } : {};
    return { gvk: { group, version, kind }, resource, owner: formatOwner(owner), ...extension };
  }

  #ownerOf(group: string, resource: string): CrdOwner | undefined {
    const builtIn: CrdOwner = { kind: "other", who: API_SERVER };
    if (this.#owners.isKnown) return this.#owners.of(`${resource}.${group}`) ?? builtIn;
    return group.includes(".") && !group.endsWith(".k8s.io") ? undefined : builtIn;
  }
}

function formatOwner(owner: CrdOwner | undefined): string | undefined {
  if (owner?.kind === "extension") return `${CLUSTER_EXTENSION} "${owner.name}"`;
  return owner?.kind === "other" ? owner.who : undefined;
}
