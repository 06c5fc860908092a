import * as z from "zod";
import { AvailableUpdates, BlockedUpdate, Inventory, KeptCrds, Plan, ProvidedApis } from "./clusterExtensionStatus.ts";
import { CRD_UPGRADE_CHECKS, EXTENSION_NAME_MAX } from "./constants.ts";
import { extensionConfig } from "./extensionConfig.ts";
import { conditions, labelSelector } from "./fields.ts";
import type { KubeObject } from "./k8s.ts";
import { DNS1123_LABEL, DNS1123_SUBDOMAIN } from "./names.ts";
import { OmittedProblems, Problems } from "./problemSchema.ts";
import { immutable, matches, type Rule, unionMember, withRules } from "./rules.ts";

/** RFC 6901; what an object is, where it is and whose it is cannot be left to others. */
const POINTER = "^(/([^/~]|~[01])+)+$";
const RESERVED = "^/(apiVersion|kind|status)(/|$)";
const METADATA = "^/metadata(/|$)";
const OPEN_METADATA = "^/metadata/(annotations|labels)(/|$)";
const POINTER_TEXT = "paths entries must be JSON pointers such as /spec/replicas";
const RESERVED_TEXT = "paths entries may not be below /apiVersion, /kind or /status, and of /metadata only below annotations and labels";

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
    group: z.string().max(253).optional().describe('group is the API group, "" for the core group. Without it, any group is meant.'),
    kind: z.string().min(1).max(63).describe("kind is the kind of the objects."),
    namespace: z.string().max(63).optional().describe("namespace is where the objects are. Without it, any namespace is meant."),
    name: z.string().max(253).optional().describe("name is the name of one object. Without it, all objects of the kind are meant."),
  })
  .describe("target selects objects of the bundle.");

const ignoreRule = z
  .object({
    paths: z.array(path).min(1).max(16).meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "paths are JSON pointers (RFC 6901) of fields that others decide, such as /spec/replicas or /metadata/annotations/example.com~1team. Positions of a list are those of the bundle's object. At most 16.",
    }),
    target,
  })
  .describe("Fields of some objects that others decide.");

/** What happens when somebody changes or deletes what is installed. */
const drift = z
  .object({
    policy: z
      .enum(["Correct", "Warn", "Ignore"])
      .optional()
      .describe(
        "policy is what happens when an object of the bundle is deleted or a field of it changed. Correct puts it back, Warn reports it and changes nothing, Ignore does not look. Fields that the bundle does not set are never drift. Without it, Correct; but Warn on an extension that was taken over from the Go operator-controller, until its first upgrade.",
      ),
    ignore: z.array(ignoreRule).max(16).optional().meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "ignore names fields that are left as others set them, also by upgrades. An object that does not exist is made as the bundle has it. At most 16.",
    }),
  })
  .describe("drift configures what happens when somebody changes or deletes what is installed.");

/**
 * What `spec.source.catalog.version` may look like. The odd parts are the upstream API's own (a first "version" of `|`, `*]` for a wildcard in
 * some places) and stay, since they decide what is accepted; what a version range means is another matter.
 */
function versionExpression(): string {
  const operator = String.raw`(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)`;
  const preRelease = String.raw`(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`;
  const build = String.raw`(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`;
  const first = String.raw`(v?(0|[1-9]\d*|[x|X|\*])(\.(0|[1-9]\d*|x|X|\*]))?(\.(0|[1-9]\d*|x|X|\*))?${preRelease}${build})`;
  const further = String.raw`(v?(0|[1-9]\d*|x|X|\*])(\.(0|[1-9]\d*|x|X|\*))?(\.(0|[1-9]\d*|x|X|\*]))?${preRelease}${build})`;
  return String.raw`^(\s*${operator}\s*${first}\s*)((?:\s+|,\s*|\s*\|\|\s*)${operator}\s*${further}\s*)*$`;
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
).describe("packageName is the package to install. It cannot be changed. A DNS-1123 subdomain of at most 253 characters.");

const version = withRules(z.string().max(64), matches(versionExpression(), "invalid version expression")).describe(
  `version is the range of versions that may be installed. Without it, any version may.

A range is one comparison or several: "1.2.3" (exactly this one), ">=1.2.0, <2.0.0" (both hold), "~1.2" (1.2 and its patches), "^1.2.3" (up to the next major version), "1.x", "<1.0.0 || >=2.0.0" (one of them holds). The extension is upgraded automatically within the range. At most 64 characters.`,
);

const channels = z
  .array(withRules(z.string().max(253), matches(DNS1123_SUBDOMAIN, "channels entries must be valid DNS1123 subdomains")))
  .max(256)
  .describe(
    "channels limits installations to bundles of these channels, and upgrades to their edges. Without it, all channels of the package count. At most 256.",
  );

/** Where a bundle is looked for, and which one is wanted. */
export const CatalogSource = z
  .object({
    packageName,
    version: version.optional(),
    channels: channels.optional(),
    selector: labelSelector
      .optional()
      .describe("selector picks the ClusterCatalogs to search, by their labels. Without it, all are searched."),
    upgradeConstraintPolicy: z
      .enum(["CatalogProvided", "SelfCertified"])
      .default("CatalogProvided")
      .describe(
        "upgradeConstraintPolicy says whether upgrades follow the catalog's edges (CatalogProvided) or may go to any version, older ones included (SelfCertified). Going against the catalog can lose data.",
      ),
    clusterVersionPolicy: z
      .enum(["Warn", "Enforce"])
      .default("Warn")
      .describe(
        `clusterVersionPolicy says what happens with a bundle whose property olm.maxOpenShiftVersion is lower than the cluster's own minor version, or cannot be read. Warn takes it like any other and says so in condition Progressing. Enforce does not move to it; a bundle that is already installed stays.

The policy compares with the version of the OpenShift cluster, or with the one that operator-controller is told by --cluster-version. Elsewhere there is nothing to compare with and it has no effect. Either way an installed bundle that does not support the cluster's next minor version keeps the cluster from being upgraded.`,
      ),
  })
  .describe("catalog selects a bundle from the cluster's ClusterCatalogs. Required when sourceType is Catalog, forbidden otherwise.");
/** Which package is wanted, and of which catalogs and versions. */
export type CatalogSource = z.input<typeof CatalogSource>;

const source = withRules(
  z.object({
    sourceType: z.enum(["Catalog"]).describe("sourceType is where bundles come from. The only value is Catalog."),
    catalog: CatalogSource.optional(),
  }),
  unionMember("sourceType", "Catalog", "catalog", "catalog is required when sourceType is Catalog, and forbidden otherwise"),
).describe("source selects what to install, and from where.");

const serviceAccount = z
  .object({
    name: withRules(
      z.string().min(1).max(253),
      immutable("name is immutable once set but may be cleared"),
      matches(DNS1123_SUBDOMAIN, `name ${SUBDOMAIN_TEXT}`),
    )
      .optional()
      .describe(
        "name is the name of a ServiceAccount in spec.namespace. Once set it cannot be changed, only cleared. A DNS-1123 subdomain of at most 253 characters.",
      ),
  })
  .refine((value) => Object.keys(value).length > 0, "must have at least 1 property")
  .meta({
    minProperties: 1,
    description:
      "serviceAccount is the identity that reads, creates, changes, watches and deletes the extension's objects. Its rights are the limit of what a bundle can do to the cluster; `olmv1 rbac` prints those that a bundle needs.",
  });

const crdUpgradeSafety = z
  .object({
    enforcement: z
      .enum(["None", "Strict"])
      .describe(
        "enforcement is Strict to refuse CustomResourceDefinitions that could lose data of custom resources or break those who use them, or None to check nothing. Where spec.install is absent, it is Strict.",
      ),
    ignore: z
      .array(z.enum(CRD_UPGRADE_CHECKS))
      .max(CRD_UPGRADE_CHECKS.length)
      .refine((names) => new Set(names).size === names.length, "must not hold a name twice")
      .optional()
      .meta({
        "x-kubernetes-list-type": "set",
        description:
          "ignore are the names of checks to leave out, as findings name them: those of the definition (scope, storedVersionRemoval), of values in its schema (such as enum or maxLength; unhandled for changes that no check knows), and those against the custom resources that exist (existingObjects: they must be valid under the new schema; servedVersionRemoval: none may exist when a served version goes). With existingFieldRemoval nothing is said about a field that is gone.",
      }),
  })
  .describe(
    "crdUpgradeSafety is the check of the bundle's CustomResourceDefinitions against those that exist, before anything is installed or upgraded.",
  );

const install = withRules(
  z.object({
    preflight: withRules(z.object({ crdUpgradeSafety }), {
      rule: "has(self.crdUpgradeSafety)",
      message: "at least one of [crdUpgradeSafety] are required when preflight is specified",
    })
      .optional()
      .describe("preflight configures the checks that run before an installation or upgrade."),
    onFailure: z
      .enum(["Retain", "Rollback"])
      .optional()
      .describe(
        "onFailure is what happens when an upgrade is not rolled out within progressDeadlineMinutes. Retain (the default) leaves it as it is, Rollback goes back to the release before, CustomResourceDefinitions excepted. An upgrade of which an object is refused is undone in either case, unless a Pod of it is ready already.",
      ),
    permissions: z
      .enum(["Enforce", "Warn"])
      .optional()
      .describe(
        "permissions is what happens when the ServiceAccount lacks rights that the bundle needs. Enforce (the default) writes nothing and names all of them, Warn names them and goes on, so that the API server decides.",
      ),
    requirements: z
      .enum(["Enforce", "Warn"])
      .optional()
      .describe(
        "requirements is what happens when the cluster lacks what the bundle's ClusterServiceVersion requires: a Kubernetes version of at least minKubeVersion, and the required CustomResourceDefinitions and API services that it does not bring itself. Warn (the default) names them and goes on, Enforce writes nothing before they are there.",
      ),
    userRoles: z
      .enum(["None", "Aggregate"])
      .optional()
      .describe(
        "userRoles is Aggregate to add the bundle's APIs to the cluster's roles admin, edit and view, by ClusterRoles of the extension. None is the default.",
      ),
  }),
  {
    rule: "has(self.preflight) || has(self.permissions) || has(self.onFailure) || has(self.userRoles) || has(self.requirements)",
    message: "at least one of [preflight] are required when install is specified",
    holds: ({ preflight, permissions, onFailure, userRoles, requirements }) =>
      [preflight, permissions, onFailure, userRoles, requirements].some((member) => member !== undefined),
  },
).describe("install configures how bundles are installed and upgraded.");

const uninstall = z
  .object({
    crdPolicy: z
      .enum(["DeleteIfUnused", "Delete", "Retain"])
      .default("DeleteIfUnused")
      .describe(
        "crdPolicy is what happens to the bundle's CustomResourceDefinitions when the extension is deleted, and to those that a newer version leaves out. DeleteIfUnused keeps a definition while custom resources of it exist, Delete deletes it together with them, Retain keeps it.",
      ),
  })
  .describe("uninstall configures what is removed together with the extension.");

const template = z
  .object({
    namespace: withRules(z.string().max(63), matches(DNS1123_LABEL, "namespace must be a valid DNS1123 label"))
      .optional()
      .describe("namespace is spec.namespace of the extensions that are made. Without it, that of this extension."),
    serviceAccount: z
      .object({
        name: withRules(z.string().min(1).max(253), matches(DNS1123_SUBDOMAIN, `name ${SUBDOMAIN_TEXT}`)).describe(
          "name is the name of a ServiceAccount in their namespace. A DNS-1123 subdomain of at most 253 characters.",
        ),
      })
      .optional()
      .describe(
        "serviceAccount is the identity of the extensions that are made. Without it, a ServiceAccount of the name that spec.serviceAccount of this extension has.",
      ),
  })
  .describe(
    "template says what is different about the extensions that policy Install makes. Who may set it is for admission to decide: it names an identity as spec.serviceAccount does.",
  );

const dependencies = z
  .object({
    policy: z
      .enum(["Require", "Install", "Ignore"])
      .default("Require")
      .describe(
        `policy is what happens when a bundle depends on other packages or APIs. With Require a bundle is installed once everything that it depends on is installed or served by the cluster; until then condition Progressing is False with reason UnsatisfiedDependencies, says what is missing and which bundle of a catalog would supply it, and goes on by itself when it is there. Install makes a ClusterExtension for each package that is missing, and waits for it; an extension of the package that exists already is waited for, and never changed. Ignore installs without checking.

With Require and Install no version is chosen that would take away what another installed bundle depends on.`,
      ),
    template: template.optional(),
  })
  .describe("dependencies configures how bundles that depend on other packages or APIs are treated.");

/** The desired state of a ClusterExtension. */
export const ClusterExtensionSpec = z
  .object({
    namespace: withRules(
      z.string().max(63),
      immutable("namespace is immutable"),
      matches(DNS1123_LABEL, "namespace must be a valid DNS1123 label"),
    ).describe(
      "namespace is where the extension's namespaced objects go and where its ServiceAccount lives. It must exist, and cannot be changed. A DNS-1123 label of at most 63 characters.",
    ),
    serviceAccount: serviceAccount.optional(),
    source,
    install: install.optional(),
    config: extensionConfig.optional(),
    progressDeadlineMinutes: z.int().min(10).max(720).optional().meta({
      format: "int32",
      description:
        "progressDeadlineMinutes is how long a rollout may take before it counts as failed, 10 to 720 minutes: condition Progressing then becomes False with reason ProgressDeadlineExceeded until the rollout is complete after all. A rollout is complete as soon as condition Available has been True. Without it there is no limit.",
    }),
    uninstall: uninstall.optional(),
    dependencies: dependencies.optional(),
    drift: drift.optional(),
    approval: z
      .enum(["Automatic", "Manual"])
      .optional()
      .describe(
        "approval is Manual where somebody has to approve each installation and upgrade before anything is written: status.plan says what it would do, and annotation olm.operatorframework.io/approve with the plan's digest approves it. What is installed is kept as it is meanwhile. Automatic, the default, goes on by itself.",
      ),
    suspend: z
      .boolean()
      .optional()
      .describe(
        "suspend stops everything that is done for the extension while it is true: nothing is resolved, installed, upgraded or put back. What is installed stays as it is. A deletion is not held up.",
      ),
  })
  .describe("spec is the desired state.");
export type ClusterExtensionSpec = z.input<typeof ClusterExtensionSpec>;

const bundle = z
  .object({
    name: withRules(z.string(), matches(DNS1123_SUBDOMAIN, `packageName ${SUBDOMAIN_TEXT}`)).describe(
      "name is the bundle's name in its catalog.",
    ),
    version: withRules(z.string(), matches(BUNDLE_VERSION, "version must be well-formed semver")).describe(
      "version is the bundle's version.",
    ),
    release: withRules(
      z.string().max(20),
      matches(
        BUNDLE_RELEASE,
        "release must be empty or consist of dot-separated identifiers (numeric without leading zeros, or alphanumeric)",
      ),
    )
      .optional()
      .describe("release tells bundles of one version apart. Absent when the bundle has none of its own."),
  })
  .describe("bundle is the installed bundle.");

/** The observed state of a ClusterExtension. */
export const ClusterExtensionStatus = z
  .object({
    conditions: conditions(
      `conditions describe the state of the extension.

Installed: whether a bundle is installed. Progressing: True when the desired state is reached (Succeeded), rolling out (RollingOut), being removed (Uninstalling) or tried again (Retrying); False when somebody has to act (Blocked, InvalidConfiguration, UnsatisfiedDependencies, ProgressDeadlineExceeded), has to approve (AwaitingApproval) or asked for nothing to be done (Suspended). Available: whether what is installed works: True (Healthy), False while it is rolled out (RollingOut) or when something is wrong with it (Unhealthy, with the object and its Pod in the message), Unknown when that cannot be told. Ready: True when a bundle is installed, nothing is left to do and it is available; otherwise with the reason of the first that is not so. Deprecated, PackageDeprecated, ChannelDeprecated and BundleDeprecated: whether the catalog advises against the package, the channels or the bundle. ClusterUpgradeBlocked, only where an installed bundle states up to which OpenShift version it works: whether it keeps the cluster from being upgraded to its next minor version, and what would lift that.`,
    ).optional(),
    install: z
      .object({
        bundle,
        catalog: z
          .string()
          .max(253)
          .optional()
          .describe(
            "catalog is the name of the ClusterCatalog that the installed bundle was resolved from. Absent while that is not known. While another catalog cannot be reached, updates come only from this one.",
          ),
      })
      .optional()
      .describe("install describes what is installed. Absent when nothing is."),
    problems: Problems.optional(),
    omittedProblems: OmittedProblems.optional(),
    inventory: Inventory.optional(),
    providedAPIs: ProvidedApis.optional(),
    keptCRDs: KeptCrds.optional(),
    availableUpdates: AvailableUpdates.optional(),
    blockedUpdate: BlockedUpdate.optional(),
    plan: Plan.optional(),
    lastHandledReconcileAt: z
      .string()
      .max(64)
      .optional()
      .describe(
        "lastHandledReconcileAt is the value of annotation olm.operatorframework.io/reconcile-requested-at, cut at 64 characters, that the last pass dealt with.",
      ),
    activeRevisions: z
      .array(
        z
          .object({
            name: z.string().describe("name is the revision's name."),
            conditions: conditions("conditions describe the revision while it rolls out.").optional(),
          })
          .describe("One revision."),
      )
      .optional()
      .meta({
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        description: "activeRevisions are the revisions that are installed or rolling out, where revisions are objects of their own.",
      }),
  })
  .describe("status is the observed state.");
export type ClusterExtensionStatus = z.input<typeof ClusterExtensionStatus>;

/**
 * Rules over the whole object. They let an object that broke them before they existed be updated, since otherwise its finalizers could not be removed.
 * `spec` cannot be removed: a new one could then name another namespace and package.
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
    message: `metadata.name must be no longer than ${EXTENSION_NAME_MAX} characters, since the names and labels of what is installed contain it`,
    holds: ({ metadata }) => (metadata?.name?.length ?? 0) <= EXTENSION_NAME_MAX,
    optionalOldSelf: true,
  },
];

/** Schema of the ClusterExtension definition. */
export const ClusterExtension = withRules(
  z.object({
    metadata: z.object({ name: z.string().optional() }).optional(),
    spec: ClusterExtensionSpec.optional(),
    status: ClusterExtensionStatus.optional(),
  }),
  ...objectRules,
).describe("ClusterExtension installs a package from a catalog, keeps it installed and upgrades it, with the rights of a ServiceAccount.");

/** As read from the API server: defaults are set, members that we do not know are still there. */
export interface ClusterExtension extends KubeObject {
  spec: ClusterExtensionSpec;
  status?: ClusterExtensionStatus;
}
