import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { selfSigned } from "../../pkg/certificates/providers.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { eventually } from "./eventually.ts";

const GROUP = "operators.coreos.com";
const KINDS: readonly [plural: string, kind: string, version: string, scope: "Namespaced" | "Cluster"][] = [
  ["subscriptions", "Subscription", "v1alpha1", "Namespaced"],
  ["clusterserviceversions", "ClusterServiceVersion", "v1alpha1", "Namespaced"],
  ["installplans", "InstallPlan", "v1alpha1", "Namespaced"],
  ["catalogsources", "CatalogSource", "v1alpha1", "Namespaced"],
  ["operatorgroups", "OperatorGroup", "v1", "Namespaced"],
  ["operatorconditions", "OperatorCondition", "v2", "Namespaced"],
  ["operators", "Operator", "v1", "Cluster"],
];
const FINALIZER = "operators.coreos.com/csv-cleanup";
const RBAC = "rbac.authorization.k8s.io/v1";
/** Kinds that the finalizer of OLM v0 deletes by owner labels. */
const CLEANED = [
  { apiVersion: RBAC, kind: "ClusterRoleBinding" },
  { apiVersion: RBAC, kind: "ClusterRole" },
  { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" },
  { apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration" },
];

/** A package that OLM v0 has installed. */
export interface ClassicInstallation {
  readonly namespace: string;
  readonly packageName: string;
  readonly version: string;
  /** Files of the bundle by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** OLM v0 on a cluster: its definitions, the objects of an installation, and its finalizer. */
export class ClassicOlm {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Makes the API server serve the kinds of OLM v0, with any members. */
  async serve(): Promise<void> {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    for (const [plural, kind, version, scope] of KINDS) {
      const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
      const versions = [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }];
      const metadata = { name: `${plural}.${GROUP}` };
      const crd = {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata,
        spec: { group: GROUP, scope, names, versions },
      };
      await this.#client.apply(crd, { fieldManager: "test", force: true });
      await eventually(() => this.#client.list({ apiVersion: `${GROUP}/${version}`, kind }));
    }
  }

  /** Creates the objects that exist after a Subscription "hello" has installed a bundle, in the form that OLM v0 writes. */
  async install({ namespace, packageName, version, files }: ClassicInstallation): Promise<void> {
    const bundle = loadBundle(new Map(Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)])));
    const name = `${packageName}.v${version}`;
    const component = { [`${GROUP}/${packageName}.${namespace}`]: "" };
    const create = async (object: KubeObject, manager: "olm" | "catalog"): Promise<KubeObject> => {
      const { status, ...rest } = object;
      const created = await this.#client.create(rest, { fieldManager: manager });
      if (status !== undefined)
        await this.#client.patch(refTo(created), { status }, { type: "merge", subresource: "status", fieldManager: manager });
      return created;
    };
    const target = { "olm.operatorGroup": "global", "olm.operatorNamespace": namespace, "olm.targetNamespaces": "" };
    await create(
      {
        apiVersion: `${GROUP}/v1`,
        kind: "OperatorGroup",
        metadata: { name: "global", namespace },
        spec: { upgradeStrategy: "Default" },
        status: { namespaces: [""] },
      },
      "olm",
    );
    const subscription = await create(
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: "Subscription",
        metadata: { name: "hello", namespace, labels: component },
        spec: {
          name: packageName,
          channel: "stable",
          source: "c",
          sourceNamespace: "olm",
          installPlanApproval: "Automatic",
          startingCSV: name,
        },
        status: { state: "AtLatestKnown", installedCSV: name, currentCSV: name },
      },
      "catalog",
    );
    await create(
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: "InstallPlan",
        metadata: { name: "install-abcde", namespace, labels: component, ownerReferences: [ownedBy(subscription)] },
        spec: { approval: "Automatic", approved: true, clusterServiceVersionNames: [name] },
        status: { phase: "Complete" },
      },
      "catalog",
    );
    const { spec } = bundle.csv;
    const csv = await create(
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: "ClusterServiceVersion",
        metadata: {
          name,
          namespace,
          labels: component,
          annotations: { ...bundle.csv.metadata.annotations, ...target },
          finalizers: [FINALIZER],
        },
        spec: JSON.parse(JSON.stringify(spec)) as JsonObject,
        status: { phase: "Succeeded" },
      },
      "catalog",
    );
    const owner = { "olm.owner": name, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace, "olm.managed": "true" };
    for (const object of renderBundle(bundle, { installNamespace: namespace, certProvider: selfSigned })) {
      const classic = asClassic(object, { name, owner, component, target, reference: ownedBy(csv) });
      await create(classic, object.kind === "Deployment" ? "olm" : "catalog");
    }
    const certificate = { "tls.crt": "eA==", "tls.key": "eA==", olmCAKey: "eA==" };
    const secret = { name: "tiny-service-cert", namespace, labels: owner, ownerReferences: [ownedBy(csv)] };
    await create({ apiVersion: "v1", kind: "Secret", metadata: secret, type: "kubernetes.io/tls", data: certificate }, "olm");
    await create({ apiVersion: `${GROUP}/v1`, kind: "Operator", metadata: { name: `${packageName}.${namespace}` }, spec: {} }, "olm");
    const condition = await create(
      {
        apiVersion: `${GROUP}/v2`,
        kind: "OperatorCondition",
        metadata: { name, namespace, ownerReferences: [{ ...ownedBy(csv), controller: true }] },
        spec: {},
      },
      "olm",
    );
    await create(
      {
        apiVersion: RBAC,
        kind: "Role",
        metadata: { name, namespace, ownerReferences: [{ ...ownedBy(condition), controller: true }] },
        rules: [{ apiGroups: [GROUP], resources: ["operatorconditions"], resourceNames: [name], verbs: ["get", "update", "patch"] }],
      },
      "olm",
    );
    await create(
      {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: "ClusterServiceVersion",
        metadata: { name, namespace: "default", labels: { ...component, "olm.copiedFrom": namespace }, annotations: target },
        spec: { version },
        status: { phase: "Succeeded", reason: "Copied" },
      },
      "olm",
    );
  }

  /** Runs the finalizer of OLM v0 for deleted ClusterServiceVersions, until it is disposed of. */
  run(): AsyncDisposable {
    const stop = new AbortController();
    const running = this.#finalize(stop.signal);
    return {
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        await running;
      },
    };
  }

  async #finalize(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { items } = await this.#client.list({ apiVersion: `${GROUP}/v1alpha1`, kind: "ClusterServiceVersion" });
      for (const csv of items) {
        const { name, namespace = "", deletionTimestamp, finalizers = [] } = csv.metadata;
        if (deletionTimestamp === undefined || !finalizers.includes(FINALIZER)) continue;
        await this.#stopConverting(csv);
        const labelSelector = `olm.owner=${name},olm.owner.namespace=${namespace},olm.owner.kind=ClusterServiceVersion`;
        for (const gvk of CLEANED)
          for (const object of (await this.#client.list(gvk, { labelSelector })).items) await this.#client.delete(refTo(object));
        const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
        await this.#client.patch(refTo(csv), { metadata: { finalizers: others } }, { type: "merge" }).catch(() => undefined);
      }
      await sleep(100, undefined, { signal }).catch(() => undefined);
    }
  }

  /** No client could request another version once its webhook is deleted. @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/operator.go */
  async #stopConverting({ spec }: KubeObject & { spec?: { webhookdefinitions?: { conversionCRDs?: string[] }[] } }): Promise<void> {
    for (const name of spec?.webhookdefinitions?.flatMap(({ conversionCRDs = [] }) => conversionCRDs) ?? []) {
      const ref = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name };
      await this.#client.patch(ref, { spec: { conversion: { strategy: "None", webhook: null } } }, { type: "merge" });
    }
  }
}

interface ClassicMarks {
  readonly name: string;
  readonly owner: Readonly<Record<string, string>>;
  readonly component: Readonly<Record<string, string>>;
  readonly target: Readonly<Record<string, string>>;
  readonly reference: ReturnType<typeof ownedBy>;
}

/** Converts a rendered object to the form of OLM v0: other names of roles, and its additions to Pods. */
function asClassic(object: KubeObject, { name, owner, component, target, reference }: ClassicMarks): KubeObject {
  const { metadata } = object;
  const labels = { ...metadata.labels, ...component };
  switch (object.kind) {
    case "ClusterRole":
      return { ...object, metadata: { ...metadata, name: `${name}-x7k2p`, labels: { ...labels, ...owner } } };
    case "ValidatingWebhookConfiguration":
      return { ...object, metadata: { name: `${metadata.name}-q8w3z`, labels: { ...labels, ...owner } } };
    case "ClusterRoleBinding": {
      const roleRef = { ...(object["roleRef"] as JsonObject), name: `${name}-x7k2p` };
      return { ...object, metadata: { ...metadata, name: `${name}-x7k2p`, labels: { ...labels, ...owner } }, roleRef };
    }
    case "CustomResourceDefinition":
      return { ...object, metadata: { ...metadata, labels } };
    case "Deployment":
      return {
        ...object,
        metadata: { ...metadata, labels: { ...labels, ...owner, "olm.deployment-spec-hash": "5f9" }, ownerReferences: [reference] },
        spec: withClassicPods(object["spec"] as JsonObject, name, target),
      };
    default:
      return { ...object, metadata: { ...metadata, labels, ownerReferences: [reference] } };
  }
}

function withClassicPods(spec: JsonObject, name: string, target: Readonly<Record<string, string>>): JsonObject {
  const template = structuredClone(spec["template"]) as {
    metadata: { annotations?: JsonObject };
    spec: { volumes?: unknown[]; containers: { env?: JsonObject[]; volumeMounts?: unknown[] }[] };
  };
  const { "olm.properties": _, ...annotations } = template.metadata.annotations ?? {}; // OLM v0 does not copy the properties to the Pods
  template.metadata.annotations = { ...annotations, ...target };
  template.spec.volumes?.reverse();
  for (const container of template.spec.containers) container.volumeMounts?.reverse();
  for (const container of template.spec.containers)
    container.env = [...(container.env ?? []), { name: "OPERATOR_CONDITION_NAME", value: name }];
  return { ...spec, template };
}

function ownedBy({ apiVersion, kind, metadata }: KubeObject) {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", controller: false, blockOwnerDeletion: false };
}

function refTo({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): ObjectRef {
  return { apiVersion, kind, name, namespace };
}
