import { type GroupVersionKind, getGroup, type KubeObject } from "../../api/k8s.ts";
import { CLASSIC_GROUP } from "../../api/migration.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNotFound, KindNotServed } from "../../kube/errors.ts";
import { isCrd } from "../../release/identity.ts";

const CSV: GroupVersionKind = { apiVersion: `${CLASSIC_GROUP}/v1alpha1`, kind: "ClusterServiceVersion" };
const SUBSCRIPTION: GroupVersionKind = { apiVersion: `${CLASSIC_GROUP}/v1alpha1`, kind: "Subscription" };
/** Copies in other namespaces own nothing. */
const NO_COPIES = "!olm.copiedFrom";
const COMPONENT = `${CLASSIC_GROUP}/`;
const AGGREGATION = "olm.opgroup.permissions/aggregate-to-";

/**
 * Finds objects that OLM v0 left on the cluster: the ClusterServiceVersion and Subscription in their marks no longer exist. Labels alone do not prove
 * an owner, because OLM v0 never removes them from CRDs and ServiceAccounts.
 *
 * | mark of the object                              | abandoned if                                                          |
 * | owner labels                                    | that ClusterServiceVersion does not exist                             |
 * | component labels                                | no ClusterServiceVersion and no Subscription has one of these labels  |
 * | label olm.managed only                          | its namespace, or for a cluster-scoped object the cluster, has none   |
 * | aggregation label and a CRD as owner            | the release contains the CRD                                          |
 *
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/operators/decorators/operator.go
 */
export class AbandonedObjects {
  readonly #client: Pick<Client, "list">;
  readonly #crds: ReadonlySet<string>;
  readonly #signal: AbortSignal;
  /** Whether objects of a kind and selection exist, by text, so that objects with the same marks need one request. */
  readonly #known = new Map<string, Promise<boolean>>();

  /**
   * @param client may list ClusterServiceVersions and Subscriptions; otherwise their objects count as owned.
   * @param desired the objects of the release
   */
  constructor(client: Pick<Client, "list">, desired: readonly KubeObject[], signal: AbortSignal) {
    this.#client = client;
    this.#crds = new Set(desired.filter(isCrd).map(({ metadata }) => metadata.name));
    this.#signal = signal;
  }

  /** Reports whether a live object is abandoned. False for objects without marks of OLM v0, and for objects that another object controls. */
  async contains(live: KubeObject): Promise<boolean> {
    const { labels = {}, ownerReferences = [], namespace } = live.metadata;
    if (ownerReferences.some(({ controller, apiVersion }) => controller || getGroup(apiVersion) === CLASSIC_GROUP)) return false;
    const components = Object.keys(labels).filter((key) => key.startsWith(COMPONENT));
    const owner = labels["olm.owner"];
    if (
      owner !== undefined &&
      (await this.#exists(CSV, { namespace: labels["olm.owner.namespace"], fieldSelector: `metadata.name=${owner}` }))
    )
      return false;
    for (const labelSelector of components)
      for (const gvk of [CSV, SUBSCRIPTION]) if (await this.#exists(gvk, { labelSelector })) return false;
    if (owner !== undefined || components.length > 0) return true;
    if (labels["olm.managed"] !== "true") return false;
    if (Object.keys(labels).some((key) => key.startsWith(AGGREGATION))) return ownerReferences.some(({ name }) => this.#crds.has(name));
    for (const gvk of [CSV, SUBSCRIPTION])
      if (await this.#exists(gvk, { namespace, ...(gvk === CSV ? { labelSelector: NO_COPIES } : {}) })) return false;
    return true;
  }

  #exists(
    gvk: GroupVersionKind,
    selection: { namespace?: string | undefined; labelSelector?: string; fieldSelector?: string },
  ): Promise<boolean> {
    const key = JSON.stringify([gvk.kind, selection]);
    const known = this.#known.get(key) ?? this.#ask(gvk, selection);
    this.#known.set(key, known);
    return known;
  }

  async #ask(gvk: GroupVersionKind, selection: Parameters<Client["list"]>[1]): Promise<boolean> {
    try {
      const { items } = await this.#client.list(gvk, { ...selection, metadataOnly: true, limit: 1, maxItems: 1, signal: this.#signal });
      return items.length > 0;
    } catch (err) {
      if (err instanceof KindNotServed || isNotFound(err)) return false;
      if (isForbidden(err)) return true;
      throw err;
    }
  }
}
