import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { getBundleName, type TableBundle } from "./catalogTable.ts";

/** The definitions of CustomResourceDefinitions that a scenario names: `spec.versions` by name. */
export type DefinitionVersions = Readonly<Record<string, readonly JsonObject[]>>;

const INSTALL_MODE = /^InstallMode\((\w+)\)$/;
const DEFINITION = /^CRD(?:\(([\w-]+)\))?$/;
/** The words of a contents cell that stand for an object; each object has the name of the package. */
const OBJECTS: Readonly<Record<string, (bundle: TableBundle) => KubeObject>> = {
  ConfigMap: ({ package: name, version }) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { version } }),
  NetworkPolicy: ({ package: name }) => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name },
    spec: { podSelector: { matchLabels: { app: name } }, policyTypes: ["Ingress"] },
  }),
  PriorityClass: ({ package: name }) => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value: 100,
  }),
};
/** A small image that runs until it is stopped, on every architecture. */
const POD_IMAGE = "registry.k8s.io/pause:3.10";
/** An image that no node can pull: no host has this name. */
const MISSING_IMAGE = "registry.invalid/missing:1";
const DEPLOYMENT = "Deployment";
/** A Deployment whose Pods never start. */
const BROKEN_DEPLOYMENT = "BrokenDeployment";
/** An API server, which needs a Deployment. */
const API_SERVICE = "APIService";
/** Types of webhooks by word. Each has the path and the prefix of its name. */
const WEBHOOKS: Readonly<Record<string, { readonly type: string; readonly path: string; readonly prefix: string }>> = {
  ValidatingWebhook: { type: "ValidatingAdmissionWebhook", path: "/validate", prefix: "v" },
  MutatingWebhook: { type: "MutatingAdmissionWebhook", path: "/mutate", prefix: "m" },
};
const MAX_VERSION = /^MaxOpenShiftVersion\(([\d.]+)\)$/;
/** Words without an object of their own. */
const OTHERS = [DEPLOYMENT, BROKEN_DEPLOYMENT, API_SERVICE, "Role", "ClusterRole", ...Object.keys(WEBHOOKS)];

/** The versions of a definition that accepts any members. */
const ANY_MEMBERS: readonly JsonObject[] = [
  {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  },
];

/**
 * Returns the files of the registry+v1 bundle for a row of a catalog table; JSON is YAML. Without an InstallMode it supports all namespaces. Role and
 * ClusterRole are permissions of its operator; webhooks and an APIService need a Deployment. `CRD(name)` has the versions in `definitions`, and CRD accepts any members.
 * @throws Error for an unknown word in its contents.
 */
export function buildTableBundle(bundle: TableBundle, definitions: DefinitionVersions = {}): Map<string, Uint8Array> {
  const files: Record<string, object> = {
    "metadata/annotations.yaml": {
      annotations: {
        "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
        "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
        "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
        "operators.operatorframework.io.bundle.package.v1": bundle.package,
      },
    },
    "manifests/csv.yaml": buildServiceVersion(bundle, definitions),
  };
  for (const word of bundle.contents) {
    const definition = DEFINITION.exec(word);
    if (OTHERS.includes(word) || INSTALL_MODE.test(word) || MAX_VERSION.test(word)) continue;
    const build = OBJECTS[word];
    if (definition) files["manifests/crd.yaml"] = buildDefinition(bundle, getVersions(bundle, definition[1], definitions));
    else if (build) files[`manifests/${word.toLowerCase()}.yaml`] = build(bundle);
    else {
      const known = [...OTHERS, "InstallMode(x)", "MaxOpenShiftVersion(x)", "CRD", "CRD(x)", ...Object.keys(OBJECTS)].join(", ");
      throw new Error(`contents of ${getBundleName(bundle)}: ${word} is not one of ${known}`);
    }
  }
  return new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(JSON.stringify(content))]));
}

function getVersions(bundle: TableBundle, name: string | undefined, definitions: DefinitionVersions): readonly JsonObject[] {
  if (name === undefined) return ANY_MEMBERS;
  const versions = definitions[name];
  if (!versions) throw new Error(`contents of ${getBundleName(bundle)}: CRD(${name}) is not one of the definitions of the scenario`);
  return versions;
}

/** The API group of the custom resources of a package. */
function getGroup(packageName: string): string {
  return `${packageName}.example.com`;
}

function buildDefinition({ package: name }: TableBundle, versions: readonly JsonObject[]): KubeObject {
  const group = getGroup(name);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: { group, scope: "Namespaced", names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" }, versions },
  };
}

function buildServiceVersion(bundle: TableBundle, definitions: DefinitionVersions): KubeObject {
  const { package: name, version, contents } = bundle;
  const modes = contents.flatMap((word) => INSTALL_MODE.exec(word)?.[1] ?? []);
  const owned = contents.flatMap((word) => {
    const definition = DEFINITION.exec(word);
    return definition ? getVersions(bundle, definition[1], definitions).map((one) => String(one["name"])) : [];
  });
  const account = { serviceAccountName: name };
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }];
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name: getBundleName(bundle), annotations: buildAnnotations(contents) },
    spec: {
      displayName: name,
      version,
      installModes: (modes.length > 0 ? modes : ["AllNamespaces"]).map((type) => ({ type, supported: true })),
      customresourcedefinitions: { owned: owned.map((of) => ({ name: `things.${getGroup(name)}`, version: of, kind: "Thing" })) },
      ...(contents.includes(API_SERVICE) ? { apiservicedefinitions: { owned: [buildApiService(name)] } } : {}),
      webhookdefinitions: contents.flatMap((word) => buildWebhook(name, word)),
      install: {
        strategy: "deployment",
        spec: {
          deployments: contents.includes(DEPLOYMENT) || contents.includes(BROKEN_DEPLOYMENT) ? [buildDeployment(bundle)] : [],
          ...(contents.includes("Role") ? { permissions: [{ ...account, rules }] } : {}),
          ...(contents.includes("ClusterRole") ? { clusterPermissions: [{ ...account, rules }] } : {}),
        },
      },
    },
  };
}

function buildAnnotations(contents: readonly string[]): Record<string, string> {
  const [version] = contents.flatMap((word) => MAX_VERSION.exec(word)?.[1] ?? []);
  return version === undefined ? {} : { "olm.properties": JSON.stringify([{ type: "olm.maxOpenShiftVersion", value: version }]) };
}

function buildApiService(name: string): JsonObject {
  return { group: getGroup(name), version: "v1", kind: "Sample", name: "samples", deploymentName: name, containerPort: 6443 };
}

/** The webhook ignores failures, because no container of the tests serves it. */
function buildWebhook(name: string, word: string): JsonObject[] {
  const webhook = WEBHOOKS[word];
  if (!webhook) return [];
  return [
    {
      type: webhook.type,
      generateName: `${webhook.prefix}.${getGroup(name)}`,
      deploymentName: name,
      containerPort: 443,
      targetPort: 9443,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Ignore",
      rules: [{ apiGroups: [getGroup(name)], apiVersions: ["v1"], operations: ["CREATE"], resources: ["things"] }],
      webhookPath: webhook.path,
    },
  ];
}

/** The version is a variable of the container, so that each upgrade causes a rollout. */
function buildDeployment({ package: name, version, contents }: TableBundle): JsonObject {
  const labels = { app: name };
  const hasAccount = contents.includes("Role") || contents.includes("ClusterRole");
  const image = contents.includes(BROKEN_DEPLOYMENT) ? MISSING_IMAGE : POD_IMAGE;
  const containers = [{ name: "manager", image, env: [{ name: "VERSION", value: version }] }];
  return {
    name,
    label: { "app.kubernetes.io/name": name },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...(hasAccount ? { serviceAccountName: name } : {}), containers } },
    },
  };
}
