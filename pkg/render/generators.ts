import { Reason } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import type { ProxyVariables } from "../api/proxy.ts";
import { listOwnedApiServices } from "../bundle/apiServices.ts";
import { MANIFEST_TYPES, sortKeys } from "../bundle/goTypes.ts";
import { buildUniqueName } from "../bundle/objectNames.ts";
import type {
  Crd,
  Csv,
  CsvPolicyRule,
  DeploymentSpec,
  NamedItem,
  RegistryV1Bundle,
  StrategyDeployment,
  StrategyPermission,
  WebhookDescription,
} from "../bundle/types.ts";
import { getSupportedScope } from "../bundle/validate.ts";
import { buildCertificateNames, type CertificateProvider, withCertificateVolumes, withOwnMountsKept } from "../certificates/providers.ts";
import { RetryableError } from "../errors/errors.ts";
import type { DeploymentConfig } from "./config.ts";
import { chooseConfigs, withDeploymentConfig, withImagePullSecrets, withProxy } from "./deploymentConfig.ts";
import { type OperatorConditionUse, withConditionName } from "./operatorCondition.ts";

/** Options of all generators. */
export interface GeneratorOptions {
  readonly installNamespace: string;
  /** Namespaces that the operator watches; `[""]` for all namespaces. */
  readonly targetNamespaces: readonly string[];
  readonly certProvider: CertificateProvider | undefined;
  /** The user's configurations, applied in order. */
  readonly deploymentConfigs: readonly DeploymentConfig[];
  readonly proxy: ProxyVariables | undefined;
  /** `spec.install.imagePullSecrets` of the extension. */
  readonly imagePullSecrets: readonly NamedItem[];
  /** Default: None. */
  readonly operatorCondition?: OperatorConditionUse | undefined;
}

/** Generates one group of objects of a bundle in a stable order. Does not change the bundle or the options. */
export type Generator = (bundle: RegistryV1Bundle, options: GeneratorOptions) => KubeObject[];

/** Whether the operator watches all namespaces. */
function watchesAll({ targetNamespaces }: GeneratorOptions): boolean {
  return targetNamespaces.length === 1 && targetNamespaces[0] === "";
}

/**
 * Returns the manifests other than CSV and CRDs. Sets the namespace of namespaced objects to the install namespace.
 * @throws RetryableError Retrying for a kind that bundles must not contain.
 */
export function generateAdditionalResources({ others }: RegistryV1Bundle, { installNamespace }: GeneratorOptions): KubeObject[] {
  return others.map((object) => {
    const scope = getSupportedScope(object.kind);
    if (scope === undefined) {
      throw createBundleError(`bundle contains unsupported resource: Name: ${object.metadata?.name ?? ""}, Kind: ${object.kind}`);
    }
    return scope === "namespaced" ? setNamespace(object, installNamespace) : object;
  });
}

/** Sets the namespace. Does not change metadata that is not a map, as upstream. */
function setNamespace(object: KubeObject, namespace: string): KubeObject {
  const metadata: unknown = object.metadata ?? ("metadata" in object ? null : {});
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return object;
  const moved = sortKeys({ ...metadata, namespace }) as KubeObject["metadata"];
  return "metadata" in object ? { ...object, metadata: moved } : (sortKeys({ ...(object as object), metadata: moved }) as KubeObject);
}

/**
 * Returns the CRDs of the bundle. Adds the conversion and the annotations of the certificate provider to CRDs with a conversion webhook.
 * @throws RetryableError Retrying for a CRD with a conversion webhook if the CRD preserves unknown fields or has several conversion webhooks.
 */
export function generateCrds({ csv, crds: generateCrds }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const webhooks = new Map<string, WebhookDescription>();
  for (const webhook of csv.spec.webhookdefinitions ?? []) {
    if (webhook.type !== "ConversionWebhook") continue;
    for (const name of webhook.conversionCRDs ?? []) {
      if (webhooks.has(name))
        throw createBundleError(`custom resource definition '${name}' is referenced by multiple conversion webhook definitions`);
      webhooks.set(name, webhook);
    }
  }
  return generateCrds.map((crd) => {
    const webhook = webhooks.get(crd.metadata.name);
    return webhook ? addConversion(crd, webhook, options) : crd;
  });
}

function addConversion(crd: Crd, webhook: WebhookDescription, { installNamespace, certProvider }: GeneratorOptions): KubeObject {
  const { name } = crd.metadata;
  if (crd.spec.preserveUnknownFields) {
    throw createBundleError(
      `custom resource definition '${name}' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion`,
    );
  }
  const names = buildCertificateNames(webhook.deploymentName ?? "", installNamespace);
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

function createBundleError(text: string): RetryableError {
  return new RetryableError(Reason.Retrying, text, { problems: [newProblem("BundleInvalid", { message: text })] });
}

/**
 * Returns the Deployments of the install strategy. Adds the annotations of the CSV to Pod templates unless they have the same annotation, and
 * annotations with the watched namespaces. Mounts the certificate in Deployments that serve webhooks or APIs. Then applies the user's configuration,
 * the cluster proxy, the name of the OperatorCondition and the user's pull secrets.
 */
export function generateDeployments({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
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
    return generateDeployment(csv, deployment, mount, { ...options, deploymentConfigs: configs[index] ?? [] });
  });
}

/** @param options contains only the configurations for this Deployment. */
function generateDeployment(
  csv: Csv,
  { name, spec, label }: StrategyDeployment,
  mount: typeof withCertificateVolumes | undefined,
  options: GeneratorOptions,
): KubeObject {
  const { installNamespace, certProvider, deploymentConfigs, proxy, imagePullSecrets, operatorCondition } = options;
  let content = { annotations: {} as Record<string, string>, spec: withAnnotations(spec, csv, options) };
  if (certProvider && mount) {
    const secret = certProvider.secret(buildCertificateNames(name, installNamespace));
    content = { ...content, spec: mount(content.spec, secret) };
  }
  for (const config of deploymentConfigs) content = withDeploymentConfig(content, config);
  content = withProxy(content, deploymentConfigs, proxy);
  content = withConditionName(content, csv, operatorCondition);
  content = withImagePullSecrets(content, imagePullSecrets);
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

/** Returns a ServiceAccount for each name in the permissions, except the default ServiceAccount of the namespace. */
export function generateServiceAccounts({ csv }: RegistryV1Bundle, { installNamespace }: GeneratorOptions): KubeObject[] {
  const { permissions = [], clusterPermissions = [] } = csv.spec.install.spec;
  const names = new Set([...permissions, ...clusterPermissions].map(getServiceAccount));
  names.delete(DEFAULT_ACCOUNT);
  return [...names].sort().map((name) => ({ kind: "ServiceAccount", apiVersion: "v1", metadata: { name, namespace: installNamespace } }));
}

/** Returns a Role and RoleBinding for each permission in each watched namespace; none if the operator watches all namespaces. */
export function generateRoles({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  if (watchesAll(options)) return [];
  const { permissions = [] } = csv.spec.install.spec;
  return options.targetNamespaces.flatMap((namespace) =>
    permissions.flatMap((permission) => generateRole("Role", csv.metadata.name ?? "", permission, options.installNamespace, namespace)),
  );
}

/** Returns a ClusterRole and ClusterRoleBinding for each cluster permission, and for each permission if the operator watches all namespaces. */
export function generateClusterRoles({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const { permissions = [], clusterPermissions = [] } = csv.spec.install.spec;
  const promoted = watchesAll(options)
    ? permissions.map((permission) => ({ ...permission, rules: [...(permission.rules ?? []), READ_NAMESPACES] }))
    : [];
  return [...clusterPermissions, ...promoted].flatMap((permission) =>
    generateRole("ClusterRole", csv.metadata.name ?? "", permission, options.installNamespace),
  );
}

function getServiceAccount({ serviceAccountName }: StrategyPermission): string {
  return serviceAccountName || DEFAULT_ACCOUNT;
}

/** Returns the role and its binding. Their name depends on the permission. */
function generateRole(
  kind: "Role" | "ClusterRole",
  csvName: string,
  permission: StrategyPermission,
  installNamespace: string,
  namespace?: string,
): [role: KubeObject, binding: KubeObject] {
  const account = getServiceAccount(permission);
  const name = buildUniqueName(`${csvName}-${account}`, permission);
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
