import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import { uninstallOrder } from "../release/order.ts";
import { ownershipOf } from "../release/ownership.ts";
import type { ReleaseRecord } from "../release/record.ts";
import { Applier, identityOf, type ObjectAction } from "./applier.ts";
import { describeRef } from "./kinds.ts";

/** What one pass of an uninstall came to; `waitingFor` is empty once nothing is left to wait for. */
export interface UninstallProgress {
  actions: ObjectAction[];
  waitingFor: string[];
  /** CustomResourceDefinitions that stay, each with the reason. */
  kept: string[];
}

type CrdPolicy = NonNullable<NonNullable<ClusterExtension["spec"]["uninstall"]>["crdPolicy"]>;

/** Deleted first and waited for, so that no webhook of a stopped operator blocks the rest. */
const WEBHOOKS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
const CRD = "CustomResourceDefinition";
const PAGE = 500;

/**
 * Takes an extension's objects off the cluster as its ServiceAccount, in stages; each pass goes as far as it can without waiting:
 * webhook configurations; with policy Delete the custom resources, while the operator still runs; everything else; the CRDs.
 * An object that is no longer the extension's is left alone.
 */
export class Uninstaller {
  readonly #client: Client;
  readonly #applier: Applier;
  readonly #extension: Readonly<ClusterExtension>;

  constructor(client: Client, applier: Applier, extension: Readonly<ClusterExtension>) {
    this.#client = client;
    this.#applier = applier;
    this.#extension = extension;
  }

  /** @param history every release that may have left objects behind. */
  async run(history: readonly ReleaseRecord[]): Promise<UninstallProgress> {
    const progress: UninstallProgress = { actions: [], waitingFor: [], kept: [] };
    const ours = await this.#stillOurs(history);
    const crds = ours.filter((object) => object.kind === CRD);
    const policy: CrdPolicy = this.#extension.spec.uninstall?.crdPolicy ?? "DeleteIfUnused";
    const stages: (() => Promise<void>)[] = [
      () => this.#delete(ours.filter((object) => WEBHOOKS.has(object.kind)), progress),
      () => (policy === "Delete" ? this.#deleteCustomResources(crds, progress) : Promise.resolve()),
      () => this.#delete(ours.filter((object) => object.kind !== CRD && !WEBHOOKS.has(object.kind)), progress),
      () => this.#deleteCrds(crds, policy, progress),
    ];
    for (const stage of stages) {
      await stage();
      if (progress.waitingFor.length > 0) break;
    }
    return progress;
  }

  async #stillOurs(history: readonly ReleaseRecord[]): Promise<KubeObject[]> {
    const recorded = new Map<string, KubeObject>();
    for (const release of history) for (const object of release.objects) recorded.set(identityOf(refOf(object)), object);
    const refs: ObjectRef[] = [];
    for (const object of recorded.values()) if (await this.#isServed(object)) refs.push(refOf(object));
    const live = await this.#applier.read(refs);
    const { name, uid } = this.#extension.metadata;
    const owner = { name, uid: uid ?? "", installNamespace: this.#extension.spec.namespace };
    const found = [...live.values()].filter((object) => ownershipOf(object, owner).kind === "ours");
    return uninstallOrder(found);
  }

  async #isServed(object: KubeObject): Promise<boolean> {
    try {
      await this.#client.resourceFor(object);
      return true;
    } catch (err) {
      if (err instanceof KindNotServed) return false;
      throw err;
    }
  }

  async #delete(objects: readonly KubeObject[], progress: UninstallProgress): Promise<void> {
    const going = objects.filter((object) => object.metadata.deletionTimestamp !== undefined);
    progress.actions.push(...(await this.#applier.remove(objects.filter((object) => object.metadata.deletionTimestamp === undefined))));
    const left = await this.#applier.read(objects.map(refOf));
    progress.waitingFor.push(...[...left.values()].map((object) => describeRef(refOf(object))));
    if (left.size === 0) for (const object of going) progress.actions.push({ verb: "deleted", ref: refOf(object) });
  }

  async #deleteCustomResources(crds: readonly KubeObject[], progress: UninstallProgress): Promise<void> {
    for (const crd of crds) {
      const kind = servedKindOf(crd);
      if (!kind) continue;
      const { items } = await this.#client.list(kind, { limit: PAGE });
      const objects = items.map((item) => ({ ...item, ...kind }));
      await this.#delete(objects, progress);
    }
  }

  async #deleteCrds(crds: readonly KubeObject[], policy: CrdPolicy, progress: UninstallProgress): Promise<void> {
    const going: KubeObject[] = [];
    for (const crd of crds) {
      const reason = policy === "Retain" ? "spec.uninstall.crdPolicy is Retain" : policy === "Delete" ? undefined : await this.#inUse(crd);
      if (reason === undefined) going.push(crd);
      else progress.kept.push(`${CRD} ${crd.metadata.name}: ${reason}`);
    }
    await this.#delete(going, progress);
  }

  /** Why a CRD counts as in use, or undefined when no custom resource of it exists; what cannot be seen counts as in use. */
  async #inUse(crd: KubeObject): Promise<string | undefined> {
    const kind = servedKindOf(crd);
    if (!kind || crd.metadata.deletionTimestamp !== undefined) return undefined;
    try {
      const { items } = await this.#client.list(kind, { limit: 1 });
      return items.length > 0 ? "custom resources of it exist" : undefined;
    } catch (err) {
      if (err instanceof KindNotServed) return undefined;
      if (isForbidden(err)) return `the service account may not list its custom resources (${messageOf(err)})`;
      throw err;
    }
  }
}

function servedKindOf(crd: KubeObject): { apiVersion: string; kind: string } | undefined {
  const spec = crd["spec"] as { group?: string; names?: { kind?: string }; versions?: { name: string; served?: boolean }[] } | undefined;
  const version = spec?.versions?.find((candidate) => candidate.served)?.name;
  if (!spec?.group || !spec.names?.kind || !version) return undefined;
  return { apiVersion: `${spec.group}/${version}`, kind: spec.names.kind };
}
