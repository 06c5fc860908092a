import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { describeObject, isCrd, objectKey } from "../release/identity.ts";
import { uninstallOrder } from "../release/order.ts";
import { ownershipOf } from "../release/ownership.ts";
import type { CrdPolicy } from "../release/plan.ts";
import type { ReleaseRecord } from "../release/record.ts";
import type { Applier, ObjectAction } from "./applier.ts";
import { servedKindOf, splitCrds } from "./crdUse.ts";

/** What one pass of an uninstall came to; `waitingFor` is empty once nothing is left to wait for. */
export interface UninstallProgress {
  actions: ObjectAction[];
  waitingFor: string[];
  /** CustomResourceDefinitions that stay, each with the reason. */
  kept: string[];
}

/** Deleted first and waited for, so that no webhook of a stopped operator blocks the rest. */
const WEBHOOKS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
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
    const crds = ours.filter((object) => isCrd(object));
    const policy: CrdPolicy = this.#extension.spec.uninstall?.crdPolicy ?? "DeleteIfUnused";
    const stages: (() => Promise<void>)[] = [
      () =>
        this.#delete(
          ours.filter((object) => WEBHOOKS.has(object.kind)),
          progress,
        ),
      () => (policy === "Delete" ? this.#deleteCustomResources(crds, progress) : Promise.resolve()),
      () =>
        this.#delete(
          ours.filter((object) => !isCrd(object) && !WEBHOOKS.has(object.kind)),
          progress,
        ),
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
    for (const release of history) for (const object of release.objects) recorded.set(objectKey(object), object);
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
    progress.waitingFor.push(...[...left.values()].map((object) => describeObject(object)));
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
    const { going, kept } = await splitCrds(this.#client, crds, policy);
    progress.kept.push(...kept);
    await this.#delete(going, progress);
  }
}
