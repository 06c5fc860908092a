import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { migrateMeta } from "../../../pkg/authoring/render/migrate.ts";
import { renderCatalogBundle } from "../../../pkg/authoring/render/renderBundle.ts";
import type { WebhookDescription } from "../../../pkg/bundle/types.ts";
import { LIFECYCLE_SCHEMA } from "../../../pkg/fbc/lifecycleDocument.ts";
import type { ChannelEntry, Property } from "../../../pkg/fbc/types.ts";
import type { PolicyRule } from "../../../pkg/rbac/policyRule.ts";
import { type CrdFixture, defineCrd } from "./customResources.ts";
import type { Icon } from "./icons.ts";

/** Time after which Kubernetes reports that a rollout makes no progress, in seconds. */
const DAY_SECONDS = 86_400;

/** A Deployment of an operator. */
interface DeploymentFixture {
  readonly name: string;
  readonly replicas?: number;
  readonly args?: readonly string[];
  readonly memory?: string;
  /** Annotations of the Pods. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One version of an operator. */
export interface OperatorVersion {
  readonly version: string;
  readonly crds?: readonly CrdFixture[];
  /** Objects in addition to Deployments, roles and CustomResourceDefinitions. */
  readonly objects?: readonly KubeObject[];
  /** Permissions of the operator in the whole cluster, in addition to those on its custom resources. */
  readonly clusterPermissions?: readonly PolicyRule[];
  /** Default: one controller manager. */
  readonly deployments?: readonly DeploymentFixture[];
  readonly webhooks?: readonly Partial<WebhookDescription>[];
  /** Dependencies, as in `metadata/dependencies.yaml`. */
  readonly dependencies?: readonly Property[];
  readonly minKubeVersion?: string;
}

/** A deprecation of a package, channel or bundle. */
interface DeprecationFixture {
  readonly reference: { readonly schema: string; readonly name?: string };
  readonly message: string;
}

/** A package of a catalog: an operator with its texts, versions and channels. */
export interface OperatorPackage {
  readonly name: string;
  readonly displayName: string;
  /** One sentence. */
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  readonly provider: { readonly name: string; readonly url?: string };
  readonly maintainers?: readonly { readonly name: string; readonly email: string }[];
  readonly links?: readonly { readonly name: string; readonly url: string }[];
  readonly keywords: readonly string[];
  readonly categories: string;
  readonly capabilities: string;
  readonly icon: Icon;
  /** Oldest first. */
  readonly versions: readonly OperatorVersion[];
  /** Entries by channel. Default: channel `stable`, in which each version replaces the one before. */
  readonly channels?: Readonly<Record<string, readonly ChannelEntry[]>>;
  /** Default: the first channel. */
  readonly defaultChannel?: string;
  readonly deprecations?: readonly DeprecationFixture[];
  /** Minor versions with full support until a day, in the form YYYY-MM-DD. Default: the catalog has no support phases. */
  readonly supportedUntil?: Readonly<Record<string, string>>;
  /** CPU architectures of the images. Default: amd64 and arm64. */
  readonly architectures?: readonly string[];
  /** Annotations of the ClusterServiceVersion, in addition to the usual ones. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Returns the name of a bundle. */
export function nameBundle(packageName: string, version: string): string {
  return `${packageName}.v${version}`;
}

/** Returns the entries of a channel in which each version replaces the one before. */
export function chainVersions(packageName: string, versions: readonly string[]): ChannelEntry[] {
  return versions.map((version, at) => {
    const before = versions[at - 1];
    return { name: nameBundle(packageName, version), ...(before === undefined ? {} : { replaces: nameBundle(packageName, before) }) };
  });
}

/** Returns the files of a registry+v1 bundle. JSON is YAML. */
export function buildBundleFiles(operator: OperatorPackage, of: OperatorVersion): Map<string, Uint8Array> {
  const { name } = operator;
  const files: Record<string, unknown> = {
    "metadata/annotations.yaml": {
      annotations: {
        "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
        "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
        "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
        "operators.operatorframework.io.bundle.package.v1": name,
        "operators.operatorframework.io.bundle.channels.v1": Object.keys(listChannels(operator)).join(","),
      },
    },
    [`manifests/${name}.clusterserviceversion.yaml`]: buildCsv(operator, of),
  };
  if (of.dependencies) files["metadata/dependencies.yaml"] = { dependencies: of.dependencies };
  for (const crd of of.crds ?? []) files[`manifests/${crd.group}_${crd.plural}.yaml`] = defineCrd(crd);
  for (const object of of.objects ?? []) files[`manifests/${object.kind.toLowerCase()}-${object.metadata.name}.yaml`] = object;
  return new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(`${JSON.stringify(content, undefined, 2)}\n`)]));
}

/** Returns the objects of the package in a catalog. @param imageOf returns the reference of a version's bundle. */
export function buildCatalogMetas(operator: OperatorPackage, imageOf: (version: string) => string): JsonObject[] {
  const { name, summary, icon, versions, deprecations = [], supportedUntil } = operator;
  const channels = listChannels(operator);
  return [
    { schema: "olm.package", name, defaultChannel: operator.defaultChannel ?? Object.keys(channels)[0] ?? "", description: summary, icon },
    ...Object.entries(channels).map(([channel, entries]) => ({ schema: "olm.channel", package: name, name: channel, entries })),
    ...versions.map((of) => {
      const { meta } = renderCatalogBundle(buildBundleFiles(operator, of), ({ version }) => imageOf(version));
      return migrateMeta(meta, "bundle-object-to-csv-metadata").blob;
    }),
    ...(deprecations.length === 0 ? [] : [{ schema: "olm.deprecations", package: name, entries: deprecations }]),
    ...(supportedUntil ? [{ schema: LIFECYCLE_SCHEMA, package: name, versions: listSupportPhases(supportedUntil) }] : []),
  ];
}

function listSupportPhases(until: Readonly<Record<string, string>>): object[] {
  return Object.entries(until).map(([name, endDate]) => ({ name, phases: [{ name: "Full support", startDate: "2024-01-01", endDate }] }));
}

function listChannels({ name, versions, channels }: OperatorPackage): Readonly<Record<string, readonly ChannelEntry[]>> {
  return (
    channels ?? {
      stable: chainVersions(
        name,
        versions.map(({ version }) => version),
      ),
    }
  );
}

function buildCsv(operator: OperatorPackage, of: OperatorVersion): KubeObject {
  const { name, displayName, summary, description, provider, keywords, categories, capabilities, icon } = operator;
  const { version, crds = [], deployments = [{ name: `${name}-controller-manager` }], webhooks, minKubeVersion } = of;
  const labels = Object.fromEntries(
    (operator.architectures ?? ["amd64", "arm64"]).map((one) => [`operatorframework.io/arch.${one}`, "supported"]),
  );
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: {
      name: nameBundle(name, version),
      labels,
      annotations: {
        "alm-examples": JSON.stringify(
          crds.flatMap(({ example }) => example ?? []),
          undefined,
          2,
        ),
        capabilities,
        categories,
        containerImage: formatImage(name, version),
        createdAt: createdAt(version),
        description: summary,
        repository: `https://github.example.com/${name}`,
        support: provider.name,
        ...operator.annotations,
      },
    },
    spec: {
      displayName,
      description,
      version,
      maturity: version.startsWith("0.") ? "alpha" : "stable",
      minKubeVersion: minKubeVersion ?? "1.28.0",
      provider,
      maintainers: operator.maintainers ?? [{ name: `${provider.name} maintainers`, email: "operators@example.com" }],
      links: operator.links ?? [
        { name: "Documentation", url: `https://docs.example.com/${name}` },
        { name: "Source code", url: `https://github.example.com/${name}` },
      ],
      keywords,
      icon: [icon],
      installModes: ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map((type) => ({
        type,
        supported: type === "AllNamespaces",
      })),
      customresourcedefinitions: {
        owned: crds.flatMap(({ group, plural, kind, displayName: shown, description: about, versions }) =>
          versions
            .filter(({ served }) => served !== false)
            .map(({ name: crdVersion }) => ({
              name: `${plural}.${group}`,
              version: crdVersion,
              kind,
              displayName: shown ?? kind,
              description: about,
            })),
        ),
      },
      relatedImages: [{ name, image: formatImage(name, version) }],
      ...(webhooks ? { webhookdefinitions: webhooks } : {}),
      install: {
        strategy: "deployment",
        spec: {
          clusterPermissions: [{ serviceAccountName: name, rules: listClusterRules(of) }],
          permissions: [
            {
              serviceAccountName: name,
              rules: [
                { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
                { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
                { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
              ],
            },
          ],
          deployments: deployments.map((deployment) => buildDeployment(name, version, deployment)),
        },
      },
    },
  };
}

function listClusterRules({ crds = [], clusterPermissions = [] }: OperatorVersion): PolicyRule[] {
  const own = crds.flatMap(({ group, plural }) => [
    { apiGroups: [group], resources: [plural], verbs: ["get", "list", "watch", "update", "patch"] },
    { apiGroups: [group], resources: [`${plural}/status`, `${plural}/finalizers`], verbs: ["get", "update", "patch"] },
  ]);
  return [...own, ...clusterPermissions];
}

function buildDeployment(
  packageName: string,
  version: string,
  { name, replicas = 1, memory = "128Mi", ...more }: DeploymentFixture,
): JsonObject {
  const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": packageName };
  return {
    name,
    label: labels,
    spec: {
      replicas,
      // The states of a rollout stay the same while the world runs.
      progressDeadlineSeconds: DAY_SECONDS,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(more.annotations ? { annotations: more.annotations } : {}) },
        spec: {
          serviceAccountName: packageName,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [
            {
              name: "manager",
              image: formatImage(packageName, version),
              args: more.args ?? ["--leader-elect", "--metrics-bind-address=:8443"],
              ports: [
                { name: "metrics", containerPort: 8443 },
                { name: "probes", containerPort: 8081 },
              ],
              livenessProbe: { httpGet: { path: "/healthz", port: "probes" } },
              readinessProbe: { httpGet: { path: "/readyz", port: "probes" } },
              resources: { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory } },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] }, readOnlyRootFilesystem: true },
            },
          ],
        },
      },
    },
  };
}

function formatImage(packageName: string, version: string): string {
  return `quay.io/example/${packageName}:v${version}`;
}

/** Returns a date that depends only on the version, so that images have stable digests and newer versions have later dates. */
function createdAt(version: string): string {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const days = major * 240 + minor * 17 + patch * 3;
  return `${new Date(Date.UTC(2024, 0, 8, 9) + days * 86_400_000).toISOString().slice(0, 19)}Z`;
}
