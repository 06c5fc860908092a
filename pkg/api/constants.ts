import type { KubeObject } from "./k8s.ts";

/** API group of every kind of ours. */
export const GROUP = "olm.operatorframework.io";
/** The one version that is served and stored. */
export const VERSION = "v1";
/** `apiVersion` of ClusterExtension and ClusterCatalog. */
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Kinds of ours. */
export const CLUSTER_EXTENSION = "ClusterExtension";
export const CLUSTER_CATALOG = "ClusterCatalog";

/** Field manager of every server-side apply of bundle content. */
export const FIELD_MANAGER = "olm.operatorframework.io";
/** Field manager of the certificates that operator-controller provides itself: no release holds them, so no apply of one touches them. */
export const CERTIFICATES_FIELD_MANAGER = `${FIELD_MANAGER}/certificates`;
/** Namespace of the controllers and of the release Secrets unless told otherwise. */
export const SYSTEM_NAMESPACE = "olmv1-system";

/** Kind of the object that owns an applied object: always "ClusterExtension". */
export const LABEL_OWNER_KIND = `${GROUP}/owner-kind`;
/** Name of the ClusterExtension that owns an applied object. */
export const LABEL_OWNER_NAME = `${GROUP}/owner-name`;
/**
 * Package of an installed bundle. It and the four below are members of a release record; package and version are labels of every applied
 * object as well, in the form that a label may have.
 */
export const LABEL_PACKAGE_NAME = `${GROUP}/package-name`;
export const LABEL_BUNDLE_NAME = `${GROUP}/bundle-name`;
export const LABEL_BUNDLE_VERSION = `${GROUP}/bundle-version`;
/** Present, even if empty, when the bundle states a release of its own. */
export const LABEL_BUNDLE_RELEASE = `${GROUP}/bundle-release`;
/** The bundle's image reference. */
export const LABEL_BUNDLE_REFERENCE = `${GROUP}/bundle-reference`;
/** On every ClusterCatalog, its own name, so that selectors can name one. */
export const LABEL_METADATA_NAME = `${GROUP}/metadata.name`;

/** On a CustomResourceDefinition of a bundle, in place of an ownerReference: uid of the ClusterExtension that owns it. */
export const ANNOTATION_OWNER_UID = `${GROUP}/owner-uid`;
/** Of a ClusterServiceVersion and of the release made of it: the bundle's properties, a JSON list of type and value. */
export const ANNOTATION_PROPERTIES = "olm.properties";
/** On a ClusterExtension: number of the release to go back to and to stay at, until the annotation is removed. */
export const ANNOTATION_ROLLBACK_TO = `${GROUP}/rollback-to`;
/** On a ClusterExtension that is deleted: "true" lets it go although nobody may delete its objects any more. */
export const ANNOTATION_FORCE_DELETE = `${GROUP}/force-delete`;
/** On a ClusterExtension that is deleted: "true" uninstalls it although others depend on it. */
export const ANNOTATION_FORCE_UNINSTALL = `${GROUP}/force-uninstall`;
/** On a ClusterExtension: "true" lets kept CustomResourceDefinitions lose a conversion webhook that their custom resources need. */
export const ANNOTATION_DROP_CONVERSION = `${GROUP}/drop-conversion`;
/** On a ClusterExtension: a changed value asks for a pass that compares everything at once, whatever the value is; usually a time. */
export const ANNOTATION_RECONCILE_REQUESTED_AT = `${GROUP}/reconcile-requested-at`;
/** Longest part of that value that is looked at. */
export const RECONCILE_REQUEST_MAX = 64;
/** On a ClusterExtension with spec.approval Manual: digest of the plan that may be carried out. */
export const ANNOTATION_APPROVE = `${GROUP}/approve`;
/** "true" on a ClusterExtension that policy Install of `spec.dependencies` made: it goes when nothing needs it any more. */
export const LABEL_DEPENDENCY = `${GROUP}/dependency`;
/** On such an extension, one label for each extension that it was made for or that waited for it: its name behind this, its uid as the value. */
export const LABEL_DEPENDENT_PREFIX = `dependent.${GROUP}/`;
/** On what `olmv1 install` made for an extension, such as its ServiceAccount and roles: the extension's name. */
export const LABEL_CREATED_FOR = `${GROUP}/created-for`;
/** Version of the program that holds a Lease; on the Lease. */
export const ANNOTATION_PROGRAM_VERSION = `${GROUP}/version`;
/** On our CRDs: which variant of the API they are. */
export const ANNOTATION_GENERATOR = `${GROUP}/generator`;

/** On the Service of webhooks or API services: name of the Secret in which operator-controller provides its serving certificate. */
export const ANNOTATION_SERVING_CERT_SECRET = `${GROUP}/serving-cert-secret-name`;
/**
 * On webhook configurations, CRDs with a conversion webhook and APIServices: "namespace/name" of the Secret whose CA operator-controller writes
 * into them.
 */
export const ANNOTATION_INJECT_CA_FROM_SECRET = `${GROUP}/inject-ca-from-secret`;
/** On the Secret in which catalogd or operator-controller keeps its own serving certificate: which of the two; only such a Secret is written. */
export const LABEL_SELF_MANAGED_CERTIFICATE = `${GROUP}/self-managed-certificate`;
/** On an APIService of a bundle: the kinds that its group version serves, a JSON list of kind and plural name. */
export const ANNOTATION_API_KINDS = `${GROUP}/api-kinds`;

/** Holds a ClusterExtension until its objects are off the cluster. */
export const FINALIZER_UNINSTALL = `${GROUP}/uninstall`;
/** Finalizers of the Go operator-controller, found on an extension that is taken over from it; they are removed, never added. */
export const GO_FINALIZERS: readonly string[] = [`${GROUP}/cleanup-unpack-cache`, `${GROUP}/cleanup-contentmanager-cache`];
/** Finalizer that the API server adds to an object that is deleted with `--cascade=orphan`: its dependents stay. */
export const FINALIZER_ORPHAN = "orphan";
/** Finalizers of the garbage collector. They decide how a deletion goes on, and are honoured only when they came with it. */
export const COLLECTOR_FINALIZERS: readonly string[] = [FINALIZER_ORPHAN, "foregroundDeletion"];
/** Holds a ClusterCatalog until its content is no longer stored or served. */
export const FINALIZER_DELETE_SERVER_CACHE = `${GROUP}/delete-server-cache`;

/** Types of the conditions of both kinds. */
export const ConditionType = {
  Installed: "Installed",
  Progressing: "Progressing",
  /** Whether what is installed works; and `Ready`, the sum of the others, for `kubectl wait`. Neither is the Go operator-controller's. */
  Available: "Available",
  Ready: "Ready",
  Serving: "Serving",
  /** Whether the content that is served of a ClusterCatalog passes the checks of file-based catalogs; not the Go catalogd's. */
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

/** Objects that status.inventory names at most. */
export const INVENTORY_MAX = 100;
/** Definitions that status.keptCRDs names at most. */
export const KEPT_CRDS_MAX = 100;
/** APIs that status.providedAPIs names at most. */
export const PROVIDED_APIS_MAX = 100;
/** Versions that status.availableUpdates names at most. */
export const AVAILABLE_UPDATES_MAX = 10;
/** Objects that status.plan names at most. */
export const PLAN_OBJECTS_MAX = 20;
/** Fields of one object that status.plan names at most. */
export const PLAN_FIELDS_MAX = 5;
/** Longest name of a ClusterExtension: it is a label value (at most 63) and the name of a Helm-like release (at most 53). */
export const EXTENSION_NAME_MAX = 53;
/** Longest message of a condition. The API server counts characters, we keep to bytes. */
export const MESSAGE_MAX_BYTES = 32_768;

/** Checks of one CRD against another: of the whole, of each value in the schema, and for what none of these looks at. In the order of findings. */
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

/** Checks of a CRD against the custom resources that exist; the Go operator-controller has none of them. */
const EXISTING_CHECKS = ["existingObjects", "servedVersionRemoval"] as const;

/** Everything that spec.install.preflight.crdUpgradeSafety.ignore may name. */
export const CRD_UPGRADE_CHECKS = [...CRD_CHECKS, ...EXISTING_CHECKS] as const;

/** With "true", OpenShift's network operator writes the certificate authorities of the cluster into a ConfigMap. */
export const TRUSTED_CA_LABEL = "config.openshift.io/inject-trusted-cabundle";
/** The key under which it writes them. */
export const TRUSTED_CA_KEY = "ca-bundle.crt";

/** Whether OpenShift writes into an object. */
export function takesTrustedCa({ apiVersion, kind, metadata }: KubeObject): boolean {
  return kind === "ConfigMap" && apiVersion === "v1" && metadata.labels?.[TRUSTED_CA_LABEL] === "true";
}
