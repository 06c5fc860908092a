import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { FIELD_MANAGER, SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { type JsonObject, type KubeObject, toObjectRef } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { withoutOwner } from "../../../pkg/release/labels.ts";
import { createObjectSet, type ObjectSetInput, packObjects } from "./objectSet.ts";

/** A revision of an extension, and the state in which it is on the cluster. */
export interface Revision extends Pick<ObjectSetInput, "kind" | "image"> {
  readonly revision: number;
  readonly packageName: string;
  readonly version: string;
  readonly objects: readonly KubeObject[];
  /** Default: active and complete. */
  readonly state?: "archived" | "incomplete";
  /** Whether the objects are in a Secret. */
  readonly isPacked?: boolean;
  /** Objects that were created just before the Go operator-controller stopped, so that their fields are not those of an apply. Default: none. */
  readonly created?: readonly KubeObject[];
}

/** Does what the Go operator-controller does with feature gate BoxcutterRuntime: stores revisions in object sets, and applies their objects. */
export class Boxcutter {
  readonly #client: Client;
  readonly #extension: ClusterExtension;

  /** @param extension as created on the cluster */
  constructor(client: Client, extension: ClusterExtension) {
    this.#client = client;
    this.#extension = extension;
  }

  /** Stores a revision. If it is not archived, also applies its objects. @returns the object set */
  async install(revision: Revision): Promise<KubeObject> {
    const { name, uid } = this.#extension.metadata;
    const { packageName, version, state, isPacked = false } = revision;
    const plain = revision.objects.map((object) => this.#label(object, revision));
    const packed = packObjects(`${name}-${revision.revision}`, name, plain);
    const secret = isPacked ? await this.#client.create(packed.secret) : undefined;
    const set = createObjectSet({
      ...revision,
      owner: name,
      ownerUid: uid,
      bundle: `${packageName}.v${version}`,
      state: "Active",
      phases: [isPacked ? packed.phase : { name: "deploy", objects: plain.map((object) => ({ object })) }],
    });
    // In one write: the garbage collector would delete a set of an earlier extension before its finalizer is added.
    const finalizers = state === "archived" ? {} : { finalizers: ["olm.operatorframework.io/teardown"] };
    const object = { ...set, metadata: { ...set.metadata, ...finalizers } };
    const stored = await this.#client.apply(object, { fieldManager: FIELD_MANAGER, force: true });
    if (secret) await this.#client.patch(toObjectRef(secret), { metadata: { ownerReferences: [getReference(stored)] } }, { type: "merge" });
    await this.#finish(stored, state);
    if (state !== "archived") for (const [i, one] of plain.entries()) await this.#apply(one, stored, revision, i);
    return stored;
  }

  /**
   * Applies an object as boxcutter does: the revision that applies it becomes its controller.
   * @see package-operator/boxcutter d9a1e59f machinery/objects.go
   */
  async #apply(object: KubeObject, set: KubeObject, { revision, objects, created = [] }: Revision, i: number): Promise<void> {
    const live = await this.#client.get(toObjectRef(object));
    const earlier = (live?.metadata.ownerReferences ?? []).map(({ controller: _controller, blockOwnerDeletion: _block, ...rest }) => rest);
    const metadata = {
      ...object.metadata,
      labels: { ...object.metadata.labels, "boxcutter-managed": "True" },
      annotations: { ...object.metadata.annotations, "olm.operatorframework.io/revision": String(revision) },
      ownerReferences: [...earlier, getReference(set)],
    };
    if (created.some((one) => one === objects[i])) await this.#client.create({ ...object, metadata }, { fieldManager: FIELD_MANAGER });
    else await this.#client.apply({ ...object, metadata }, { fieldManager: FIELD_MANAGER, force: true });
  }

  /** The Go operator-controller stores objects with the labels of their owner, and the bundle as annotations. */
  #label(object: KubeObject, { packageName, version }: Revision): KubeObject {
    const { metadata, ...rest } = withoutOwner(object);
    const { name } = this.#extension.metadata;
    const labels = {
      ...metadata.labels,
      "olm.operatorframework.io/owner-kind": "ClusterExtension",
      "olm.operatorframework.io/owner-name": name,
    };
    const annotations = {
      ...metadata.annotations,
      "olm.operatorframework.io/bundle-version": version,
      "olm.operatorframework.io/package-name": packageName,
    };
    return { ...rest, metadata: { ...metadata, labels, annotations } };
  }

  /** Writes the status: @see operator-controller 11c80b81 internal/operator-controller/controllers/clusterobjectset_controller.go */
  async #finish(set: KubeObject, state: Revision["state"]): Promise<void> {
    const ref = toObjectRef(set);
    const now = new Date().toISOString();
    const seen = { lastTransitionTime: now, observedGeneration: 1 };
    const condition = (type: string, status: string, reason: string): JsonObject => ({ type, status, reason, message: reason, ...seen });
    if (state === "archived") await this.#client.patch(ref, { spec: { lifecycleState: "Archived" } }, { type: "merge" });
    const isProgressing =
      state === "incomplete" ? ["True", "RollingOut"] : state === "archived" ? ["False", "Archived"] : ["True", "Succeeded"];
    const conditions = [
      condition("Progressing", isProgressing[0] ?? "", isProgressing[1] ?? ""),
      ...(state === "incomplete" ? [] : [condition("Succeeded", "True", "Succeeded")]),
    ];
    await this.#client.patch(ref, { status: { conditions } }, { type: "merge", subresource: "status" });
  }
}

/** Returns the controller reference of an object to its object set. */
function getReference({ apiVersion, kind, metadata: { name, uid = "" } }: KubeObject) {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Returns the names of the Secrets with objects of object sets. */
export async function listObjectSecrets(client: Client): Promise<string[]> {
  const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: "olm.operatorframework.io/revision-name" };
  return (await client.list({ apiVersion: "v1", kind: "Secret" }, selection)).items.map(({ metadata }) => metadata.name);
}
