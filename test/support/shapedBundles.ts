import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { thingDefinition } from "./definitions.ts";
import { propertiesFrom } from "./dependencyFixture.ts";
import { eventually } from "./eventually.ts";
import { flunderBundle, startFlunderServer } from "./flunderServer.ts";
import type { PublishedVersion } from "./managedWorld.ts";
import { tinyBundle } from "./tinyBundle.ts";
import { webhook, webhookBundle } from "./webhookBundle.ts";

/** The versions of a shape: an upgrade changes objects, deletes one and creates one. */
const SHAPE_VERSIONS = ["1.0.0", "2.0.0"] as const;
export type ShapeVersion = (typeof SHAPE_VERSIONS)[number];

/** A package with two versions whose bundle contains what needs special permissions. The extension has the name of the package. */
export interface BundleShape {
  readonly name: string;
  /** What the bundle contains. */
  readonly what: string;
  readonly files: (version: ShapeVersion) => Record<string, string>;
  /** Members of the extension's spec. */
  readonly spec?: JsonObject;
  /** Namespaces that must exist before. */
  readonly namespaces?: readonly string[];
  /** Whether some permissions are root-equivalent, so that they need an approval. */
  readonly needsApproval?: boolean;
  /** Whether another extension of the shapes installs it as its dependency, in version 2.0.0. */
  readonly isDependency?: boolean;
  /** Packages that the bundle requires. */
  readonly requires?: readonly string[];
  /** Prepares the cluster before the extension is created. */
  readonly before?: (client: Client) => Promise<unknown>;
  /** Runs while version 1.0.0 is being installed. @returns what to dispose of at the end. */
  readonly during?: (client: Client) => Promise<AsyncDisposable | undefined>;
  /** Runs before the uninstall. */
  readonly last?: (client: Client) => Promise<unknown>;
}

const RBAC = "rbac.authorization.k8s.io/v1";
const API_GROUP = "rbac.authorization.k8s.io";

/** ConfigMaps `NAME-settings`, which changes in each version, and `NAME-old` in 1.0.0, `NAME-new` in 2.0.0. */
function listSettings(name: string, version: ShapeVersion): KubeObject[] {
  return [`${name}-settings`, version === "1.0.0" ? `${name}-old` : `${name}-new`].map((own) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: own },
    data: { version },
  }));
}

function clusterRole(name: string, members: JsonObject): KubeObject {
  return { apiVersion: RBAC, kind: "ClusterRole", metadata: { name }, ...members };
}

/** Binds a ClusterRole to the ServiceAccount of the same name. */
function clusterRoleBinding(name: string, roleName: string, namespace: string): KubeObject {
  const subjects = [{ kind: "ServiceAccount", namespace, name }];
  return {
    apiVersion: RBAC,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: API_GROUP, kind: "ClusterRole", name: roleName },
    subjects,
  };
}

/** A permission of the ServiceAccount `NAME` in an install strategy. */
function permission(serviceAccountName: string, ...rules: JsonObject[]): JsonObject {
  return { serviceAccountName, rules };
}

/** A CustomResourceDefinition with version v2, and in 1.0.0 also with version v1, which is no longer served. */
function leavingDefinition(group: string, version: ShapeVersion): KubeObject {
  const crd = thingDefinition(group);
  const spec = crd["spec"] as { versions: JsonObject[] };
  const [own] = spec.versions;
  const [first, second] = [
    { ...own, served: false, storage: false },
    { ...own, name: "v2" },
  ];
  return { ...crd, spec: { ...spec, versions: version === "1.0.0" ? [first, second] : [second] } };
}

/** Objects of all optional kinds that a control plane without other definitions serves. */
function listOptionalKinds(name: string, version: ShapeVersion): KubeObject[] {
  const metadata = { name };
  const selector = { matchLabels: { app: name } };
  return [
    {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: `${name}-priority` },
      value: 1_000,
      description: version,
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata,
      spec: { podSelector: selector, policyTypes: version === "1.0.0" ? ["Ingress"] : ["Ingress", "Egress"] },
    },
    { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec: { minAvailable: version === "1.0.0" ? 0 : 1, selector } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { selector: selector.matchLabels, ports: [{ port: 80 }] } },
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { version } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: `${name}-helper` } },
    {
      apiVersion: RBAC,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: version === "1.0.0" ? ["get"] : ["get", "delete"] }],
    },
    {
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: API_GROUP, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: `${name}-helper` }],
    },
  ];
}

/** Bundles of different shapes. Together they need every kind of permission that olmv1 derives. */
export const BUNDLE_SHAPES: readonly BundleShape[] = [
  {
    name: "hooks",
    what: "webhooks with certificates of operator-controller",
    files: (version) => {
      const own = { deploymentName: "hooks", containerPort: 443 };
      const validating = webhook({ ...own, generateName: "check.hooks.example.com" });
      const mutating = webhook({ ...own, generateName: "change.hooks.example.com", type: "MutatingAdmissionWebhook" });
      const webhooks = version === "1.0.0" ? [validating] : [validating, mutating];
      return webhookBundle(version, { name: "hooks", webhooks, objects: listSettings("hooks", version) });
    },
  },
  {
    name: "apis",
    what: "its own API server",
    files: (version) => ({ ...flunderBundle(version), ...onlyObjects(tinyBundle(version, { objects: listSettings("apis", version) })) }),
    during: (client) => startFlunderServer(client, "apis-system"),
  },
  {
    name: "wide",
    what: "cluster-scoped objects and cluster permissions",
    files: (version) =>
      tinyBundle(version, {
        name: "wide",
        clusterPermissions: [
          permission("wide", { apiGroups: [""], resources: ["nodes"], verbs: version === "1.0.0" ? ["get"] : ["get", "list"] }),
        ],
        objects: [
          ...listSettings("wide", version),
          thingDefinition("wide.example.com"),
          clusterRole("wide-reader", { rules: [{ apiGroups: ["wide.example.com"], resources: ["*"], verbs: ["get", "list", "watch"] }] }),
          clusterRoleBinding("wide-reader", "wide-reader", "wide-system"),
        ],
      }),
  },
  {
    name: "multi",
    what: "permissions in several watched namespaces",
    namespaces: ["multi-a", "multi-b"],
    spec: { config: { configType: "Inline", inline: { watchNamespaces: ["multi-a", "multi-b"] } } },
    files: (version) =>
      tinyBundle(version, {
        name: "multi",
        modes: ["MultiNamespace"],
        permissions: [permission("multi", { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "delete"] })],
        objects: listSettings("multi", version),
      }),
  },
  {
    name: "single",
    what: "permissions in one watched namespace",
    namespaces: ["single-a"],
    spec: { config: { configType: "Inline", inline: { watchNamespace: "single-a" } } },
    files: (version) =>
      tinyBundle(version, {
        name: "single",
        modes: ["SingleNamespace"],
        permissions: [permission("single", { apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["get", "update"] })],
        objects: listSettings("single", version),
      }),
  },
  {
    name: "engine",
    what: "a definition that another bundle requires",
    isDependency: true,
    files: (version) =>
      tinyBundle(version, { name: "engine", objects: [thingDefinition("engine.example.com"), ...listSettings("engine", version)] }),
  },
  {
    name: "car",
    what: "a dependency that dependency policy Install installs",
    spec: { dependencies: { policy: "Install" } },
    requires: ["engine >=1.0.0"],
    files: (version) => tinyBundle(version, { name: "car", objects: listSettings("car", version) }),
  },
  {
    name: "kept",
    what: "a definition whose custom resources are kept",
    files: (version) =>
      tinyBundle(version, { name: "kept", objects: [thingDefinition("kept.example.com"), ...listSettings("kept", version)] }),
    last: (client) => client.create({ apiVersion: "kept.example.com/v1", kind: "Thing", metadata: { name: "a", namespace: "default" } }),
  },
  {
    name: "leaving",
    what: "a definition that loses a version, and is deleted with its custom resources",
    spec: { uninstall: { crdPolicy: "Delete" } },
    during: async (client) => {
      const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "things.leaving.example.com" };
      await eventually(() => client.patch(crd, { status: { storedVersions: ["v1", "v2"] } }, { type: "merge", subresource: "status" }));
      return undefined;
    },
    last: (client) => client.create({ apiVersion: "leaving.example.com/v2", kind: "Thing", metadata: { name: "a", namespace: "default" } }),
    files: (version) =>
      tinyBundle(version, {
        name: "leaving",
        objects: [leavingDefinition("leaving.example.com", version), ...listSettings("leaving", version)],
      }),
  },
  {
    name: "sum",
    what: "an aggregated ClusterRole, and ClusterRoles for users",
    needsApproval: true,
    spec: { install: { userRoles: "Aggregate" } },
    files: (version) =>
      tinyBundle(version, {
        name: "sum",
        objects: [
          ...listSettings("sum", version),
          thingDefinition("sum.example.com"),
          clusterRole("sum-all", { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { sum: version } }] }, rules: [] }),
          clusterRoleBinding("sum", "sum-all", "sum-system"),
        ],
      }),
  },
  {
    name: "named",
    what: "permissions on objects by name",
    files: (version) =>
      tinyBundle(version, {
        name: "named",
        permissions: [
          permission("named", {
            apiGroups: [""],
            resources: ["configmaps", "secrets"],
            resourceNames: ["one", `two-${version}`],
            verbs: ["get", "update"],
          }),
        ],
        clusterPermissions: [
          permission("named", { apiGroups: [""], resources: ["namespaces"], resourceNames: ["default"], verbs: ["get"] }),
        ],
        objects: listSettings("named", version),
      }),
  },
  {
    name: "urls",
    what: "permissions on URLs",
    files: (version) =>
      tinyBundle(version, {
        name: "urls",
        clusterPermissions: [
          permission("urls", { nonResourceURLs: version === "1.0.0" ? ["/metrics"] : ["/metrics", "/healthz/*"], verbs: ["get"] }),
        ],
        objects: listSettings("urls", version),
      }),
  },
  {
    name: "kinds",
    what: "PriorityClass, NetworkPolicy and other optional kinds",
    files: (version) =>
      tinyBundle(version, { name: "kinds", objects: [...listSettings("kinds", version), ...listOptionalKinds("kinds", version)] }),
  },
  {
    name: "sourced",
    what: "a configuration from a ConfigMap",
    namespaces: ["sourced-system"],
    spec: {
      namespace: "sourced-system",
      config: { configType: "Inline", valuesFrom: [{ kind: "ConfigMap", name: "values", key: "values.yaml" }] },
    },
    before: (client) =>
      client.create({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "values", namespace: "sourced-system" },
        data: { "values.yaml": JSON.stringify({ deploymentConfig: { env: [{ name: "A", value: "1" }] } }) },
      }),
    files: (version) => tinyBundle(version, { name: "sourced", objects: listSettings("sourced", version) }),
  },
];

/** Returns the objects of a bundle in addition to its ClusterServiceVersion. */
function onlyObjects(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([path]) => path.startsWith("manifests/") && path !== "manifests/csv.yaml"));
}

/** Returns the versions of a shape for a catalog. */
export function toVersions({ files, requires }: BundleShape): PublishedVersion[] {
  const properties = requires ? propertiesFrom({ requires: [...requires] }) : [];
  return SHAPE_VERSIONS.map((version) => ({ version, files: files(version), properties }));
}
