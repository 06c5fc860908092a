import type { KubeObject } from "./k8s.ts";

/** API group of ClusterExtension and ClusterCatalog. */
export const GROUP = "olm.operatorframework.io";
/** The only API version. */
export const VERSION = "v1";
/** `apiVersion` of ClusterExtension and ClusterCatalog. */
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Kinds of this API group. */
export const CLUSTER_EXTENSION = "ClusterExtension";
export const CLUSTER_CATALOG = "ClusterCatalog";

/** API version of kinds that the upstream API does not have; it may change before 1.0. */
export const ALPHA_VERSION = "v1alpha1";
export const EXTENSION_PERMISSIONS = { apiVersion: `${GROUP}/${ALPHA_VERSION}`, kind: "ExtensionPermissions" } as const;
export const PERMISSION_POLICY = { apiVersion: `${GROUP}/${ALPHA_VERSION}`, kind: "PermissionPolicy" } as const;

/** Field manager for server-side apply of bundle content. */
export const FIELD_MANAGER = "olm.operatorframework.io";
/** Field manager for self-signed certificates. They are not part of a release, so applying a release does not change them. */
export const CERTIFICATES_FIELD_MANAGER = `${FIELD_MANAGER}/certificates`;
/** Default namespace of the controllers and release Secrets. */
export const SYSTEM_NAMESPACE = "olmv1-system";
/** Namespace of operator-controller and permission-manager on OpenShift. Source: openshift/operator-framework-operator-controller at 186c9e64. */
export const OPENSHIFT_NAMESPACE = "openshift-operator-controller";
/** Namespace of catalogd on OpenShift. The console reads catalogs from its Service. Source: openshift/console at da1f1324, cmd/bridge/main.go. */
export const OPENSHIFT_CATALOGD_NAMESPACE = "openshift-catalogd";

/** Returns the namespace of catalogd: the system namespace, except on OpenShift. */
export function getCatalogdNamespace(systemNamespace: string): string {
  return systemNamespace === OPENSHIFT_NAMESPACE ? OPENSHIFT_CATALOGD_NAMESPACE : systemNamespace;
}

/**
 * Leases for leader election, in the system namespace. The Go implementation uses the same Leases for its two servers, so an implementation never
 * leads while the other one does.
 */
export const SERVER_LEASES = {
  catalogd: "catalogd-operator-lock",
  "operator-controller": "9c4404e7.operatorframework.io",
  "permission-manager": "permission-manager.olm.operatorframework.io",
} as const;

/** Default name of the ConfigMap with registries.conf and certificate authorities, in the system namespace. */
export const REGISTRIES_CONFIG_MAP = "olmv1-registries";

/** Start of the names of ServiceAccounts that permission-manager creates. */
export const MANAGED_ACCOUNT_PREFIX = "olmv1-extension-";
/** On every object that permission-manager creates: name of the ClusterExtension that it belongs to. */
export const LABEL_PERMISSIONS_FOR = `${GROUP}/permissions-for`;
/** Kind of the object that owns an applied object: always "ClusterExtension". */
export const LABEL_OWNER_KIND = `${GROUP}/owner-kind`;
/** Name of the ClusterExtension that owns an applied object. */
export const LABEL_OWNER_NAME = `${GROUP}/owner-name`;
/**
 * Package of an installed bundle. This key and the next four are members of a release record. Package and version are also labels of applied objects,
 * converted to valid label values.
 */
export const LABEL_PACKAGE_NAME = `${GROUP}/package-name`;
export const LABEL_BUNDLE_NAME = `${GROUP}/bundle-name`;
export const LABEL_BUNDLE_VERSION = `${GROUP}/bundle-version`;
/** Release of the bundle. Present, possibly empty, if the bundle has a release. */
export const LABEL_BUNDLE_RELEASE = `${GROUP}/bundle-release`;
/** Image reference of the bundle. */
export const LABEL_BUNDLE_REFERENCE = `${GROUP}/bundle-reference`;
/** On every ClusterCatalog: its name, for selectors. */
export const LABEL_METADATA_NAME = `${GROUP}/metadata.name`;

/** On a CustomResourceDefinition of a bundle, instead of an ownerReference: uid of its ClusterExtension. */
export const ANNOTATION_OWNER_UID = `${GROUP}/owner-uid`;
/** On a ClusterServiceVersion and its release: properties of the bundle, a JSON list of type and value. */
export const ANNOTATION_PROPERTIES = "olm.properties";
/** On a ClusterExtension: revision to roll back to and pin, until the annotation is removed. */
export const ANNOTATION_ROLLBACK_TO = `${GROUP}/rollback-to`;
/** On a deleted ClusterExtension: "true" removes it even if its ServiceAccount cannot delete its objects. */
export const ANNOTATION_FORCE_DELETE = `${GROUP}/force-delete`;
/** On a deleted ClusterExtension: "true" uninstalls it despite dependents. */
export const ANNOTATION_FORCE_UNINSTALL = `${GROUP}/force-uninstall`;
/** On a ClusterExtension: "true" allows removing a conversion webhook that custom resources of kept CustomResourceDefinitions need. */
export const ANNOTATION_DROP_CONVERSION = `${GROUP}/drop-conversion`;
/** On a ClusterExtension: time, size and CRDs of the last backup of its custom resources, in JSON. */
export const ANNOTATION_LAST_BACKUP = `${GROUP}/last-backup`;
/** On a ClusterExtension: any new value, usually a time, triggers a reconcile that compares all objects. */
export const ANNOTATION_RECONCILE_REQUESTED_AT = `${GROUP}/reconcile-requested-at`;
/** Maximum length of that value; the rest is ignored. */
export const RECONCILE_REQUEST_MAX = 64;
/** On a ClusterExtension with spec.approval Manual: digest of the approved plan. */
export const ANNOTATION_APPROVE = `${GROUP}/approve`;
/** "true" on a ClusterExtension that policy Install of `spec.dependencies` created: it is deleted with its last dependent. */
export const LABEL_DEPENDENCY = `${GROUP}/dependency`;
/** Prefix of one label per dependent on such an extension: the suffix is the name of the dependent, the value its uid. */
export const LABEL_DEPENDENT_PREFIX = `dependent.${GROUP}/`;
/** On objects that `olmv1 install` created for an extension, such as a ServiceAccount: name of the extension. */
export const LABEL_CREATED_FOR = `${GROUP}/created-for`;
/** Field manager of the command line. */
export const CLI_MANAGER = "olmv1";
/** Field manager of the web console. */
export const CONSOLE_MANAGER = "olmv1-console";
/** On a Lease: version of the server that holds it. */
export const ANNOTATION_PROGRAM_VERSION = `${GROUP}/version`;
/** On the CRDs: variant of the API. */
export const ANNOTATION_GENERATOR = `${GROUP}/generator`;

/** On the Service of webhooks or API services: name of the Secret with the serving certificate from operator-controller. */
export const ANNOTATION_SERVING_CERT_SECRET = `${GROUP}/serving-cert-secret-name`;
/**
 * On webhook configurations, CRDs with a conversion webhook and APIServices: "namespace/name" of the Secret whose CA operator-controller
 * injects.
 */
export const ANNOTATION_INJECT_CA_FROM_SECRET = `${GROUP}/inject-ca-from-secret`;
/** On the Secret with the serving certificate of catalogd or operator-controller: name of the server. It writes only Secrets with this label. */
export const LABEL_SELF_MANAGED_CERTIFICATE = `${GROUP}/self-managed-certificate`;
/** On an APIService of a bundle: kinds of its group version, a JSON list of kind and plural name. */
export const ANNOTATION_API_KINDS = `${GROUP}/api-kinds`;

/** Keeps a ClusterExtension until its objects are deleted. */
export const FINALIZER_UNINSTALL = `${GROUP}/uninstall`;
/** Finalizers of the Go operator-controller on adopted extensions; removed, never added. */
export const GO_FINALIZERS: readonly string[] = [`${GROUP}/cleanup-unpack-cache`, `${GROUP}/cleanup-contentmanager-cache`];
/** Finalizer that the API server adds for a deletion with `--cascade=orphan`, which keeps dependents. */
export const FINALIZER_ORPHAN = "orphan";
/** Finalizers of the garbage collector, which the API server adds for a kind of deletion. They are only respected if the deletion added them. */
export const COLLECTOR_FINALIZERS: readonly string[] = [FINALIZER_ORPHAN, "foregroundDeletion"];
/** Keeps a ClusterCatalog until its content is neither stored nor served. */
export const FINALIZER_DELETE_SERVER_CACHE = `${GROUP}/delete-server-cache`;
/** Finalizer of ExtensionPermissions: permission-manager removes it after it revoked the permissions. */
export const FINALIZER_REVOKE_PERMISSIONS = `${GROUP}/revoke-permissions`;
/** The policy in config/permissions/admission.yaml that limits permission-manager. */
export const PERMISSION_MANAGER_POLICY = "olmv1-permission-manager";
/** Names of the ValidatingAdmissionPolicies in config/permissions/admission.yaml, and of their bindings. */
export const PERMISSION_ADMISSION_POLICIES = [
  PERMISSION_MANAGER_POLICY,
  "olmv1-granted-objects",
  "olmv1-extension-identities",
  "olmv1-extension-permissions",
  "olmv1-permission-policies",
  "olmv1-definitions",
] as const;

/** Types of the conditions of ClusterExtension, ClusterCatalog and ExtensionPermissions. */
export const ConditionType = {
  Installed: "Installed",
  Progressing: "Progressing",
  /** Health of the installed objects. `Ready` summarizes all conditions for `kubectl wait`. The Go operator-controller has neither condition. */
  Available: "Available",
  Ready: "Ready",
  /** With Stalled, the conditions of kstatus: only present while they are True. See `setKstatusCondition`. */
  Reconciling: "Reconciling",
  Stalled: "Stalled",
  Serving: "Serving",
  /** Whether the served content passes the checks of file-based catalogs. The Go catalogd does not have this condition. */
  Valid: "Valid",
  Deprecated: "Deprecated",
  PackageDeprecated: "PackageDeprecated",
  ChannelDeprecated: "ChannelDeprecated",
  BundleDeprecated: "BundleDeprecated",
  ClusterUpgradeBlocked: "ClusterUpgradeBlocked",
} as const;
export type ConditionType = (typeof ConditionType)[keyof typeof ConditionType];

/** Reasons of the conditions of both kinds. */
export const Reason = {
  Succeeded: "Succeeded",
  Failed: "Failed",
  Absent: "Absent",
  RollingOut: "RollingOut",
  Healthy: "Healthy",
  Unhealthy: "Unhealthy",
  Unknown: "Unknown",
  Retrying: "Retrying",
  Blocked: "Blocked",
  Uninstalling: "Uninstalling",
  Suspended: "Suspended",
  AwaitingApproval: "AwaitingApproval",
  RequirementsNotMet: "RequirementsNotMet",
  RequiredByOthers: "RequiredByOthers",
  /** spec.uninstall.backup is Required, and the last backup does not contain all custom resources. */
  BackupRequired: "BackupRequired",
  NotUpgradeable: "NotUpgradeable",
  ConversionNeeded: "ConversionNeeded",
  InvalidConfiguration: "InvalidConfiguration",
  UnsatisfiedDependencies: "UnsatisfiedDependencies",
  ProgressDeadlineExceeded: "ProgressDeadlineExceeded",
  Deprecated: "Deprecated",
  NotDeprecated: "NotDeprecated",
  DeprecationStatusUnknown: "DeprecationStatusUnknown",
  Available: "Available",
  Unavailable: "Unavailable",
  UserSpecifiedUnavailable: "UserSpecifiedUnavailable",
  Valid: "Valid",
  InvalidContent: "InvalidContent",
  IncompatibleOperatorInstalled: "IncompatibleOperatorInstalled",
  InvalidMaxOpenShiftVersion: "InvalidMaxOpenShiftVersion",
  ReleasesUnreadable: "ReleasesUnreadable",
  ClusterVersionUnknown: "ClusterVersionUnknown",
  Compatible: "Compatible",
} as const;
export type Reason = (typeof Reason)[keyof typeof Reason];

/** Maximum number of objects in status.inventory. */
export const INVENTORY_MAX = 100;
/** Maximum number of definitions in status.keptCRDs. */
export const KEPT_CRDS_MAX = 100;
/** Maximum number of APIs in status.providedAPIs. */
export const PROVIDED_APIS_MAX = 100;
/** Maximum number of versions in status.availableUpdates. */
export const AVAILABLE_UPDATES_MAX = 10;
/** Maximum number of objects in status.plan. */
export const PLAN_OBJECTS_MAX = 20;
/** Maximum number of bundles in status.dependencyPlan, without that of the extension itself. */
export const PLAN_MEMBERS_MAX = 100;
/** Maximum number of fields per object in status.plan. */
export const PLAN_FIELDS_MAX = 5;
/** Maximum length of the name of a ClusterExtension: it is a label value (63) and the name of a Helm-like release (53). */
export const EXTENSION_NAME_MAX = 53;
/** Maximum length of a condition message, in bytes. The API server counts characters, so this is stricter. */
export const MESSAGE_MAX_BYTES = 32_768;

/** Checks of a CRD upgrade, in the order of their findings: checks of the definition, checks of its schema, and unhandled changes. */
const CRD_CHECKS = [
  "scope",
  "storedVersionRemoval",
  "existingFieldRemoval",
  "type",
  "required",
  "enum",
  "default",
  "maximum",
  "maxItems",
  "maxLength",
  "maxProperties",
  "minimum",
  "minItems",
  "minLength",
  "minProperties",
  "pattern",
  "nullable",
  "oneOf",
  "unhandled",
] as const;
export type CrdCheck = (typeof CRD_CHECKS)[number];

/** Checks of a CRD against existing custom resources. The Go operator-controller does not have them. */
const EXISTING_CHECKS = ["existingObjects", "servedVersionRemoval"] as const;

/** Values of spec.install.preflight.crdUpgradeSafety.ignore. */
export const CRD_UPGRADE_CHECKS = [...CRD_CHECKS, ...EXISTING_CHECKS] as const;

/** If the value is "true", OpenShift's network operator injects the certificate authorities of the cluster into the ConfigMap. */
export const TRUSTED_CA_LABEL = "config.openshift.io/inject-trusted-cabundle";
/** The key of the injected authorities. */
export const TRUSTED_CA_KEY = "ca-bundle.crt";

/** Returns whether OpenShift injects certificate authorities into an object. */
export function acceptsTrustedCa({ apiVersion, kind, metadata }: KubeObject): boolean {
  return kind === "ConfigMap" && apiVersion === "v1" && metadata.labels?.[TRUSTED_CA_LABEL] === "true";
}
