/** Severities, most severe first: an Error keeps the object from its desired state, a Warning does not, Info needs no action. */
export const PROBLEM_SEVERITIES = ["Error", "Warning", "Info"] as const;
export type ProblemSeverity = (typeof PROBLEM_SEVERITIES)[number];

/** Members of `details` of a problem. */
export type ProblemDetail =
  | "permissions"
  | "objects"
  | "crds"
  | "catalogs"
  | "candidates"
  | "quotas"
  | "dependencies"
  | "dependents"
  | "requirements"
  | "configuration"
  | "namespaces"
  | "finalizers"
  | "clusterUpgrade";

/** Describes a type of problems. */
export interface ProblemDescription {
  /** Kinds with problems of this type. */
  readonly on: readonly ("ClusterExtension" | "ClusterCatalog")[];
  /** Default severity. */
  readonly severity: ProblemSeverity;
  /** The cause; a sentence in Markdown. */
  readonly cause: string;
  /** The remedy; a sentence in Markdown. */
  readonly remedy: string;
  /** The member of `details` for this type. */
  readonly details?: ProblemDetail;
}

const EXTENSION = ["ClusterExtension"] as const;
const CATALOG = ["ClusterCatalog"] as const;
const BOTH = ["ClusterExtension", "ClusterCatalog"] as const;

/** All types of problems, in alphabetical order. Types are stable: scripts and alerts rely on them. */
export const PROBLEM_TYPES = {
  AmbiguousCatalogs: {
    on: EXTENSION,
    severity: "Error",
    details: "catalogs",
    cause: "Several catalogs of the same priority offer the package.",
    remedy: "Select one with `spec.source.catalog.selector`, or give one of them a higher `spec.priority`.",
  },
  AwaitingApproval: {
    on: EXTENSION,
    severity: "Info",
    cause: "`spec.approval` is `Manual`, and the next change has not been approved.",
    remedy: "Read the plan with `olmv1 plan NAME`, then run `olmv1 approve NAME`.",
  },
  BundleContentChanged: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The catalog names another image for the installed bundle and version. The controller keeps the installed content.",
    remedy: "Ask the catalog's author to publish the change as a new version.",
  },
  BundleInvalid: {
    on: EXTENSION,
    severity: "Error",
    cause:
      "The bundle cannot be installed because of a mistake of its author, such as a CustomResourceDefinition in an API version that Kubernetes no longer serves.",
    remedy: "Choose another version with `spec.source.catalog.version`. Authors find the mistake with `olmv1 bundle validate`.",
  },
  BundleNotFound: {
    on: EXTENSION,
    severity: "Error",
    details: "candidates",
    cause: "No bundle in the selected catalogs satisfies `spec.source.catalog`.",
    remedy: "Run `olmv1 resolve NAME --explain`, then change the version range, the channels or the selector.",
  },
  BundleWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause:
      "The installed bundle has mistakes that do not prevent the installation, such as another version in its ClusterServiceVersion than in the catalog.",
    remedy: "Report them to the bundle's author.",
  },
  CatalogEmpty: {
    on: CATALOG,
    severity: "Warning",
    cause: "The catalog image contains no package.",
    remedy: "Check `spec.source.image.ref`, and the label `operators.operatorframework.io.index.configs.v1` of the image.",
  },
  CatalogInvalid: {
    on: CATALOG,
    severity: "Error",
    cause: "The content of the catalog image is not a valid file-based catalog. catalogd serves the last valid content, if there is any.",
    remedy: "Authors find the mistakes with `olmv1 catalog validate`.",
  },
  CatalogUnavailable: {
    on: EXTENSION,
    severity: "Warning",
    details: "catalogs",
    cause: "The controller cannot read a selected catalog. It keeps the installed bundle, or resolves from the other catalogs.",
    remedy: "Run `kubectl describe clustercatalog NAME`.",
  },
  CatalogWarning: {
    on: CATALOG,
    severity: "Warning",
    cause: "catalogd serves the catalog, and its checks found mistakes in the content.",
    remedy: "Read condition `Valid`, or run `olmv1 catalog validate`.",
  },
  ClusterUpgradeBlocked: {
    on: EXTENSION,
    severity: "Warning",
    details: "clusterUpgrade",
    cause: "The installed bundle does not support the next minor version of the OpenShift cluster, so the cluster cannot be upgraded.",
    remedy: "Upgrade the extension to a version that supports it. Run `olmv1 cluster-upgrade-check`.",
  },
  ClusterVersionNotSupported: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The bundle's `olm.maxOpenShiftVersion` is lower than the version of the cluster.",
    remedy: "Choose a newer version. With `clusterVersionPolicy: Warn` the controller installs the bundle anyway.",
  },
  ConfigurationSourceNotFound: {
    on: EXTENSION,
    severity: "Error",
    details: "configuration",
    cause: "A Secret or ConfigMap that `spec.config.valuesFrom` names does not exist or lacks the key.",
    remedy: "Create it, or mark it as optional. The controller retries within seconds.",
  },
  ConfigurationWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "A part of `spec.config` has no effect, or the controller learns about its changes late.",
    remedy: "Follow the message.",
  },
  ConversionNeeded: {
    on: EXTENSION,
    severity: "Error",
    details: "crds",
    cause: "Custom resources that are kept need the conversion webhook that the uninstall or upgrade would remove.",
    remedy: "Delete the custom resources, or set annotation `olm.operatorframework.io/drop-conversion`.",
  },
  CRDUpgradeUnsafe: {
    on: EXTENSION,
    severity: "Error",
    details: "crds",
    cause: "A CustomResourceDefinition of the bundle would lose data of existing custom resources or break their users.",
    remedy: "Choose another version, or configure `spec.install.preflight.crdUpgradeSafety`.",
  },
  DependenciesInstalling: {
    on: EXTENSION,
    severity: "Info",
    details: "dependencies",
    cause: "`spec.dependencies.policy` is `Install`, and the controller installs dependencies before the bundle.",
    remedy: "Wait, or run `olmv1 describe` for the extension that the message names.",
  },
  DriftDetected: {
    on: EXTENSION,
    severity: "Warning",
    details: "objects",
    cause: "Objects of the installed bundle were changed, and `spec.drift` keeps the controller from correcting them.",
    remedy: "Revert the changes, or set `spec.drift.policy` to `Correct`.",
  },
  DriftUnwatched: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The ServiceAccount may not watch some objects, so the controller compares them at intervals only.",
    remedy: "Grant `watch`. `olmv1 rbac` prints the exact roles.",
  },
  FinalizersBlockDeletion: {
    on: EXTENSION,
    severity: "Info",
    details: "finalizers",
    cause: "The extension is uninstalled, but other finalizers keep the ClusterExtension.",
    remedy: "Wait for the controllers that own these finalizers, or remove them.",
  },
  ImagePullFailed: {
    on: BOTH,
    severity: "Error",
    cause: "The image cannot be pulled or unpacked.",
    remedy: "Check the reference, the pull secrets and the registry.",
  },
  ImageRejected: {
    on: BOTH,
    severity: "Error",
    cause: "The signature policy rejects the image.",
    remedy: "Sign the image, or change the policy: [image signatures](../how-to/image-signatures.md).",
  },
  InvalidConfiguration: {
    on: EXTENSION,
    severity: "Error",
    details: "configuration",
    cause: "`spec.config` does not match the configuration schema of the bundle.",
    remedy: "Correct the fields in `details`. `olmv1 bundle config-schema` prints the schema.",
  },
  InvalidSpec: {
    on: BOTH,
    severity: "Error",
    cause: "A field of `spec` or an annotation has an invalid value that the schema cannot reject.",
    remedy: "Correct the field that the message names.",
  },
  KindConflict: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "Another CustomResourceDefinition already defines a kind of the bundle.",
    remedy: "Remove the other definition, or do not install the bundle.",
  },
  KindNotServed: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "The bundle contains objects of a kind that the cluster does not serve.",
    remedy: "Install the API first, such as a monitoring operator. The controller retries within seconds.",
  },
  MissingPermissions: {
    on: EXTENSION,
    severity: "Error",
    details: "permissions",
    cause: "The ServiceAccount lacks permissions that the bundle needs.",
    remedy: "Grant them. `olmv1 rbac` prints the exact roles. The controller retries within seconds.",
  },
  NamespaceNotFound: {
    on: EXTENSION,
    severity: "Error",
    details: "namespaces",
    cause: "A namespace does not exist.",
    remedy: "Create it. The controller retries within seconds.",
  },
  ObjectConflict: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "An object of the bundle already exists and belongs to another owner.",
    remedy: "Remove the object or its owner. The controller retries within seconds.",
  },
  ObjectRejected: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "The API server, an admission policy or a webhook rejects an object of the bundle.",
    remedy: "Follow the message of the API server.",
  },
  ProgressDeadlineExceeded: {
    on: EXTENSION,
    severity: "Error",
    cause: "The rollout takes longer than `spec.progressDeadlineMinutes`.",
    remedy: "Run `olmv1 tree NAME` to find the object that is not ready.",
  },
  ProxyWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "Deployments of the bundle do not have the proxy settings of the cluster.",
    remedy: "Follow the message.",
  },
  QuotaExceeded: {
    on: EXTENSION,
    severity: "Error",
    details: "quotas",
    cause: "A ResourceQuota has no room for the objects of the bundle.",
    remedy: "Raise the quota, or free resources. The controller retries within seconds.",
  },
  ReconcileFailed: {
    on: BOTH,
    severity: "Error",
    cause: "An operation failed for a reason that has no type of its own.",
    remedy: "Read the message. The controller retries automatically while condition `Progressing` is True.",
  },
  RegistryUnavailable: {
    on: BOTH,
    severity: "Error",
    cause: "The registry cannot be reached, or it denies the request.",
    remedy: "Check the registry, the proxy, the pull secrets and the certificate authorities.",
  },
  ReleaseUnreadable: {
    on: EXTENSION,
    severity: "Error",
    cause: "A release Secret of the extension is missing or damaged.",
    remedy: "Restore the Secret, or run `olmv1 history NAME`.",
  },
  RequiredByOthers: {
    on: EXTENSION,
    severity: "Error",
    details: "dependents",
    cause: "Other extensions depend on the extension that is being deleted.",
    remedy: "Uninstall the dependents first, or set annotation `olm.operatorframework.io/force-uninstall`.",
  },
  RequirementsNotMet: {
    on: EXTENSION,
    severity: "Error",
    details: "requirements",
    cause: "The cluster lacks a Kubernetes version or APIs that the bundle requires.",
    remedy:
      "Install the missing APIs or upgrade the cluster. With `spec.install.requirements: Warn` the controller installs the bundle anyway.",
  },
  RevisionPinned: {
    on: EXTENSION,
    severity: "Info",
    cause: "Annotation `olm.operatorframework.io/rollback-to` keeps the extension at an earlier release.",
    remedy: "Remove the annotation to follow the catalogs again: `olmv1 rollback NAME --cancel`.",
  },
  RolledBack: {
    on: EXTENSION,
    severity: "Error",
    cause: "An upgrade failed, and the controller restored the previous release.",
    remedy: "Read the message, then correct the cause or choose another version.",
  },
  ServiceAccountNotFound: {
    on: EXTENSION,
    severity: "Error",
    cause: "The ServiceAccount that `spec.serviceAccount` names does not exist.",
    remedy: "Create it: `olmv1 rbac` prints it with the permissions that the bundle needs. The controller retries within seconds.",
  },
  ServiceAccountNotSet: {
    on: EXTENSION,
    severity: "Error",
    cause: "`spec.serviceAccount.name` is empty, and the controller requires it.",
    remedy: "Set it. `olmv1 rbac` prints a ServiceAccount with the permissions that the bundle needs.",
  },
  StorageFailed: {
    on: CATALOG,
    severity: "Error",
    cause: "catalogd cannot write the content, for example because the disk is full.",
    remedy: "Check the volume of catalogd.",
  },
  Suspended: {
    on: EXTENSION,
    severity: "Info",
    cause: "`spec.suspend` is true, and the controller changes nothing.",
    remedy: "Set `spec.suspend` to false.",
  },
  TokenDenied: {
    on: EXTENSION,
    severity: "Error",
    cause: "The controller may not create tokens for the ServiceAccount.",
    remedy: "Run `olmv1 rbac --token-only`, which prints the role. The controller retries within seconds.",
  },
  Unhealthy: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "An object of the installed bundle is not healthy.",
    remedy: "Run `olmv1 tree NAME`. If it worked before an upgrade, run `olmv1 rollback NAME`.",
  },
  UnsatisfiedDependencies: {
    on: EXTENSION,
    severity: "Error",
    details: "dependencies",
    cause: "A dependency of the bundle is neither installed nor served by the cluster.",
    remedy: "Install it, or set `spec.dependencies.policy` to `Install`.",
  },
  UpgradeWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The controller installs a version that no upgrade edge leads to, or that a newer bundle skips.",
    remedy: "Choose a version that the channel recommends.",
  },
} as const satisfies Record<string, ProblemDescription>;

/** Type of a problem. */
export type ProblemType = keyof typeof PROBLEM_TYPES;

/** Limits of `status.problems`: number of problems, bytes of their JSON, entries per list in `details`; characters of messages, other texts and names. */
export const PROBLEM_LIMITS = { problems: 20, bytes: 8_192, entries: 20, message: 2_000, text: 512, name: 256 } as const;
