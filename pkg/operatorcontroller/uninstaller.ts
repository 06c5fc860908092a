import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ANNOTATION_DROP_CONVERSION, Reason } from "../api/constants.ts";
import { type KubeObject, refOf } from "../api/k8s.ts";
import { isApiService } from "../bundle/apiServices.ts";
import { RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { describeObject, isCrd, objectKey } from "../release/identity.ts";
import { ownershipOf } from "../release/ownership.ts";
import { crdPolicyOf, uninstallOrder } from "../release/plan.ts";
import type { LeftObject } from "../release/record.ts";
import type { Applier } from "./apply/applier.ts";
import { otherServer } from "./apply/crdServing.ts";
import { type CustomResourceKind, servedKindsOf } from "./apply/crdUse.ts";
import { isKept, keptText, recheckKept } from "./apply/keptCrds.ts";
import { dropConversions } from "./apply/lostConversions.ts";
import { removeCrds } from "./apply/removeCrds.ts";
import { takeOver } from "./apply/takeOver.ts";

/** What one pass of an uninstall came to; what was deleted is in the applier's actions. */
export interface UninstallProgress {
  /** Such as "Deployment ns/x"; empty once nothing is left to wait for. */
  waitingFor: string[];
  /** The definitions that stay, each with the reason, for Events. */
  kept: { readonly text: string }[];
}

type Stage = () => Promise<string[]>;

/** Deleted first and waited for, so that no webhook of a stopped operator blocks the rest. */
const WEBHOOKS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
/** Waited for together with their Pods, so that no operator works on without its rights. */
const WORKLOADS: ReadonlySet<string> = new Set([
  "CronJob",
  "DaemonSet",
  "Deployment",
  "Job",
  "Pod",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
]);

/**
 * Takes an extension's objects off the cluster as its ServiceAccount, in stages; each pass goes as far as it can without waiting:
 * conversion webhooks of the CRDs; webhook configurations; with policy Delete the custom resources, while the operator still runs; APIServices; workloads; everything else;
 * the CRDs.
 * An object that is no longer the extension's is left alone.
 */
export class Uninstaller {
  readonly #client: Client;
  readonly #applier: Applier;
  readonly #extension: Readonly<ClusterExtension>;
  readonly #signal: AbortSignal;

  constructor(client: Client, applier: Applier, extension: Readonly<ClusterExtension>, signal: AbortSignal) {
    this.#client = client;
    this.#applier = applier;
    this.#extension = extension;
    this.#signal = signal;
  }

  /**
   * @param recorded every object that a release may have left behind.
   * @param tell is called with each conversion webhook that is taken from a definition.
   * @throws WaitingError ConversionNeeded before anything is removed, see `requireConversions`.
   * @throws RetryableError Retrying with every refusal of the step at which it stopped; nothing that comes after it was touched.
   */
  async run(recorded: readonly LeftObject[], tell: (text: string) => void = () => undefined): Promise<UninstallProgress> {
    const policy = crdPolicyOf(this.#extension.spec);
    const before = recorded.filter((one) => policy !== "Delete" && isKept(one));
    const isBefore = (object: KubeObject): boolean => before.some((one) => objectKey(one) === objectKey(object));
    const { objects: keptBefore } = await this.#applier.readEach(before);
    const live = new Map([...(await this.#applier.read(recorded.filter((one) => !before.includes(one)))), ...keptBefore]);
    const { name, uid = "" } = this.#extension.metadata;
    const owner = { name, uid, installNamespace: this.#extension.spec.namespace };
    const ours = uninstallOrder([...live.values()].filter((object) => ownershipOf(object, owner).kind === "ours"));
    const crds = ours.filter(isCrd);
    const others = ours.filter((object) => !isCrd(object));
    const kept: { text: string }[] = [];
    const { annotations } = this.#extension.metadata;
    const isForced = annotations?.[ANNOTATION_DROP_CONVERSION] === "true";
    const conversions = { extension: name, crds, policy, recorded, isForced, refusal: "not uninstalled" };
    const stages: Stage[] = [
      async () => {
        for (const text of await dropConversions(this.#client, conversions, this.#signal)) tell(text);
        return [];
      },
      () => this.#delete(others.filter(({ kind }) => WEBHOOKS.has(kind))),
      () => (policy === "Delete" ? this.#deleteCustomResources(crds) : Promise.resolve([])),
      // Never without what serves them: the whole cluster's discovery, garbage collection and namespaces that end would wait for it.
      () => this.#delete(others.filter(isApiService)),
      () =>
        this.#delete(
          others.filter(({ kind }) => WORKLOADS.has(kind)),
          "Foreground",
        ),
      () => this.#delete(others.filter((object) => !WEBHOOKS.has(object.kind) && !WORKLOADS.has(object.kind) && !isApiService(object))),
      async () => {
        const leaving = crds.filter((crd) => !isBefore(crd));
        const removal = await removeCrds(this.#applier, this.#client, leaving, policy, this.#signal);
        const request = { policy, owner, isWanted: () => false };
        const still = await recheckKept(this.#applier, this.#client, before, request, this.#signal);
        const staying = [...removal.kept, ...still.map(({ left, ...rest }) => ({ text: keptText(left), ...rest }))];
        const unsure = staying.find(({ retry }) => retry !== undefined);
        if (unsure) throw new RetryableError(Reason.Retrying, unsure.text, { cause: unsure.retry?.cause });
        const keeping = removal.kept.map(({ crd }) => crd);
        await takeOver(this.#client, keeping, uid, this.#signal);
        kept.push(...staying);
        return this.#left(removal.deleting);
      },
    ];
    for (const stage of stages) {
      const waitingFor = await stage();
      if (waitingFor.length > 0) return { waitingFor, kept: [] };
    }
    return { waitingFor: [], kept };
  }

  /** Deletes what is not being deleted yet. @returns what is still there. */
  async #delete(objects: readonly KubeObject[], propagation?: "Foreground"): Promise<string[]> {
    await this.#applier.remove(
      objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
      propagation,
    );
    return this.#left(objects);
  }

  /** @returns those of the objects that are still there. */
  async #left(objects: readonly KubeObject[]): Promise<string[]> {
    const left = await this.#applier.read(objects.map(refOf));
    return objects.filter((object) => left.get(objectKey(object))?.metadata.uid === object.metadata.uid).map(describeObject);
  }

  async #deleteCustomResources(crds: readonly KubeObject[]): Promise<string[]> {
    const waitingFor: string[] = [];
    for (const crd of crds) {
      const kind = await this.#ownKindOf(crd);
      if (kind) waitingFor.push(...(await this.#delete(await this.#customResources(kind))));
    }
    return waitingFor;
  }

  /**
   * A version through which the definition itself serves. Through one that another API server answers for, the objects of that server would be
   * deleted; without any, the custom resources go with the definition.
   */
  async #ownKindOf(crd: KubeObject): Promise<CustomResourceKind | undefined> {
    for (const kind of servedKindsOf(crd)) if (!(await otherServer(this.#client, crd, kind, this.#signal))) return kind;
    return undefined;
  }

  async #customResources(kind: { apiVersion: string; kind: string }): Promise<KubeObject[]> {
    try {
      return (await this.#client.list(kind, { metadataOnly: true, signal: this.#signal })).items;
    } catch (err) {
      if (err instanceof KindNotServed) return [];
      throw err;
    }
  }
}
