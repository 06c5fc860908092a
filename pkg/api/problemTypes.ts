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
  | "clusterUpgrade"
  | "locations"
  | "signatures";

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
    cause: "Several catalogs with the same priority contain the package.",
    remedy: "Select one with `spec.source.catalog.selector`, or raise the `spec.priority` of one.",
  },
  AwaitingApproval: {
    on: EXTENSION,
    severity: "Info",
    cause: "A plan waits for approval, because `spec.approval` is `Manual`.",
    remedy: "Read it with `olmv1 plan NAME`, then run `olmv1 approve NAME`.",
  },
  BackupRequired: {
    on: EXTENSION,
    severity: "Error",
    details: "crds",
    cause: "The uninstall would delete custom resources that the last backup does not contain, and `spec.uninstall.backup` is Required.",
    remedy: "Run `olmv1 backup`, or set `spec.uninstall.backup` to Optional.",
  },
  BundleContentChanged: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The catalog has a different image for the installed bundle and version. The controller keeps the installed content.",
    remedy: "Ask the catalog author to publish a new version.",
  },
  BundleInvalid: {
    on: EXTENSION,
    severity: "Error",
    cause: "The bundle has a mistake that prevents its installation.",
    remedy: "Choose another version with `spec.source.catalog.version`. Authors find the mistake with `olmv1 bundle validate`.",
  },
  BundleNotFound: {
    on: EXTENSION,
    severity: "Error",
    details: "candidates",
    cause: "No bundle in the selected catalogs satisfies `spec.source.catalog`.",
    remedy: "Run `olmv1 resolve NAME --explain`, then change the version range, channels or selector.",
  },
  BundleWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The installed bundle has mistakes, such as another version in its ClusterServiceVersion than in the catalog.",
    remedy: "Report them to its author.",
  },
  CatalogEmpty: {
    on: CATALOG,
    severity: "Warning",
    cause: "The catalog image contains no package.",
    remedy: "Check `spec.source.image.ref`, and the image label `operators.operatorframework.io.index.configs.v1`.",
  },
  CatalogInvalid: {
    on: CATALOG,
    severity: "Error",
    cause: "The image does not contain a valid file-based catalog. catalogd serves the last valid content, if any.",
    remedy: "Authors find the mistakes with `olmv1 catalog validate`.",
  },
  CatalogUnavailable: {
    on: EXTENSION,
    severity: "Warning",
    details: "catalogs",
    cause: "A selected catalog cannot be read. The controller keeps the installed bundle, or uses the other catalogs.",
    remedy: "Run `kubectl describe clustercatalog NAME`.",
  },
  CatalogWarning: {
    on: CATALOG,
    severity: "Warning",
    cause: "The served content has mistakes.",
    remedy: "Read condition `Valid`, or run `olmv1 catalog validate`.",
  },
  ClusterUpgradeBlocked: {
    on: EXTENSION,
    severity: "Warning",
    details: "clusterUpgrade",
    cause: "The installed bundle does not support the next minor OpenShift version and blocks the cluster upgrade.",
    remedy: "Upgrade the extension; see `olmv1 cluster-upgrade-check`.",
  },
  ClusterVersionNotSupported: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The bundle's `olm.maxOpenShiftVersion` is lower than the version of the cluster.",
    remedy: "Choose a newer version. `clusterVersionPolicy: Warn` allows the installation.",
  },
  ConfigurationSourceNotFound: {
    on: EXTENSION,
    severity: "Error",
    details: "configuration",
    cause: "A Secret, ConfigMap or key in `spec.config.valuesFrom` does not exist.",
    remedy: "Create it, or mark it as optional.",
  },
  ConfigurationWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "A part of `spec.config` has no effect, or the controller detects changes to it late.",
    remedy: "Follow the instructions in the message.",
  },
  ConversionNeeded: {
    on: EXTENSION,
    severity: "Error",
    details: "crds",
    cause: "Kept custom resources need the conversion webhook that the uninstall or upgrade would remove.",
    remedy: "Delete the custom resources, or set annotation `olm.operatorframework.io/drop-conversion`.",
  },
  CRDUpgradeUnsafe: {
    on: EXTENSION,
    severity: "Error",
    details: "crds",
    cause: "A CustomResourceDefinition of the bundle could lose data of custom resources or break their users.",
    remedy: "Choose another version, or configure `spec.install.preflight.crdUpgradeSafety`.",
  },
  DependenciesInstalling: {
    on: EXTENSION,
    severity: "Info",
    details: "dependencies",
    cause: "The controller installs dependencies first (`spec.dependencies.policy: Install`).",
    remedy: "Wait, or run `olmv1 describe` for the extension in the message.",
  },
  DriftDetected: {
    on: EXTENSION,
    severity: "Warning",
    details: "objects",
    cause: "Installed objects were changed, and `spec.drift` does not allow correction.",
    remedy: "Revert the changes, or set `spec.drift.policy` to `Correct`.",
  },
  DriftUnwatched: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The ServiceAccount may not watch some objects, so the controller compares them periodically.",
    remedy: "Grant `watch`; `olmv1 rbac` prints the roles.",
  },
  FinalizersBlockDeletion: {
    on: EXTENSION,
    severity: "Info",
    details: "finalizers",
    cause: "The extension is uninstalled, but other finalizers remain.",
    remedy: "Wait until their controllers remove them, or remove them yourself.",
  },
  ImagePullFailed: {
    on: BOTH,
    severity: "Error",
    details: "locations",
    cause: "The image cannot be pulled or unpacked.",
    remedy: "Check the image reference, pull secrets and registry.",
  },
  ImageRejected: {
    on: BOTH,
    severity: "Error",
    details: "signatures",
    cause: "The signature policy rejects the image.",
    remedy: "Sign the image or change the policy: [image signatures](../how-to/image-signatures.md#reasons).",
  },
  InvalidConfiguration: {
    on: EXTENSION,
    severity: "Error",
    details: "configuration",
    cause: "`spec.config` does not match the schema of the bundle.",
    remedy: "Correct the fields in `details`; `olmv1 bundle config-schema` prints the schema.",
  },
  InvalidSpec: {
    on: BOTH,
    severity: "Error",
    cause: "A field of `spec` or an annotation is invalid.",
    remedy: "Correct the field in the message.",
  },
  KindConflict: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "Another CustomResourceDefinition already defines a kind that the bundle defines.",
    remedy: "Remove the other CustomResourceDefinition, or do not install the bundle.",
  },
  KindNotServed: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "The cluster does not serve a kind in the bundle.",
    remedy: "Install its API first, such as a monitoring operator.",
  },
  MissingPermissions: {
    on: EXTENSION,
    severity: "Error",
    details: "permissions",
    cause: "The ServiceAccount lacks permissions that the bundle needs.",
    remedy: "Grant them; `olmv1 rbac` prints the roles.",
  },
  NamespaceNotFound: {
    on: EXTENSION,
    severity: "Error",
    details: "namespaces",
    cause: "A namespace does not exist.",
    remedy: "Create it.",
  },
  NotUpgradeable: {
    on: EXTENSION,
    severity: "Warning",
    cause:
      "The installed operator, or an administrator, sets condition Upgradeable to False in its OperatorCondition, or the controller cannot read it.",
    remedy:
      "Fix what the operator reports, or override the condition in `spec.overrides` of the OperatorCondition. If it cannot be read, fix the cause in the message.",
  },
  ObjectConflict: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "An object of the bundle exists and belongs to another owner.",
    remedy: "Remove the object or its owner.",
  },
  ObjectRejected: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "The API server, an admission policy or a webhook rejects an object.",
    remedy: "Follow the instructions in the message.",
  },
  ProgressDeadlineExceeded: {
    on: EXTENSION,
    severity: "Error",
    cause: "The rollout exceeds `spec.progressDeadlineMinutes`.",
    remedy: "Find the object that is not ready with `olmv1 tree NAME`.",
  },
  ProxyWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "Deployments lack the proxy settings of the cluster.",
    remedy: "Follow the instructions in the message.",
  },
  PermissionsDenied: {
    on: EXTENSION,
    severity: "Error",
    cause: "The PermissionPolicy denies permissions that the bundle needs, or does not cover the extension.",
    remedy: "Choose another version, or ask the administrator to change the PermissionPolicy.",
  },
  PermissionsPending: {
    on: EXTENSION,
    severity: "Error",
    cause: "Permissions that the bundle needs wait for approval.",
    remedy: "Check them in the ExtensionPermissions of the same name and approve them.",
  },
  QuotaExceeded: {
    on: EXTENSION,
    severity: "Error",
    details: "quotas",
    cause: "The objects exceed a ResourceQuota.",
    remedy: "Raise the quota, or free resources.",
  },
  ReconcileFailed: {
    on: BOTH,
    severity: "Error",
    cause: "An operation failed for another reason.",
    remedy: "Read the message. The controller retries while condition `Progressing` is True.",
  },
  RegistryUnavailable: {
    on: BOTH,
    severity: "Error",
    details: "locations",
    cause: "The registry cannot be reached or denies the request.",
    remedy: "Check the registry, proxy, pull secrets and certificate authorities.",
  },
  ReleaseUnreadable: {
    on: EXTENSION,
    severity: "Error",
    cause: "A release Secret is missing or damaged.",
    remedy: "Restore the Secret, or run `olmv1 history NAME`.",
  },
  RequiredByOthers: {
    on: EXTENSION,
    severity: "Error",
    details: "dependents",
    cause: "Other extensions depend on the deleted extension.",
    remedy: "Uninstall them first, or set annotation `olm.operatorframework.io/force-uninstall`.",
  },
  RequirementsNotMet: {
    on: EXTENSION,
    severity: "Error",
    details: "requirements",
    cause: "The cluster lacks a Kubernetes version or APIs that the bundle requires.",
    remedy: "Install the APIs or upgrade the cluster. `spec.install.requirements: Warn` allows the installation.",
  },
  RevisionPinned: {
    on: EXTENSION,
    severity: "Info",
    cause: "Annotation `olm.operatorframework.io/rollback-to` pins an earlier release.",
    remedy: "To resume upgrades, run `olmv1 rollback NAME --cancel`.",
  },
  RolledBack: {
    on: EXTENSION,
    severity: "Error",
    cause: "An upgrade failed, and the previous release was restored.",
    remedy: "Correct the cause in the message, or choose another version.",
  },
  ServiceAccountNotFound: {
    on: EXTENSION,
    severity: "Error",
    cause: "The ServiceAccount in `spec.serviceAccount` does not exist.",
    remedy: "Create it; `olmv1 rbac` prints it with its roles.",
  },
  ServiceAccountNotSet: {
    on: EXTENSION,
    severity: "Error",
    cause: "`spec.serviceAccount.name` is empty but required.",
    remedy: "Set it; `olmv1 rbac` prints a ServiceAccount with its roles.",
  },
  StorageFailed: {
    on: CATALOG,
    severity: "Error",
    cause: "catalogd cannot write the content, for example to a full disk.",
    remedy: "Check the catalogd volume.",
  },
  StorageMigrationRunning: {
    on: EXTENSION,
    severity: "Info",
    details: "crds",
    cause: "The controller stores custom resources in another version before an upgrade (`spec.install.storageMigration: Automatic`).",
    remedy: "Wait. The upgrade continues when all custom resources are stored.",
  },
  Suspended: {
    on: EXTENSION,
    severity: "Info",
    cause: "`spec.suspend` is true.",
    remedy: "Set it to false.",
  },
  TokenDenied: {
    on: EXTENSION,
    severity: "Error",
    cause: "The controller may not create tokens for the ServiceAccount.",
    remedy: "Create the role that `olmv1 rbac --token-only` prints.",
  },
  Unhealthy: {
    on: EXTENSION,
    severity: "Error",
    details: "objects",
    cause: "An installed object is not healthy.",
    remedy: "Run `olmv1 tree NAME`. After an upgrade, `olmv1 rollback NAME` restores the previous release.",
  },
  UnsatisfiedDependencies: {
    on: EXTENSION,
    severity: "Error",
    details: "dependencies",
    cause: "A dependency is neither installed nor served by the cluster.",
    remedy: "Install it, or set `spec.dependencies.policy` to `Install`.",
  },
  UpgradeWarning: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The selected version has no upgrade edge from the installed version, or a newer bundle skips it.",
    remedy: "Choose a version that the channel recommends.",
  },
  VersionNotSupported: {
    on: EXTENSION,
    severity: "Warning",
    cause: "The bundle is in no support phase, or does not support the version of the cluster. Severity Info: the catalog has no data.",
    remedy: "Choose a version that `olmv1 versions PACKAGE --supported` lists. `supportPolicy: Ignore` hides the problem.",
  },
} as const satisfies Record<string, ProblemDescription>;

/** Type of a problem. */
export type ProblemType = keyof typeof PROBLEM_TYPES;

/** Limits of `status.problems`: number of problems, bytes of their JSON, entries per list in `details`; characters of messages, other texts and names. */
export const PROBLEM_LIMITS = { problems: 20, bytes: 8_192, entries: 20, message: 2_000, text: 512, name: 256 } as const;
