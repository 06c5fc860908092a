import * as z from "zod";
import {
  AVAILABLE_UPDATES_MAX,
  INVENTORY_MAX,
  KEPT_CRDS_MAX,
  PLAN_FIELDS_MAX,
  PLAN_MEMBERS_MAX,
  PLAN_OBJECTS_MAX,
  PROVIDED_APIS_MAX,
} from "./constants.ts";

const NAME_MAX = 256;
const MESSAGE_MAX = 1_024;
const DAY_LENGTH = 10;
const PLATFORM_VERSIONS_MAX = 128;

const target = {
  version: z.string().max(NAME_MAX).describe("version is the version of the bundle, including its release if it has one."),
  bundle: z.string().max(NAME_MAX).describe("bundle is the name of the bundle."),
  catalog: z.string().max(NAME_MAX).describe("catalog is the name of the ClusterCatalog."),
};

/** Versions that the extension may be upgraded to. */
export const AvailableUpdates = z
  .array(
    z
      .object({
        ...target,
        edge: z
          .enum(["replaces", "skips", "skipRange"])
          .optional()
          .describe(
            "edge is the type of the upgrade edge from the installed bundle. Absent if there is no edge, which upgradeConstraintPolicy SelfCertified allows.",
          ),
        channel: z.string().max(NAME_MAX).optional().describe("channel is the channel of the edge."),
        deprecated: z.boolean().describe("deprecated is true if the catalog deprecates the version."),
      })
      .describe("One version."),
  )
  .max(AVAILABLE_UPDATES_MAX)
  .describe(
    `availableUpdates are the newer versions that the extension may be upgraded to, highest first, at most ${AVAILABLE_UPDATES_MAX}. Empty if no version is available. Absent if no bundle is installed or a relevant catalog is unavailable.`,
  );
export type AvailableUpdates = z.input<typeof AvailableUpdates>;

/** The newest version that the extension may not be upgraded to. */
export const BlockedUpdate = z
  .object({
    ...target,
    reason: z
      .string()
      .max(NAME_MAX)
      .describe(
        "reason is the first rule that excludes the version: Channels, VersionRange, UpgradeEdges, ClusterVersion, Dependencies, Deprecation or CatalogPriority.",
      ),
    message: z.string().max(MESSAGE_MAX).describe("message lists all rules that exclude the version, each with a remedy."),
  })
  .describe("blockedUpdate is the newest version that the extension may not be upgraded to, if it is newer than all availableUpdates.");
export type BlockedUpdate = z.input<typeof BlockedUpdate>;

const day = (description: string) => z.string().max(DAY_LENGTH).optional().describe(`${description}, as YYYY-MM-DD in UTC.`);

/** Support of the installed bundle. */
export const InstalledSupport = z
  .object({
    state: z
      .enum(["Supported", "NotStarted", "Ended", "Unknown"])
      .describe(
        "state is Supported while a support phase lasts, NotStarted before the next phase, Ended after the last phase, and Unknown if the catalog has no valid data for the version. Unknown does not mean supported.",
      ),
    phase: z
      .string()
      .max(NAME_MAX)
      .optional()
      .describe("phase is the name of the current phase; with state NotStarted, of the next phase."),
    phaseEndDate: day("phaseEndDate is the last day of the current phase"),
    startDate: day("startDate is the first day of the next phase, if state is NotStarted"),
    endDate: day("endDate is the last day of the last phase"),
    platform: z
      .enum(["Compatible", "Incompatible", "Unknown"])
      .describe("platform is whether the bundle supports the OpenShift version of the cluster; Unknown without data or on other clusters."),
    platformVersions: z
      .array(z.string().max(NAME_MAX))
      .max(PLATFORM_VERSIONS_MAX)
      .optional()
      .describe("platformVersions are the supported OpenShift versions, each MAJOR.MINOR. Absent without data."),
  })
  .describe(
    "support is the support of the installed bundle according to its catalog (schema io.openshift.operators.lifecycles.v1alpha1). Absent if the catalog has no data about the package.",
  );
export type InstalledSupport = z.input<typeof InstalledSupport>;

const inventoryObject = z
  .object({
    group: z.string().optional().describe("group is the API group, absent for the core group."),
    version: z.string().describe("version is the API version."),
    kind: z.string().describe("kind is the kind."),
    namespace: z.string().optional().describe("namespace is the namespace, absent for cluster-scoped objects."),
    name: z.string().describe("name is the name."),
  })
  .describe("One object.");

/** Objects of the deployed release, in a bounded form. */
export const Inventory = z
  .object({
    count: z.int().min(0).describe("count is the number of objects."),
    objects: z
      .array(inventoryObject)
      .max(INVENTORY_MAX)
      .describe(`objects are the objects in the order in which they are applied, at most ${INVENTORY_MAX}.`),
  })
  .describe("inventory lists the objects of the deployed release. Absent if no bundle is installed.");
export type Inventory = z.input<typeof Inventory>;

/** APIs that a bundle provides. */
export const ProvidedApis = z
  .array(
    z
      .object({
        group: z.string().describe("group is the API group."),
        kind: z.string().describe("kind is the kind."),
        versions: z.array(z.string()).describe("versions are the served versions, in the order of the bundle."),
      })
      .describe("One API."),
  )
  .max(PROVIDED_APIS_MAX)
  .describe(`providedAPIs are the APIs of the installed bundle: custom resources and aggregated APIs, at most ${PROVIDED_APIS_MAX}.`);
export type ProvidedApis = z.input<typeof ProvidedApis>;

/** CustomResourceDefinitions of earlier bundles. */
export const KeptCrds = z
  .array(
    z
      .object({
        name: z.string().describe("name is the name of the CRD."),
        message: z.string().describe("message explains why the CRD was kept at the last check."),
      })
      .describe("One CustomResourceDefinition."),
  )
  .max(KEPT_CRDS_MAX)
  .describe(
    `keptCRDs are CustomResourceDefinitions of earlier bundles that still belong to this extension, at most ${KEPT_CRDS_MAX}. The controller deletes them once they are unused, see spec.uninstall.crdPolicy.`,
  );
export type KeptCrds = z.input<typeof KeptCrds>;

const count = (description: string) => z.int().min(0).describe(`${description}.`);

const plannedObject = z
  .object({
    action: z.enum(["Create", "Update", "Delete", "Unchanged"]).describe("action is the planned action."),
    group: z.string().optional().describe("group is the API group, absent for the core group."),
    kind: z.string().describe("kind is the kind."),
    namespace: z.string().optional().describe("namespace is the namespace, absent for cluster-scoped objects."),
    name: z.string().describe("name is the name."),
    fields: z.array(z.string()).max(PLAN_FIELDS_MAX).optional().describe(`fields are paths of changed fields, at most ${PLAN_FIELDS_MAX}.`),
    widens: z.boolean().optional().describe("widens is true if the object would grant additional permissions."),
  })
  .describe("One object of a plan.");

/** A plan that waits for approval, in a bounded form. */
export const Plan = z
  .object({
    digest: z
      .string()
      .describe(
        "digest identifies the plan: it is computed from the bundle, configuration, rendered objects and deployed release. To approve the plan, set annotation olm.operatorframework.io/approve to this value.",
      ),
    bundle: z
      .object({
        name: z.string().describe("name is the name of the bundle."),
        version: z.string().describe("version is the version of the bundle."),
      })
      .describe("bundle is the bundle to install."),
    create: count("create is the number of objects to create."),
    update: count("update is the number of objects to update."),
    delete: count("delete is the number of objects to delete."),
    unchanged: count("unchanged is the number of unchanged objects. Their labels for package and version may still change."),
    objects: z
      .array(plannedObject)
      .max(PLAN_OBJECTS_MAX)
      .optional()
      .describe(`objects are the changed objects, at most ${PLAN_OBJECTS_MAX}; \`olmv1 plan\` shows all of them with their fields.`),
  })
  .describe("plan is the installation or upgrade that waits for approval. Absent if nothing waits for approval.");
export type Plan = z.input<typeof Plan>;

const plannedBundle = {
  bundle: z
    .object({
      name: z.string().max(NAME_MAX).describe("name is the name of the bundle."),
      version: z.string().max(NAME_MAX).describe("version is the version of the bundle, including its release if it has one."),
    })
    .describe("bundle is the bundle to install."),
  catalog: z.string().max(NAME_MAX).describe("catalog is the name of the ClusterCatalog."),
  image: z.string().max(MESSAGE_MAX).optional().describe("image is the image reference of the bundle in the catalog."),
  wave: z
    .int()
    .min(1)
    .describe(
      "wave is the position in the installation. The controller installs all bundles of a wave together, after those of earlier waves.",
    ),
};

/** A plan to install a bundle and its dependencies, in a bounded form. */
export const DependencyPlan = z
  .object({
    digest: z
      .string()
      .max(NAME_MAX)
      .describe("digest identifies the plan. One approval of this digest approves the installation of all bundles of the plan."),
    ...plannedBundle,
    members: z
      .array(
        z
          .object({
            extension: z.string().max(NAME_MAX).describe("extension is the name of the ClusterExtension that installs the bundle."),
            packageName: z.string().max(NAME_MAX).describe("packageName is the name of the package."),
            ...plannedBundle,
            created: z.boolean().optional().describe("created is true if policy Install creates the ClusterExtension for this plan."),
            reason: z.string().max(MESSAGE_MAX).optional().describe("reason is the requirement that the bundle meets."),
          })
          .describe("One bundle."),
      )
      .max(PLAN_MEMBERS_MAX)
      .describe(`members are the bundles to install with the bundle of this extension, at most ${PLAN_MEMBERS_MAX}.`),
    failure: z
      .object({
        message: z.string().max(MESSAGE_MAX).describe("message explains what failed."),
        attempts: z.int().min(1).describe("attempts is the number of failed attempts."),
        generation: z
          .int()
          .min(0)
          .describe("generation is the metadata.generation of the extension at that time. A change of the spec starts the next attempt."),
        retryAt: z.string().max(64).describe("retryAt is the time of the next attempt."),
      })
      .optional()
      .describe("failure explains why the plan was rolled back."),
  })
  .describe(
    "dependencyPlan is the installation or upgrade in progress of a bundle with missing dependencies. Until it is complete, each ClusterExtension in it resolves to the planned bundle. Absent if no dependencies are being installed.",
  );
export type DependencyPlan = z.input<typeof DependencyPlan>;
