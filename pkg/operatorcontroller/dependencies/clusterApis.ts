import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { Informer } from "../../controller/informer.ts";
import type { Client } from "../../kube/client.ts";
import { readServerInfo, type ServedResource, ServedResources } from "../../kube/servedResources.ts";
import { CRD, CRD_KIND } from "../../release/identity.ts";
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

/** The owner of a CustomResourceDefinition. */
type CrdOwner =
  /** The extension that owned the CRD no longer exists. Any extension may adopt the CRD. */
  | { readonly kind: "none" }
  | { readonly kind: "extension"; readonly name: string }
  /** Another owner, such as `Helm release "ns/name"`. */
  | { readonly kind: "other"; readonly who: string };

/** Maximum delay between attempts to list CRDs. Listing usually fails because the permission is missing. */
const MAX_BACKOFF_MS = 300_000;
const OWNER_MARKS: ReadonlySet<string> = new Set([LABEL_OWNER_KIND, LABEL_OWNER_NAME, ANNOTATION_OWNER_UID]);
const NO_OWNER = { name: "", uid: "", installNamespace: "" };

/**
 * The metadata of a CRD that identifies its owner. `claimant` is the owner according to labels and annotations of other
 * installers.
 */
type MarkedCrd = KubeObject & { claimant?: string };

/**
 * Determines the owners of the cluster's CustomResourceDefinitions from their labels and annotations. Watches metadata,
 * and stores only the necessary part.
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

  /** Resolves after CRDs were listed for the first time, successfully or not. Does not resolve if stopped before. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Changes whenever a CRD changes. */
  get revision(): number {
    return this.#revision;
  }

  /** Calls `handler` whenever a CRD changes. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Whether the CRDs are known. */
  get isKnown(): boolean {
    return this.#crds.hasSynced;
  }

  /** Watches until `signal` aborts; never throws. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#crds.run(signal);
  }

  /** Returns the owner of the CRD with this name, such as "things.example.com"; undefined if the CRD does not exist. */
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
  /** Plural resource name, as used in paths. */
  readonly resource: string;
  /** Name of the ClusterExtension that owns the API. `owner` contains this name, too. */
  readonly extension?: string;
}

/** Dependencies of ClusterApis. */
export interface ClusterApisOptions {
  client: Pick<Client, "request" | "list" | "watch">;
  extensions: Pick<Informer<ClusterExtension>, "get" | "onEvent">;
  log: Logger;
  clock?: Clock;
}

/** How long all callers share a response, in milliseconds. */
const RESOURCES_FRESH_MS = 1_000;
/** How long the version of the API server is cached, in milliseconds: API servers are not upgraded more often. */
const VERSION_FRESH_MS = 60_000;
/**
 * Timeout of a shared request in milliseconds. The request must not end when the reconcile of its first caller ends.
 */
const DISCOVERY_TIMEOUT_MS = 20_000;
const API_SERVER = "the API server";

/** A shared value: callers get the last value while it is fresh, otherwise the result of the read in progress. */
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
 * The APIs and the version of the API server. A value is read on demand and shared by all callers for a second. If
 * nothing has changed, reading takes two requests of a few bytes.
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
   * Calls `handler` whenever a CustomResourceDefinition changes, if CRDs can be watched. The served APIs change shortly
   * afterwards.
   */
  onChange(handler: () => void): void {
    this.#owners.onChange(handler);
  }

  /** Watches the owners of CRDs until `signal` aborts; never throws. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#owners.run(signal);
  }

  /**
   * Returns every served API in the server's order, at most a second old. Read-only. Returns the same list if nothing
   * has changed. The API of a CustomResourceDefinition has the owner in the CRD's labels and annotations; it has no
   * owner if the extension no longer exists or CRDs cannot be read. All other APIs belong to the API server.
   * @throws KubeError if the server denies the request; undici's errors if it does not respond.
   */
  async served(): Promise<readonly ClusterApi[]> {
    const [from] = await Promise.all([this.#resources.get(), this.#owners.answered]);
    const revision = `${this.#owners.revision}/${this.#extensionsRevision}`;
    if (this.#computed?.from !== from || this.#computed.revision !== revision)
      this.#computed = { from, revision, apis: from.map((resource) => this.#apiFrom(resource)) };
    return this.#computed.apis;
  }

  /** Returns the served resources without their owners, and does not wait until owners are known. */
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
