import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { Informer } from "../../controller/informer.ts";
import type { Client } from "../../kube/client.ts";
import { CRD_KIND } from "../../release/identity.ts";
import { claimantOf, ownershipOf } from "../../release/ownership.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What CrdOwners is built from. */
export interface CrdOwnersOptions {
  client: Pick<Client, "list" | "watch">;
  extensions: Pick<Informer<ClusterExtension>, "get">;
  log: Logger;
  clock?: Clock;
}

/** Whose a CustomResourceDefinition is. */
export type CrdOwner =
  /** Left behind by an extension that is no more: whoever provides it may take it over. */
  | { readonly kind: "nobody" }
  | { readonly kind: "extension"; readonly name: string }
  /** Such as `Helm release "ns/name"`. */
  | { readonly kind: "other"; readonly who: string };

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;
/** Without the right to list it there is little use in asking often. */
const MAX_BACKOFF_MS = 300_000;
const MARKS: ReadonlySet<string> = new Set([LABEL_OWNER_KIND, LABEL_OWNER_NAME, ANNOTATION_OWNER_UID]);
const NOBODY = { name: "", uid: "", installNamespace: "" };

/** A definition with nothing but its owner marks and, as member `claimant`, whom the marks of other installers name. */
type MarkedCrd = KubeObject & { claimant?: string };

/** Whose the CustomResourceDefinitions of the cluster are, by their marks: metadata is watched, and little of it is kept. */
export class CrdOwners {
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
    Object.fromEntries(Object.entries(all ?? {}).filter(([key]) => MARKS.has(key)));
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
