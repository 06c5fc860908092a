import type { JsonObject, KubeObject, ObjectMeta } from "../api/k8s.ts";
import type { Property } from "../fbc/types.ts";

/** The files of a bundle by path, such as "manifests/csv.yaml". Only files in the folders that `listFolders` returns are used. */
export type BundleFiles = ReadonlyMap<string, Uint8Array>;

/** A scope that an operator can watch. Bundles can also contain misspelt values, which have no effect. */
export type InstallModeType = "AllNamespaces" | "MultiNamespace" | "OwnNamespace" | "SingleNamespace";

/** rbac/v1 PolicyRule, with fields in the order of Go. */
export interface CsvPolicyRule {
  verbs: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** The permissions of a ServiceAccount of the operator. The name is empty for ServiceAccount default. */
export interface StrategyPermission {
  serviceAccountName: string;
  rules: CsvPolicyRule[] | null;
}

/** A container. Only the fields that are used are declared. */
export interface Container {
  name: string;
  env?: NamedItem[];
  envFrom?: JsonObject[];
  volumeMounts?: { name: string; mountPath: string; [member: string]: unknown }[];
  resources: JsonObject;
  [member: string]: unknown;
}

/** An item with a unique name in its list, such as a volume or a variable. */
export interface NamedItem {
  name: string;
  [member: string]: unknown;
}

/** core/v1 PodTemplateSpec. */
export interface PodTemplate {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string>; [member: string]: unknown };
  spec: {
    containers: Container[] | null;
    initContainers?: Container[];
    volumes?: NamedItem[];
    imagePullSecrets?: NamedItem[];
    tolerations?: JsonObject[];
    nodeSelector?: Record<string, string>;
    affinity?: Record<string, JsonObject>;
    [member: string]: unknown;
  };
}

/** apps/v1 DeploymentSpec. */
export interface DeploymentSpec {
  selector: { matchLabels?: Record<string, string>; [member: string]: unknown } | null;
  template: PodTemplate;
  [member: string]: unknown;
}

/** A Deployment of the install strategy. */
export interface StrategyDeployment {
  name: string;
  spec: DeploymentSpec;
  label?: Record<string, string>;
}

/** A webhook that the operator serves. `type` can be any text in an invalid bundle. */
export interface WebhookDescription {
  generateName: string;
  type: string;
  deploymentName?: string;
  containerPort?: number;
  targetPort?: number | string;
  rules?: { apiGroups?: string[]; resources?: string[]; [member: string]: unknown }[];
  failurePolicy?: string;
  matchPolicy?: string;
  objectSelector?: JsonObject;
  sideEffects: string | null;
  timeoutSeconds?: number;
  admissionReviewVersions: string[] | null;
  reinvocationPolicy?: string;
  webhookPath?: string;
  conversionCRDs?: string[];
}

/** A kind that the operator serves through the aggregation layer. Values can be any text in an invalid bundle. */
export interface ApiServiceDescription {
  /** Plural name in paths. */
  name: string;
  group: string;
  version: string;
  kind: string;
  deploymentName?: string;
  containerPort?: number;
}

/**
 * A ClusterServiceVersion after conversion to Go's typed structs: without unknown and null fields, with canonical quantities, and with fields in the
 * order of Go. Only the fields that are used are declared.
 */
export interface Csv {
  apiVersion?: string;
  kind: string;
  metadata: Omit<ObjectMeta, "name"> & { name?: string };
  spec: {
    install: {
      strategy: string;
      spec: {
        deployments: StrategyDeployment[] | null;
        permissions?: StrategyPermission[];
        clusterPermissions?: StrategyPermission[];
      };
    };
    version: string;
    customresourcedefinitions: { owned?: { name: string }[]; required?: { name: string; version: string; kind: string }[] };
    apiservicedefinitions: { owned?: ApiServiceDescription[]; required?: JsonObject[] };
    webhookdefinitions?: WebhookDescription[];
    installModes?: { type: string; supported: boolean }[];
    minKubeVersion?: string;
    [member: string]: unknown;
  };
  [member: string]: unknown;
}

/** A CustomResourceDefinition of any apiVersion after conversion to the Go struct of apiextensions/v1. */
export interface Crd extends KubeObject {
  spec: { conversion?: JsonObject; preserveUnknownFields?: boolean; [member: string]: unknown };
}

/** A CustomResourceDefinition of a removed API version and the steps to convert it. */
export interface LegacyCrd {
  name: string;
  conversion: string[];
}

/** The dependencies in the metadata of a bundle. */
export interface DeclaredDependencies {
  /** In the form of catalog properties: `olm.package.required`, `olm.gvk.required`, `olm.constraint` and other declared types. */
  properties: Property[];
  /** Errors of invalid parts with file and location. */
  faults: string[];
}

/** A loaded registry+v1 bundle. */
export interface RegistryV1Bundle {
  /** From `metadata/annotations.yaml`; empty if not set. */
  packageName: string;
  csv: Csv;
  crds: Crd[];
  /** The `crds` whose manifest uses apiextensions.k8s.io/v1beta1, in the same order. */
  legacyCrds: LegacyCrd[];
  /** All other manifests, with sorted keys. */
  others: KubeObject[];
  dependencies: DeclaredDependencies;
  /** A sentence for each part that is skipped because of a mistake by the author, such as a second ClusterServiceVersion. */
  cautions: string[];
  /** Unparsed `spec.version` of the CSV; empty if not set, although `csv` then has version 0.0.0 as in Go. */
  statedVersion: string;
}
