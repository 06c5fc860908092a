import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject, KubeObject, ObjectRef, OwnerReference } from "../../pkg/api/k8s.ts";
import { toObjectRef } from "../../pkg/api/k8s.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt, getTextsAt } from "../../pkg/golang/members.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { isConflict, isNotFound } from "../../pkg/kube/errors.ts";

const GROUP = "operators.coreos.com";
const RBAC = "rbac.authorization.k8s.io/v1";
const ADMISSION = "admissionregistration.k8s.io/v1";
const CSV = { apiVersion: `${GROUP}/v1alpha1`, kind: "ClusterServiceVersion" } as const;
const SUBSCRIPTION = { apiVersion: `${GROUP}/v1alpha1`, kind: "Subscription" } as const;
const INSTALL_PLAN = { apiVersion: `${GROUP}/v1alpha1`, kind: "InstallPlan" } as const;
const OPERATOR = { apiVersion: `${GROUP}/v1`, kind: "Operator" } as const;
const FINALIZER = `${GROUP}/csv-cleanup`;
/** The real olm-operator reacts within 0.2 s. */
const INTERVAL_MS = 20;
/** Kinds that the finalizer deletes by owner labels. */
const CLEANED = [
  { apiVersion: RBAC, kind: "ClusterRoleBinding" },
  { apiVersion: RBAC, kind: "ClusterRole" },
  { apiVersion: ADMISSION, kind: "MutatingWebhookConfiguration" },
  { apiVersion: ADMISSION, kind: "ValidatingWebhookConfiguration" },
];

/**
 * Acts like olm-operator and catalog-operator of OLM v0 on the objects that they have installed, in the ways that a migration can collide with:
 *
 * | event                           | action                                                                                               |
 * | ClusterServiceVersion changes   | rewrites its Deployments; restores owner references and component labels                             |
 * | Subscription changes or is gone | rewrites the Deployments of the ClusterServiceVersions in its namespace with the current spec.config |
 * | deletionTimestamp is set        | deletes cluster-scoped objects by owner labels, removes its finalizer, and then ignores the object   |
 * | ClusterServiceVersion is gone   | deletes copies, disables conversion webhooks, deletes cluster-scoped objects with its owner labels   |
 * | an object has a component label | creates the Operator object                                                                          |
 *
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/operators/olm/operator.go
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/install/deployment.go
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/operators/adoption_controller.go
 */
export class ClassicOperator implements AsyncDisposable {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** What was last seen of each ClusterServiceVersion, by namespace and name. */
  readonly #seen = new Map<string, { csv: KubeObject; state: string }>();
  /** The Deployments that were written, as namespace and name. */
  readonly written = new Set<string>();
  /** Errors of the actor, which a test must expect to be empty. */
  readonly errors: unknown[] = [];

  constructor(client: Client) {
    this.#client = client;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#reconcile();
      } catch (err) {
        if (!isConflict(err) && !isNotFound(err)) this.errors.push(err);
      }
      await sleep(INTERVAL_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async #reconcile(): Promise<void> {
    const { items: all } = await this.#client.list(CSV, { labelSelector: "!olm.copiedFrom", notOlderThan: "0" });
    const { items: subscriptions } = await this.#client.list(SUBSCRIPTION, { notOlderThan: "0" });
    const csvs = new Map(all.map((csv) => [keyOf(csv), csv]));
    for (const [key, { csv }] of this.#seen) {
      if (csvs.has(key)) continue;
      await this.#forget(csv);
      this.#seen.delete(key);
    }
    for (const [key, csv] of csvs) {
      const subscription = findSubscription(csv, subscriptions);
      const state = `${csv.metadata.uid}/${csv.metadata.resourceVersion} ${subscription?.metadata.resourceVersion}`;
      if (this.#seen.get(key)?.state === state) continue;
      await this.#sync(csv, subscription);
      this.#seen.set(key, { csv, state });
    }
    await this.#createOperators([...subscriptions, ...(await this.#client.list(INSTALL_PLAN, { notOlderThan: "0" })).items]);
  }

  async #sync(csv: KubeObject, subscription: KubeObject | undefined): Promise<void> {
    const { deletionTimestamp, finalizers = [] } = csv.metadata;
    if (deletionTimestamp !== undefined) {
      if (!finalizers.includes(FINALIZER)) return;
      await this.#deleteLabelled(csv);
      const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
      await this.#patch(csv, { metadata: { resourceVersion: csv.metadata.resourceVersion, finalizers: others } });
      return;
    }
    if (!finalizers.includes(FINALIZER)) await this.#patch(csv, { metadata: { finalizers: [...finalizers, FINALIZER] } });
    await this.#restoreOwners(csv);
    for (const deployment of getObjectsAt(getObjectAt(getObjectAt(getObjectAt(csv, "spec"), "install"), "spec"), "deployments"))
      await this.#writeDeployment(csv, deployment, getObjectAt(getObjectAt(subscription, "spec"), "config"));
  }

  async #writeDeployment(csv: KubeObject, deployment: JsonObject, config: JsonObject): Promise<void> {
    const { namespace = "" } = csv.metadata;
    const name = getNonEmptyText(deployment, "name") ?? "";
    const live = await this.#client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name });
    const hash = await this.#readCaHash(csv, namespace, name);
    const spec = buildSpec(csv, structuredClone(getObjectAt(deployment, "spec")), config, hash);
    const owner = ownerOf(csv);
    const annotations = live?.metadata.annotations ?? {};
    const desired = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        name,
        namespace,
        ...(live?.metadata.resourceVersion === undefined ? {} : { resourceVersion: live.metadata.resourceVersion }),
        annotations: { ...annotations, ...(config["annotations"] as Record<string, string> | undefined) },
        labels: { ...live?.metadata.labels, ...(getObjectAt(deployment, "label") as Record<string, string>), ...ownerLabels(csv) },
        ownerReferences: [...(live?.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.uid), owner],
      },
      spec: { ...spec, replicas: getObjectAt(live, "spec")["replicas"] ?? spec["replicas"] ?? 1 },
    };
    if (live) await this.#client.replace(desired, { fieldManager: "olm" });
    else await this.#client.create(desired, { fieldManager: "olm" });
    this.written.add(`${namespace}/${name}`);
  }

  /** Returns the hash of the certificate authority if the Deployment serves webhooks. Creates a new one if the Secret has no key of the authority. */
  async #readCaHash(csv: KubeObject, namespace: string, deployment: string): Promise<string | undefined> {
    const webhooks = getObjectsAt(getObjectAt(csv, "spec"), "webhookdefinitions");
    if (!webhooks.some((webhook) => webhook["deploymentName"] === deployment)) return undefined;
    const ref = { apiVersion: "v1", kind: "Secret", namespace, name: `${deployment}-service-cert` };
    const secret = await this.#client.get(ref);
    const hash = secret?.metadata.annotations?.["olmcahash"];
    if (hash !== undefined && getObjectAt(secret, "data")["olmCAKey"] !== undefined) return hash;
    return `rotated-${csv.metadata.resourceVersion}`;
  }

  /** Restores the owner references of ServiceAccounts and the component labels of objects that refer to the ClusterServiceVersion. */
  async #restoreOwners(csv: KubeObject): Promise<void> {
    const { namespace = "" } = csv.metadata;
    const strategy = getObjectAt(getObjectAt(getObjectAt(csv, "spec"), "install"), "spec");
    const components = Object.fromEntries(Object.entries(csv.metadata.labels ?? {}).filter(([key]) => key.startsWith(`${GROUP}/`)));
    const accounts = new Set(
      ["permissions", "clusterPermissions"].flatMap((member) =>
        getObjectsAt(strategy, member).flatMap((one) => getNonEmptyText(one, "serviceAccountName") ?? []),
      ),
    );
    for (const name of accounts) {
      const live = await this.#client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace, name });
      const owners = live?.metadata.ownerReferences ?? [];
      if (!live || owners.length > 0 || live.metadata.managedFields?.every(({ manager }) => manager !== "olm")) continue;
      await this.#patch(live, { metadata: { labels: components, ownerReferences: [...owners, ownerOf(csv)] } });
    }
  }

  async #deleteLabelled(csv: KubeObject): Promise<void> {
    const { name, namespace = "" } = csv.metadata;
    const labelSelector = `olm.owner=${name},olm.owner.namespace=${namespace},olm.owner.kind=ClusterServiceVersion`;
    for (const gvk of CLEANED)
      for (const object of (await this.#client.list(gvk, { labelSelector })).items) await this.#client.delete(toObjectRef(object));
  }

  async #forget(csv: KubeObject): Promise<void> {
    const { name, namespace } = csv.metadata;
    const { items: copies } = await this.#client.list(CSV, { labelSelector: `olm.copiedFrom=${namespace}` });
    for (const copy of copies) if (copy.metadata.name === name) await this.#client.delete(toObjectRef(copy));
    for (const webhook of getObjectsAt(getObjectAt(csv, "spec"), "webhookdefinitions"))
      for (const crd of webhook["type"] === "ConversionWebhook" ? getTextsAt(webhook, "conversionCRDs") : []) {
        const ref = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: crd };
        await this.#client.patch(
          ref,
          { spec: { conversion: { strategy: "None", webhook: null } } },
          { type: "merge", fieldManager: "olm" },
        );
      }
    await this.#deleteLabelled(csv);
  }

  /** Creates the Operator object of each component label. */
  async #createOperators(components: readonly KubeObject[]): Promise<void> {
    const keys = new Set(components.flatMap(({ metadata }) => Object.keys(metadata.labels ?? {})));
    for (const key of keys) {
      if (!key.startsWith(`${GROUP}/`)) continue;
      const ref: ObjectRef = { ...OPERATOR, name: key.slice(GROUP.length + 1) };
      if (await this.#client.get(ref)) continue;
      await this.#client.create({ ...OPERATOR, metadata: { name: ref.name }, spec: {} }, { fieldManager: "olm" });
    }
  }

  #patch(object: KubeObject, body: JsonObject): Promise<KubeObject> {
    return this.#client.patch(toObjectRef(object), body, { type: "merge", fieldManager: "olm" });
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** The configuration comes from the Subscription whose status names the ClusterServiceVersion. */
function findSubscription({ metadata }: KubeObject, subscriptions: readonly KubeObject[]): KubeObject | undefined {
  return subscriptions.find(
    (one) => one.metadata.namespace === metadata.namespace && getObjectAt(one, "status")["installedCSV"] === metadata.name,
  );
}

function ownerOf({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", controller: false, blockOwnerDeletion: false };
}

function ownerLabels({ metadata }: KubeObject): Record<string, string> {
  return {
    "olm.owner": metadata.name,
    "olm.owner.kind": "ClusterServiceVersion",
    "olm.owner.namespace": metadata.namespace ?? "",
    "olm.managed": "true",
  };
}

interface Container extends JsonObject {
  env?: JsonObject[];
  volumeMounts?: JsonObject[];
}
interface PodSpec extends JsonObject {
  containers: Container[];
  volumes?: JsonObject[];
  tolerations?: unknown[];
}

/**
 * Computes the spec of a Deployment in the order of OLM v0: certificates, then annotations, then `spec.config`, then the name of the condition.
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/operators/olm/overrides/inject/inject.go
 */
function buildSpec(csv: KubeObject, spec: JsonObject, config: JsonObject, caHash: string | undefined): JsonObject {
  const template = spec["template"] as { metadata?: { annotations?: Record<string, string> }; spec: PodSpec };
  const pod = template.spec;
  if (caHash !== undefined) mountCertificate(pod, csv);
  const annotations = {
    ...(config["annotations"] as Record<string, string> | undefined),
    ...csv.metadata.annotations,
    ...template.metadata?.annotations,
    ...(caHash === undefined ? {} : { olmcahash: caHash }),
  };
  template.metadata = { ...template.metadata, annotations };
  const env = [...getObjectsAt(config, "env"), { name: "OPERATOR_CONDITION_NAME", value: csv.metadata.name }];
  pod.volumes = merge(pod.volumes, getObjectsAt(config, "volumes"));
  for (const container of pod.containers) {
    container.env = merge(container.env, env);
    container.volumeMounts = merge(container.volumeMounts, getObjectsAt(config, "volumeMounts"));
    if (config["resources"] !== undefined) container["resources"] = config["resources"];
  }
  if (config["nodeSelector"] !== undefined) pod["nodeSelector"] = config["nodeSelector"];
  if (config["tolerations"] !== undefined) pod.tolerations = [...(pod.tolerations ?? []), ...(config["tolerations"] as unknown[])];
  return { ...spec, template, revisionHistoryLimit: 1 };
}

/** Replaces entries by name, and appends the others. */
function merge(list: readonly JsonObject[] = [], added: readonly JsonObject[]): JsonObject[] {
  const names = new Set(list.map(({ name }) => name));
  const replaced = list.map((one) => added.find(({ name }) => name === one["name"]) ?? one);
  return [...replaced, ...added.filter(({ name }) => !names.has(name))];
}

/** Replaces a mount at the same path in place. */
function mountAt(mounts: readonly JsonObject[] = [], added: JsonObject): JsonObject[] {
  if (!mounts.some(({ mountPath }) => mountPath === added["mountPath"])) return [...mounts, added];
  return mounts.map((mount) => (mount["mountPath"] === added["mountPath"] ? added : mount));
}

/** @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/install/certresources.go */
function mountCertificate(pod: PodSpec, csv: KubeObject): void {
  const [webhook] = getObjectsAt(getObjectAt(csv, "spec"), "webhookdefinitions");
  const secretName = `${getNonEmptyText(webhook, "deploymentName") ?? ""}-service-cert`;
  const mounts = [
    { name: "apiservice-cert", mountPath: "/apiserver.local.config/certificates", crt: "apiserver.crt", key: "apiserver.key" },
    { name: "webhook-cert", mountPath: "/tmp/k8s-webhook-server/serving-certs", crt: "tls.crt", key: "tls.key" },
  ];
  pod["serviceAccountName"] ??= "default";
  for (const { name, mountPath, crt, key } of mounts) {
    const items = [
      { key: "tls.crt", path: crt },
      { key: "tls.key", path: key },
    ];
    pod.volumes = merge(pod.volumes, [{ name, secret: { secretName, items } }]);
    for (const container of pod.containers) container.volumeMounts = mountAt(container.volumeMounts, { name, mountPath });
  }
}
