import type { JsonObject, KubeObject, ObjectMeta } from "../api/k8s.ts";
import type { Property } from "../fbc/types.ts";

/** A bundle's files by slash path from its root, such as "manifests/csv.yaml"; those of the folders in `foldersToRead` count. */
export type BundleFiles = ReadonlyMap<string, Uint8Array>;

/** Scope that an operator can watch. Other texts occur in bundles (misspelt ones) and match nothing. */
export type InstallModeType = "AllNamespaces" | "MultiNamespace" | "OwnNamespace" | "SingleNamespace";

/** rbac/v1 PolicyRule, members in Go's order. */
export interface CsvPolicyRule {
  verbs: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** What one ServiceAccount of the operator may do; the name is empty for the namespace's default one. */
export interface StrategyPermission {
  serviceAccountName: string;
  rules: CsvPolicyRule[] | null;
}

/** A named object with a mount path, image or value, of which only these members are looked at. */
export interface Container {
  name: string;
  env?: NamedItem[];
  envFrom?: JsonObject[];
  volumeMounts?: { name: string; mountPath: string; [member: string]: unknown }[];
  resources: JsonObject;
  [member: string]: unknown;
}

/** An item that its list holds once by name, such as a volume or a variable. */
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

/** A webhook the operator serves. `type` may be any text in a broken bundle. */
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

/** A kind of an API that the operator serves itself, behind the aggregation layer of the API server. Any text may stand in a broken bundle. */
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
 * A ClusterServiceVersion as Go's typed structs hold it: unknown members and nulls are gone, quantities canonical,
 * members in the order in which Go prints them. Only the members read here are spelt out.
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

/** apiextensions/v1 CustomResourceDefinition after Go's typed structs, whatever its apiVersion says. */
export interface Crd extends KubeObject {
  spec: { conversion?: JsonObject; preserveUnknownFields?: boolean; [member: string]: unknown };
}

/** A CustomResourceDefinition that API servers take no more, and each step of turning it into one that they do. */
export interface LegacyCrd {
  name: string;
  conversion: string[];
}

/** What the metadata of a bundle says that it depends on. */
export interface DeclaredDependencies {
  /** In the form of a catalog's properties: `olm.package.required`, `olm.gvk.required`, `olm.constraint` and whatever else is stated. */
  properties: Property[];
  /** Parts that cannot be read, each with its file and place, for the bundle's author. */
  faults: string[];
}

/** A loaded registry+v1 bundle. */
export interface RegistryV1Bundle {
  /** From `metadata/annotations.yaml`; empty when it is not said. */
  packageName: string;
  csv: Csv;
  crds: Crd[];
  /** Those of `crds` whose manifest is of apiextensions.k8s.io/v1beta1, in the same order. */
  legacyCrds: LegacyCrd[];
  /** All other manifests, untouched but for the order of keys. */
  others: KubeObject[];
  dependencies: DeclaredDependencies;
  /** What was passed over in reading it and is its author's mistake, a sentence each, such as a second ClusterServiceVersion. */
  cautions: string[];
  /** `spec.version` of the CSV as it is written; empty where it has none, while `csv` then says 0.0.0 as Go does. */
  statedVersion: string;
}
