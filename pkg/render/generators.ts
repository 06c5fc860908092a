import { Reason } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import type { ProxyVariables } from "../api/proxy.ts";
import { listOwnedApiServices } from "../bundle/apiServices.ts";
import { MANIFEST_TYPES, sortKeys } from "../bundle/goTypes.ts";
import { uniqueName } from "../bundle/objectNames.ts";
import type {
  Crd,
  Csv,
  CsvPolicyRule,
  DeploymentSpec,
  RegistryV1Bundle,
  StrategyDeployment,
  StrategyPermission,
  WebhookDescription,
} from "../bundle/types.ts";
import { supportedScope } from "../bundle/validate.ts";
import { type CertificateProvider, certificateNames, withCertificateVolumes, withOwnMountsKept } from "../certificates/providers.ts";
import { RetryableError } from "../errors/errors.ts";
import type { DeploymentConfig } from "./config.ts";
import { chooseConfigs, withDeploymentConfig, withProxy } from "./deploymentConfig.ts";

/** What every generator may look at. */
export interface GeneratorOptions {
  readonly installNamespace: string;
  /** Namespaces the operator watches; `[""]` stands for all. */
  readonly targetNamespaces: readonly string[];
  readonly certProvider: CertificateProvider | undefined;
  /** The user's, applied one after another. */
  readonly deploymentConfigs: readonly DeploymentConfig[];
  readonly proxy: ProxyVariables | undefined;
}

/** Makes one group of a bundle's objects, in a stable order; it changes neither the bundle nor the options. */
export type Generator = (bundle: RegistryV1Bundle, options: GeneratorOptions) => KubeObject[];

/** Whether the operator watches all namespaces. */
function watchesAll({ targetNamespaces }: GeneratorOptions): boolean {
  return targetNamespaces.length === 1 && targetNamespaces[0] === "";
}

/**
 * The bundle's other manifests as they are, namespaced ones moved into the install namespace.
 * @throws RetryableError Retrying for a kind that bundles must not hold.
 */
export function additionalResources({ others }: RegistryV1Bundle, { installNamespace }: GeneratorOptions): KubeObject[] {
  return others.map((object) => {
    const scope = supportedScope(object.kind);
    if (scope === undefined) {
      throw refused(`bundle contains unsupported resource: Name: ${object.metadata?.name ?? ""}, Kind: ${object.kind}`);
    }
    return scope === "namespaced" ? inNamespace(object, installNamespace) : object;
  });
}

/** Metadata that is no map is left alone, as upstream does. */
function inNamespace(object: KubeObject, namespace: string): KubeObject {
  const metadata: unknown = object.metadata ?? ("metadata" in object ? null : {});
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return object;
  const moved = sortKeys({ ...metadata, namespace }) as KubeObject["metadata"];
  return "metadata" in object ? { ...object, metadata: moved } : (sortKeys({ ...(object as object), metadata: moved }) as KubeObject);
}

/**
 * The bundle's CRDs; those that a conversion webhook names get its conversion and the hint for the certificate provider.
 * @throws RetryableError Retrying for a CRD that keeps unknown fields or is named twice, which conversion rules out.
 */
export function crds({ csv, crds }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const webhooks = new Map<string, WebhookDescription>();
  for (const webhook of csv.spec.webhookdefinitions ?? []) {
    if (webhook.type !== "ConversionWebhook") continue;
    for (const name of webhook.conversionCRDs ?? []) {
      if (webhooks.has(name))
        throw refused(`custom resource definition '${name}' is referenced by multiple conversion webhook definitions`);
      webhooks.set(name, webhook);
    }
  }
  return crds.map((crd) => {
    const webhook = webhooks.get(crd.metadata.name);
    return webhook ? converted(crd, webhook, options) : crd;
  });
}

function converted(crd: Crd, webhook: WebhookDescription, { installNamespace, certProvider }: GeneratorOptions): KubeObject {
  const { name } = crd.metadata;
  if (crd.spec.preserveUnknownFields) {
    throw refused(
      `custom resource definition '${name}' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion`,
    );
  }
  const names = certificateNames(webhook.deploymentName ?? "", installNamespace);
  const service = {
    namespace: installNamespace,
    name: names.serviceName,
    path: webhook.webhookPath ?? "/",
    port: webhook.containerPort ?? 0,
  };
  const conversion = {
    strategy: "Webhook",
    webhook: { clientConfig: { service }, conversionReviewVersions: webhook.admissionReviewVersions },
  };
  const annotations = { ...crd.metadata.annotations, ...certProvider?.annotations("CustomResourceDefinition", names) };
  const changed = { ...crd, metadata: { ...crd.metadata, annotations }, spec: { ...crd.spec, conversion } };
  return MANIFEST_TYPES.convert("apiextensions/v1.CustomResourceDefinition", changed) as KubeObject;
}

function refused(text: string): RetryableError {
  return new RetryableError(Reason.Retrying, text, { problems: [newProblem("BundleInvalid", { message: text })] });
}

/**
 * The Deployments of the install strategy. Pod templates carry the CSV's annotations, overlaid by their own, and what the operator reads to
 * learn its scope; those that serve webhooks or APIs find their certificate mounted; the user's configuration and
 * the proxy of the cluster come last.
 */
export function deployments({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const withWebhooks = new Set((csv.spec.webhookdefinitions ?? []).map(({ deploymentName = "" }) => deploymentName));
  const withApis = new Set(listOwnedApiServices(csv).map(({ deploymentName }) => deploymentName));
  const all = csv.spec.install.spec.deployments ?? [];
  const configs = chooseConfigs(all, options.deploymentConfigs);
  return all.map((deployment, index) => {
    const mount = withApis.has(deployment.name)
      ? withOwnMountsKept
      : withWebhooks.has(deployment.name)
        ? withCertificateVolumes
        : undefined;
    return generated(csv, deployment, mount, { ...options, deploymentConfigs: configs[index] ?? [] });
  });
}

/** @param options with the configurations of this Deployment only. */
function generated(
  csv: Csv,
  { name, spec, label }: StrategyDeployment,
  mount: typeof withCertificateVolumes | undefined,
  options: GeneratorOptions,
): KubeObject {
  const { installNamespace, certProvider, deploymentConfigs, proxy } = options;
  let content = { annotations: {} as Record<string, string>, spec: withAnnotations(spec, csv, options) };
  if (certProvider && mount) {
    const secret = certProvider.secret(certificateNames(name, installNamespace));
    content = { ...content, spec: mount(content.spec, secret) };
  }
  for (const config of deploymentConfigs) content = withDeploymentConfig(content, config);
  content = withProxy(content, deploymentConfigs, proxy);
  return {
    kind: "Deployment",
    apiVersion: "apps/v1",
    metadata: MANIFEST_TYPES.convert("meta/v1.ObjectMeta", {
      name,
      namespace: installNamespace,
      labels: label,
      annotations: content.annotations,
    }) as KubeObject["metadata"],
    spec: MANIFEST_TYPES.convert("apps/v1.DeploymentSpec", content.spec),
    status: {},
  };
}

function withAnnotations(spec: DeploymentSpec, csv: Csv, { targetNamespaces, installNamespace }: GeneratorOptions): DeploymentSpec {
  const { template } = spec;
  const annotations = {
    ...csv.metadata.annotations,
    ...template.metadata.annotations,
    "olm.targetNamespaces": targetNamespaces.join(","),
    "olm.operatorNamespace": installNamespace,
  };
  return { ...spec, revisionHistoryLimit: 1, template: { ...template, metadata: { ...template.metadata, annotations } } };
}

const GROUP = "rbac.authorization.k8s.io";
const API_VERSION = `${GROUP}/v1`;
const DEFAULT_ACCOUNT = "default";
const READ_NAMESPACES: CsvPolicyRule = { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["namespaces"] };

/** A ServiceAccount for each name that permissions are given to, except the namespace's own default one. */
export function serviceAccounts({ csv }: RegistryV1Bundle, { installNamespace }: GeneratorOptions): KubeObject[] {
  const { permissions = [], clusterPermissions = [] } = csv.spec.install.spec;
  const names = new Set([...permissions, ...clusterPermissions].map(accountOf));
  names.delete(DEFAULT_ACCOUNT);
  return [...names].sort().map((name) => ({ kind: "ServiceAccount", apiVersion: "v1", metadata: { name, namespace: installNamespace } }));
}

/** A Role and RoleBinding for each permission in each watched namespace; none when all are watched. */
export function roles({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  if (watchesAll(options)) return [];
  const { permissions = [] } = csv.spec.install.spec;
  return options.targetNamespaces.flatMap((namespace) =>
    permissions.flatMap((permission) => granted("Role", csv.metadata.name ?? "", permission, options.installNamespace, namespace)),
  );
}

/** A ClusterRole and ClusterRoleBinding for each cluster permission and, when all namespaces are watched, for each permission as well. */
export function clusterRoles({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const { permissions = [], clusterPermissions = [] } = csv.spec.install.spec;
  const promoted = watchesAll(options)
    ? permissions.map((permission) => ({ ...permission, rules: [...(permission.rules ?? []), READ_NAMESPACES] }))
    : [];
  return [...clusterPermissions, ...promoted].flatMap((permission) =>
    granted("ClusterRole", csv.metadata.name ?? "", permission, options.installNamespace),
  );
}

function accountOf({ serviceAccountName }: StrategyPermission): string {
  return serviceAccountName || DEFAULT_ACCOUNT;
}

/** The role and its binding; the name changes with the permission. */
function granted(
  kind: "Role" | "ClusterRole",
  csvName: string,
  permission: StrategyPermission,
  installNamespace: string,
  namespace?: string,
): [role: KubeObject, binding: KubeObject] {
  const account = accountOf(permission);
  const name = uniqueName(`${csvName}-${account}`, permission);
  const metadata = namespace === undefined ? { name } : { name, namespace };
  return [
    { kind, apiVersion: API_VERSION, metadata, rules: permission.rules },
    {
      kind: `${kind}Binding`,
      apiVersion: API_VERSION,
      metadata,
      subjects: [{ kind: "ServiceAccount", name: account, namespace: installNamespace }],
      roleRef: { apiGroup: GROUP, kind, name },
    },
  ];
}
