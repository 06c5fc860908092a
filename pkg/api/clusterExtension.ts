import * as z from "zod";
import {
  AvailableUpdates,
  BlockedUpdate,
  DependencyPlan,
  InstalledSupport,
  Inventory,
  KeptCrds,
  Plan,
  ProvidedApis,
} from "./clusterExtensionStatus.ts";
import { ANNOTATION_APPROVE, CRD_UPGRADE_CHECKS, EXTENSION_NAME_MAX, MANAGED_ACCOUNT_PREFIX } from "./constants.ts";
import { extensionConfig } from "./extensionConfig.ts";
import { conditions, labelSelector, NOT_OBSERVED, observedGeneration } from "./fields.ts";
import type { KubeObject } from "./k8s.ts";
import { DNS1123_LABEL, DNS1123_SUBDOMAIN } from "./names.ts";
import { OmittedProblems, Problems } from "./problemSchema.ts";
import { immutable, matches, type Rule, unionMember, withRules } from "./rules.ts";

/** JSON pointers of RFC 6901. Paths of identity, location and ownership of an object are reserved. */
const POINTER = "^(/([^/~]|~[01])+)+$";
const RESERVED = "^/(apiVersion|kind|status)(/|$)";
const METADATA = "^/metadata(/|$)";
const OPEN_METADATA = "^/metadata/(annotations|labels)(/|$)";
const POINTER_TEXT = "paths entries must be JSON pointers such as /spec/replicas";
const RESERVED_TEXT = "paths entries must not refer to /apiVersion, /kind or /status, and in /metadata only to annotations and labels";

const isReserved = new RegExp(RESERVED);
const isMetadata = new RegExp(METADATA);
const isOpenMetadata = new RegExp(OPEN_METADATA);

const path = withRules(z.string().max(256), matches(POINTER, POINTER_TEXT), {
  rule: `!self.matches("${RESERVED}") && (!self.matches("${METADATA}") || self.matches("${OPEN_METADATA}"))`,
  message: RESERVED_TEXT,
  holds: (text) => !isReserved.test(text) && (!isMetadata.test(text) || isOpenMetadata.test(text)),
});

const target = z
  .object({
    group: z.string().max(253).optional().describe('group is the API group, "" for the core group. Default: any group.'),
    kind: z.string().min(1).max(63).describe("kind is the kind of the objects."),
    namespace: z.string().max(63).optional().describe("namespace is the namespace of the objects. Default: any namespace."),
    name: z.string().max(253).optional().describe("name is the name of one object. Default: all objects of the kind."),
  })
  .describe("target selects objects of the bundle.");

const ignoreRule = z
  .object({
    paths: z.array(path).min(1).max(16).meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "paths are JSON pointers (RFC 6901) of ignored fields, such as /spec/replicas or /metadata/annotations/example.com~1team. List indexes refer to the object in the bundle. At most 16.",
    }),
    target,
  })
  .describe("Ignored fields of some objects.");

/** The reaction to changed or deleted objects. */
const drift = z
  .object({
    policy: z
      .enum(["Correct", "Warn", "Ignore"])
      .optional()
      .describe(
        "policy is the reaction to drift: deleted objects, and changed fields that the bundle sets. Correct restores them, Warn reports them, Ignore does not detect drift. Default: Correct, or Warn for an extension adopted from the Go operator-controller until its first upgrade.",
      ),
    ignore: z.array(ignoreRule).max(16).optional().meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "ignore lists fields that the controller sets only when it creates the object. It does not manage them afterwards, even in upgrades. At most 16.",
    }),
  })
  .describe("drift configures the reaction to changed or deleted objects of the bundle.");

/**
 * Returns the rule of `spec.source.catalog.version`. Its pattern equals the pattern of the upstream
 * API, including its oddities (a first version `|`, `*]` as a wildcard), so that the API server
 * accepts the same values.
 */
function buildVersionRule(): Rule<string> {
  const operator = String.raw`(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)`;
  const preRelease = String.raw`(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`;
  const build = String.raw`(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`;
  const first = String.raw`(v?(0|[1-9]\d*|[x|X|\*])(\.(0|[1-9]\d*|x|X|\*]))?(\.(0|[1-9]\d*|x|X|\*))?${preRelease}${build})`;
  const further = String.raw`(v?(0|[1-9]\d*|x|X|\*])(\.(0|[1-9]\d*|x|X|\*))?(\.(0|[1-9]\d*|x|X|\*]))?${preRelease}${build})`;
  const pattern = String.raw`^(\s*${operator}\s*${first}\s*)((?:\s+|,\s*|\s*\|\|\s*)${operator}\s*${further}\s*)*$`;
  // V8 backtracks: each gap of several spaces multiplies the time of this pattern. The next pattern
  // accepts the same texts, but matches each gap in only one way.
  const named = String.raw`(?:(?:!=|>=|=>|<=|=<|~>|=|>|<|~|\^)\s*)?`;
  const isVersion = new RegExp(String.raw`^\s*${named}${first}(?:(?:\s*,\s*|\s*\|\|\s*|\s+)${named}${further})*\s*$`);
  return { ...matches(pattern, "invalid version expression"), holds: (text) => isVersion.test(text) };
}

const SUBDOMAIN_TEXT =
  "must be a valid DNS1123 subdomain. It must contain only lowercase alphanumeric characters, hyphens (-) or periods (.), " +
  "start and end with an alphanumeric character, and be no longer than 253 characters";

const BUNDLE_VERSION = String.raw`^([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(-([-0-9A-Za-z]+(\.[-0-9A-Za-z]+)*))?(\+([-0-9A-Za-z]+(-\.[-0-9A-Za-z]+)*))?`;
const BUNDLE_RELEASE =
  String.raw`^$|^(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)` + String.raw`(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*$`;

const packageName = withRules(
  z.string().max(253),
  immutable("packageName is immutable"),
  matches(DNS1123_SUBDOMAIN, `packageName ${SUBDOMAIN_TEXT}`),
).describe("packageName is the name of the package. Immutable. A DNS-1123 subdomain.");

const version = withRules(z.string().max(64), buildVersionRule()).describe(
  `version is a version or a range of versions. The controller upgrades automatically within the range. Default: any version.

Examples: "1.2.3", ">=1.2.0, <2.0.0" (both), "~1.2" (patches of 1.2), "^1.2.3" (below 2.0.0), "1.x", "<1.0.0 || >=2.0.0" (either). At most 64 characters.`,
);

const channels = z
  .array(withRules(z.string().max(253), matches(DNS1123_SUBDOMAIN, "channels entries must be valid DNS1123 subdomains")))
  .max(256)
  .describe(
    "channels limits installations to bundles in these channels, and upgrades to their upgrade edges. Default: all channels of the package. At most 256.",
  );

/** Selects a bundle from catalogs. */
export const CatalogSource = z
  .object({
    packageName,
    version: version.optional(),
    channels: channels.optional(),
    selector: labelSelector.optional().describe("selector selects ClusterCatalogs by their labels. Default: all ClusterCatalogs."),
    upgradeConstraintPolicy: z
      .enum(["CatalogProvided", "SelfCertified"])
      .default("CatalogProvided")
      .describe(
        "upgradeConstraintPolicy controls upgrades: CatalogProvided follows the upgrade edges of the catalog, SelfCertified allows any version, including downgrades, which can lose data.",
      ),
    clusterVersionPolicy: z
      .enum(["Warn", "Enforce"])
      .default("Warn")
      .describe(
        `clusterVersionPolicy controls bundles whose property olm.maxOpenShiftVersion is malformed or lower than the minor version of the cluster: Warn installs them and reports the mismatch in condition Progressing, Enforce does not select them, but keeps an installed bundle.

The policy applies on OpenShift, or if the operator-controller flag --cluster-version is set. With either policy, an installed bundle that does not support the next minor version blocks the cluster upgrade.`,
      ),
    supportPolicy: z
      .enum(["Ignore", "Warn", "Enforce"])
      .optional()
      .describe(
        `supportPolicy controls bundles that are not supported according to the support phases in the catalog (schema io.openshift.operators.lifecycles.v1alpha1): Ignore (default) does not check, Warn reports problem VersionNotSupported, Enforce does not select them, but keeps an installed bundle.

A bundle is supported while one of its support phases lasts, unless the catalog lists OpenShift versions and that of the cluster is not one of them. Without data, support is unknown: Warn reports it, and Enforce does not select the bundle.`,
      ),
  })
  .describe("catalog selects a bundle from ClusterCatalogs. Required if sourceType is Catalog, else forbidden.");
/** Package, versions and catalogs of an extension. */
export type CatalogSource = z.input<typeof CatalogSource>;

const source = withRules(
  z.object({
    sourceType: z.enum(["Catalog"]).describe("sourceType is the type of the source: Catalog."),
    catalog: CatalogSource.optional(),
  }),
  unionMember("sourceType", "Catalog", "catalog", "catalog is required when sourceType is Catalog, and forbidden otherwise"),
).describe("source selects the bundle to install.");

/** Otherwise, everyone who may write a ClusterExtension could use the permissions of another extension in the same namespace. */
const OWN_ACCOUNT: Rule<string> = {
  rule: `!self.startsWith('${MANAGED_ACCOUNT_PREFIX}')`,
  message: `name must not start with ${MANAGED_ACCOUNT_PREFIX}: permission-manager creates ServiceAccounts with this prefix`,
  holds: (name) => !name.startsWith(MANAGED_ACCOUNT_PREFIX),
};

const serviceAccount = z
  .object({
    name: withRules(
      z.string().min(1).max(253),
      immutable("name is immutable once set but may be cleared"),
      matches(DNS1123_SUBDOMAIN, `name ${SUBDOMAIN_TEXT}`),
      OWN_ACCOUNT,
    )
      .optional()
      .describe("name is the name of a ServiceAccount in spec.namespace. Immutable once set, but you may clear it. A DNS-1123 subdomain."),
  })
  .refine((value) => Object.keys(value).length > 0, "must have at least 1 property")
  .meta({
    minProperties: 1,
    description:
      "serviceAccount is the identity that manages the objects of the extension. `olmv1 rbac` prints the permissions that a bundle needs.",
  });

const crdUpgradeSafety = z
  .object({
    enforcement: z
      .enum(["None", "Strict"])
      .describe(
        "enforcement is Strict to reject CustomResourceDefinitions that could lose data or break their users, or None to skip the check. Default if spec.install is not set: Strict.",
      ),
    ignore: z
      .array(z.enum(CRD_UPGRADE_CHECKS))
      .max(CRD_UPGRADE_CHECKS.length)
      .refine((names) => new Set(names).size === names.length, "must not contain duplicates")
      .optional()
      .meta({
        "x-kubernetes-list-type": "set",
        description:
          "ignore lists checks to skip. Checks of the CRD: scope, storedVersionRemoval. Checks of its schema, such as enum; existingFieldRemoval (a field is removed); unhandled (unknown changes). Checks of custom resources: existingObjects (they do not match the new schema), servedVersionRemoval (they exist, and a served version is removed).",
      }),
  })
  .describe("crdUpgradeSafety configures the comparison of the CustomResourceDefinitions of the bundle with existing ones.");

/** Whether the controller stores custom resources in another version before an upgrade that needs this. */
const STORAGE_MIGRATIONS = ["Automatic", "Manual", "Never"] as const;
/** A value of `spec.install.storageMigration`. */
export type StorageMigration = (typeof STORAGE_MIGRATIONS)[number];

const install = withRules(
  z.object({
    preflight: withRules(z.object({ crdUpgradeSafety }), {
      rule: "has(self.crdUpgradeSafety)",
      message: "at least one of [crdUpgradeSafety] are required when preflight is specified",
    })
      .optional()
      .describe("preflight configures checks before an installation or upgrade."),
    onFailure: z
      .enum(["Retain", "Rollback"])
      .optional()
      .describe(
        "onFailure is the reaction to an upgrade that exceeds progressDeadlineMinutes: Retain (default) keeps the upgrade, Rollback restores the previous release, except CustomResourceDefinitions. With either value, the controller rolls back an upgrade that the API server rejects, unless a new Pod is ready.",
      ),
    permissions: z
      .enum(["Enforce", "Warn"])
      .optional()
      .describe(
        "permissions is the reaction to missing permissions of the ServiceAccount: Enforce (default) reports them and writes nothing, Warn reports them and continues.",
      ),
    permissionPolicy: withRules(z.string().min(1).max(253), matches(DNS1123_SUBDOMAIN, `permissionPolicy ${SUBDOMAIN_TEXT}`))
      .optional()
      .describe(
        "permissionPolicy is the name of the PermissionPolicy that controls the permissions of an extension without spec.serviceAccount. Setting it requires permission to use the policy. Default: default.",
      ),
    imagePullSecrets: z
      .array(
        z.object({
          name: withRules(z.string().min(1).max(253), matches(DNS1123_SUBDOMAIN, `name ${SUBDOMAIN_TEXT}`)).describe(
            "name is the name of a Secret in the namespace of the extension.",
          ),
        }),
      )
      .max(16)
      .refine((secrets) => new Set(secrets.map(({ name }) => name)).size === secrets.length, "must not contain duplicates")
      .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
      .optional()
      .describe(
        "imagePullSecrets are Secrets with registry credentials for the images of the operator's Deployments, in addition to those in the bundle. The kubelet reads them. At most 16.",
      ),
    storageMigration: z
      .enum(STORAGE_MIGRATIONS)
      .optional()
      .describe(
        "storageMigration controls upgrades that remove a version, or stop serving it, in which custom resources may be stored. With Manual (default), the controller rejects the removal and reports the command that stores the custom resources in another version. With Automatic, it first stores them as the ServiceAccount, which then needs list and patch on them. With Never, it rejects the removal.",
      ),
    requirements: z
      .enum(["Enforce", "Warn"])
      .optional()
      .describe(
        "requirements is the reaction to unmet requirements of the ClusterServiceVersion (minKubeVersion, required CustomResourceDefinitions and API services): Warn (default) reports them and continues, Enforce waits.",
      ),
    userRoles: z
      .enum(["None", "Aggregate"])
      .optional()
      .describe(
        "userRoles is Aggregate to grant access to the APIs of the bundle in the ClusterRoles admin, edit and view, or None (default).",
      ),
  }),
  {
    rule: "has(self.preflight) || has(self.permissions) || has(self.onFailure) || has(self.userRoles) || has(self.requirements) || has(self.permissionPolicy) || has(self.imagePullSecrets) || has(self.storageMigration)",
    message: "at least one of [preflight] are required when install is specified",
    holds: ({ preflight, permissions, onFailure, userRoles, requirements, permissionPolicy, imagePullSecrets, storageMigration }) =>
      [preflight, permissions, onFailure, userRoles, requirements, permissionPolicy, imagePullSecrets, storageMigration].some(
        (member) => member !== undefined,
      ),
  },
).describe("install configures installations and upgrades. At least one member is required.");

const uninstall = z
  .object({
    crdPolicy: z
      .enum(["DeleteIfUnused", "Delete", "Retain"])
      .default("DeleteIfUnused")
      .describe(
        "crdPolicy decides what happens to a CustomResourceDefinition (CRD) when the extension is deleted, or when a newer version does not contain the CRD: DeleteIfUnused deletes it only if it has no custom resources, Delete deletes it with its custom resources, Retain keeps it.",
      ),
    backup: z
      .enum(["Optional", "Required"])
      .optional()
      .describe(
        "backup Required prevents crdPolicy Delete from deleting custom resources that the last backup does not contain: an uninstall waits until you run olmv1 backup (condition Progressing with reason BackupRequired), and an upgrade or rollback keeps their CRD. Default: Optional.",
      ),
  })
  .describe("uninstall configures the deletion of the extension.");

const template = z
  .object({
    namespace: withRules(z.string().max(63), matches(DNS1123_LABEL, "namespace must be a valid DNS1123 label"))
      .optional()
      .describe("namespace is the spec.namespace of created extensions. Default: spec.namespace of this extension."),
    serviceAccount: z
      .object({
        name: withRules(z.string().min(1).max(253), matches(DNS1123_SUBDOMAIN, `name ${SUBDOMAIN_TEXT}`), OWN_ACCOUNT).describe(
          "name is the name of a ServiceAccount in the namespace of created extensions. A DNS-1123 subdomain.",
        ),
      })
      .optional()
      .describe("serviceAccount is the identity of created extensions. Default: the name in spec.serviceAccount."),
  })
  .describe(
    "template overrides fields of extensions that policy Install creates. Like spec.serviceAccount, it selects an identity, so restrict its use with admission control.",
  );

const dependencies = z
  .object({
    policy: z
      .enum(["Require", "Install", "Ignore"])
      .default("Require")
      .describe(
        `policy controls dependencies on packages or APIs. With Require, the extension waits until they are installed or served (condition Progressing with reason UnsatisfiedDependencies). With Install, the controller also creates a ClusterExtension for each missing package; existing ClusterExtensions stay unchanged. With Ignore, dependencies are not checked.

Require and Install do not select versions that break a dependency of another installed bundle.`,
      ),
    template: template.optional(),
    unneeded: z
      .enum(["Keep", "Remove"])
      .optional()
      .describe(
        "unneeded decides about ClusterExtensions that policy Install created, once no installed bundle needs them, for example after an upgrade: Keep (default) keeps them until this extension is deleted, Remove uninstalls them.",
      ),
  })
  .describe("dependencies configures bundles that depend on other packages or APIs.");

/** The desired state of a ClusterExtension. CEL escapes the member namespace, because it reserves the word. */
export const ClusterExtensionSpec = withRules(
  z.object({
    namespace: withRules(
      z.string().max(63),
      immutable("namespace is immutable"),
      matches(DNS1123_LABEL, "namespace must be a valid DNS1123 label"),
    )
      .optional()
      .describe(
        "namespace is the namespace of the ServiceAccount and the namespaced objects. Immutable once set. A DNS-1123 label. Default without spec.serviceAccount: the namespace that the first installed bundle suggests, or else the package name and -system; permission-manager creates it, and status.install.namespace reports it. Required with spec.serviceAccount or spec.config.valuesFrom.",
      ),
    serviceAccount: serviceAccount.optional(),
    source,
    install: install.optional(),
    config: extensionConfig.optional(),
    progressDeadlineMinutes: z.int().min(10).max(720).optional().meta({
      format: "int32",
      description:
        "progressDeadlineMinutes is the maximum duration of a rollout, until condition Available is True: 10 to 720 minutes. After that, condition Progressing is False with reason ProgressDeadlineExceeded. Default: no limit.",
    }),
    uninstall: uninstall.optional(),
    dependencies: dependencies.optional(),
    drift: drift.optional(),
    approval: z
      .enum(["Automatic", "Manual"])
      .optional()
      .describe(
        "approval is Manual to require approval of each installation and upgrade: status.plan shows the changes, and annotation olm.operatorframework.io/approve with its digest approves them; until then, the installed bundle stays. Default: Automatic.",
      ),
    suspend: z
      .boolean()
      .optional()
      .describe(
        "suspend pauses the extension while it is true: the controller does not resolve, install, upgrade or correct drift. It still uninstalls a deleted extension.",
      ),
  }),
  {
    rule: "!has(oldSelf.__namespace__) || has(self.__namespace__)",
    message: "namespace cannot be removed",
  },
  {
    rule: "has(self.__namespace__) || !has(self.config) || !has(self.config.valuesFrom)",
    message: "namespace is required when config.valuesFrom is set, because the objects must exist in it",
    holds: ({ namespace, config }) => namespace !== undefined || config?.valuesFrom === undefined,
  },
).describe("spec is the desired state.");
export type ClusterExtensionSpec = z.input<typeof ClusterExtensionSpec>;

const bundle = z
  .object({
    name: withRules(z.string(), matches(DNS1123_SUBDOMAIN, `packageName ${SUBDOMAIN_TEXT}`)).describe(
      "name is the name of the bundle in the catalog.",
    ),
    version: withRules(z.string(), matches(BUNDLE_VERSION, "version must be well-formed semver")).describe(
      "version is the version of the bundle.",
    ),
    release: withRules(
      z.string().max(20),
      matches(
        BUNDLE_RELEASE,
        "release must be empty or consist of dot-separated identifiers (numeric without leading zeros, or alphanumeric)",
      ),
    )
      .optional()
      .describe("release distinguishes bundles with the same version. Absent if the bundle has no release."),
  })
  .describe("bundle is the installed bundle.");

/** The observed state of a ClusterExtension. */
export const ClusterExtensionStatus = z
  .object({
    observedGeneration,
    conditions: conditions(
      `conditions describe the state of the extension.

Installed: a bundle is installed. Progressing: True if the desired state is reached (Succeeded), rolling out (RollingOut), being removed (Uninstalling) or retried (Retrying); False if you must act (Blocked, InvalidConfiguration, UnsatisfiedDependencies, ProgressDeadlineExceeded), approve a plan (AwaitingApproval), or suspended the extension (Suspended). Available: True if the installed objects are healthy (Healthy); False during a rollout (RollingOut) or if an object is unhealthy (Unhealthy); Unknown if that cannot be determined. Ready: True if a bundle is installed, up to date and available; else with the reason of the first unmet condition. Reconciling or Stalled, only while Ready is not True: the controller continues, or you must act; neither while the extension waits for something else, such as the approval of a plan; Reconciling while permissions wait for approval. Deprecated, PackageDeprecated, ChannelDeprecated and BundleDeprecated: deprecations in the catalog. ClusterUpgradeBlocked, if the installed bundle has a maximum OpenShift version: whether it blocks the upgrade of the cluster to the next minor version, and the remedy.`,
    ).optional(),
    install: z
      .object({
        bundle,
        namespace: z
          .string()
          .max(63)
          .optional()
          .describe("namespace is the namespace of the extension. It does not change while the extension exists."),
        catalog: z
          .string()
          .max(253)
          .optional()
          .describe(
            "catalog is the name of the ClusterCatalog of the installed bundle. Absent if unknown. While another catalog is unavailable, the controller only uses updates from this catalog.",
          ),
      })
      .optional()
      .describe("install describes the installed bundle. Absent if no bundle is installed."),
    problems: Problems.optional(),
    omittedProblems: OmittedProblems.optional(),
    inventory: Inventory.optional(),
    providedAPIs: ProvidedApis.optional(),
    keptCRDs: KeptCrds.optional(),
    support: InstalledSupport.optional(),
    availableUpdates: AvailableUpdates.optional(),
    blockedUpdate: BlockedUpdate.optional(),
    plan: Plan.optional(),
    dependencyPlan: DependencyPlan.optional(),
    lastHandledReconcileAt: z
      .string()
      .max(64)
      .optional()
      .describe(
        "lastHandledReconcileAt is the value of annotation olm.operatorframework.io/reconcile-requested-at in the last reconcile, at most 64 characters.",
      ),
    activeRevisions: z
      .array(
        z
          .object({
            name: z.string().describe("name is the name of the revision."),
            conditions: conditions("conditions describe the rollout of the revision.").optional(),
          })
          .describe("One revision."),
      )
      .optional()
      .meta({
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        description:
          "activeRevisions are the revisions that are installed or rolling out. Only used by implementations with revision objects.",
      }),
  })
  .describe("status is the observed state.");
export type ClusterExtensionStatus = z.input<typeof ClusterExtensionStatus>;

/**
 * Rules for the whole object. Objects that already violate them can still be updated, because otherwise their finalizers could not be removed. `spec`
 * cannot be removed, because a new one could contain another namespace and package.
 */
const objectRules: Rule<{ spec?: unknown; metadata?: { name?: string | undefined } | undefined }>[] = [
  {
    rule: "has(self.spec) || oldSelf.hasValue() && !has(oldSelf.value().spec)",
    message: "spec is required",
    holds: ({ spec }) => spec !== undefined,
    optionalOldSelf: true,
    fieldPath: ".spec",
    reason: "FieldValueRequired",
  },
  {
    rule: `oldSelf.hasValue() || self.metadata.name.size() <= ${EXTENSION_NAME_MAX}`,
    message: `metadata.name must be no longer than ${EXTENSION_NAME_MAX} characters because names and labels of installed objects contain it`,
    holds: ({ metadata }) => (metadata?.name?.length ?? 0) <= EXTENSION_NAME_MAX,
    optionalOldSelf: true,
  },
  {
    rule: "!has(self.spec) || !has(self.spec.__namespace__) || !has(self.status) || !has(self.status.install) || !has(self.status.install.__namespace__) || self.spec.__namespace__ == self.status.install.__namespace__",
    message: "spec.namespace must be status.install.namespace, because an installed extension stays in its namespace",
  },
];

/** Schema of the ClusterExtension definition. */
export const ClusterExtension = withRules(
  z.object({
    metadata: z.object({ name: z.string().optional() }).optional(),
    spec: ClusterExtensionSpec.optional(),
    status: ClusterExtensionStatus.default(NOT_OBSERVED),
  }),
  ...objectRules,
).describe("ClusterExtension installs a package from a catalog and upgrades it, with the permissions of a ServiceAccount.");

/** Returns the namespace of an extension: the one in spec, or the one in which it is installed; "" if it has none yet. */
export function getNamespace({ spec, status }: Pick<ClusterExtension, "spec" | "status">): string {
  return spec.namespace ?? status?.install?.namespace ?? "";
}

/** A ClusterExtension as the API server returns it: with defaults and with unknown members. */
export interface ClusterExtension extends KubeObject {
  spec: ClusterExtensionSpec;
  status?: ClusterExtensionStatus;
}

/** Reports whether the plan with this digest is approved. */
export function isApproved({ metadata }: Readonly<ClusterExtension>, digest: string): boolean {
  return metadata.annotations?.[ANNOTATION_APPROVE] === digest;
}
