import * as z from "zod";
import { AVAILABLE_UPDATES_MAX, INVENTORY_MAX, KEPT_CRDS_MAX, PLAN_FIELDS_MAX, PLAN_OBJECTS_MAX, PROVIDED_APIS_MAX } from "./constants.ts";

const NAME_MAX = 256;
const MESSAGE_MAX = 1_024;

const target = {
  version: z.string().max(NAME_MAX).describe("version is its version, with its release where it has one."),
  bundle: z.string().max(NAME_MAX).describe("bundle is its name in the catalog."),
  catalog: z.string().max(NAME_MAX).describe("catalog is the name of the ClusterCatalog that has it."),
};

/** The versions that may follow the installed one. */
export const AvailableUpdates = z
  .array(
    z
      .object({
        ...target,
        edge: z
          .enum(["replaces", "skips", "skipRange"])
          .optional()
          .describe(
            "edge is what makes it a successor of the installed bundle. Absent where upgradeConstraintPolicy SelfCertified does without.",
          ),
        channel: z.string().max(NAME_MAX).optional().describe("channel is the channel of that edge."),
        deprecated: z.boolean().describe("deprecated is whether the catalog advises against it."),
      })
      .describe("One version."),
  )
  .max(AVAILABLE_UPDATES_MAX)
  .describe(
    `availableUpdates are the newer versions that the extension may be upgraded to next, as spec and the catalogs are, highest first; the first ${AVAILABLE_UPDATES_MAX} of them. Empty when there are none. Absent when nothing is installed, or a catalog that matters cannot be asked.`,
  );
export type AvailableUpdates = z.input<typeof AvailableUpdates>;

/** The newest version that may not follow. */
export const BlockedUpdate = z
  .object({
    ...target,
    reason: z
      .string()
      .max(NAME_MAX)
      .describe(
        "reason is the first rule against it: Channels, VersionRange, UpgradeEdges, ClusterVersion, Dependencies, Deprecation or CatalogPriority.",
      ),
    message: z.string().max(MESSAGE_MAX).describe("message is every rule against it, each with what would let it through."),
  })
  .describe(
    "blockedUpdate is the newest version of the package that the extension may not be upgraded to next, where it is newer than all availableUpdates, and why.",
  );
export type BlockedUpdate = z.input<typeof BlockedUpdate>;

const inventoryObject = z
  .object({
    group: z.string().optional().describe("group is the object's API group, absent for the core group."),
    version: z.string().describe("version is the API version in which the object was applied."),
    kind: z.string().describe("kind is the object's kind."),
    namespace: z.string().optional().describe("namespace is the object's namespace, absent where it has none."),
    name: z.string().describe("name is the object's name."),
  })
  .describe("One object.");

/** What the deployed release holds, in a form that stays small. */
export const Inventory = z
  .object({
    count: z.int().min(0).describe("count is how many objects the deployed release holds."),
    objects: z
      .array(inventoryObject)
      .max(INVENTORY_MAX)
      .describe(`objects are those objects in the order in which they are applied, the first ${INVENTORY_MAX} of them.`),
  })
  .describe("inventory is what is installed, object by object. Absent when nothing is.");
export type Inventory = z.input<typeof Inventory>;

/** The APIs that a bundle brings. */
export const ProvidedApis = z
  .array(
    z
      .object({
        group: z.string().describe("group is the API's group."),
        kind: z.string().describe("kind is the API's kind."),
        versions: z.array(z.string()).describe("versions are those that are served, in the order of the bundle."),
      })
      .describe("One API."),
  )
  .max(PROVIDED_APIS_MAX)
  .describe(
    `providedAPIs are the APIs that the installed bundle brings, custom resources and those that the operator serves itself, the first ${PROVIDED_APIS_MAX} of them.`,
  );
export type ProvidedApis = z.input<typeof ProvidedApis>;

/** The definitions that earlier bundles left. */
export const KeptCrds = z
  .array(
    z
      .object({
        name: z.string().describe("name is the definition's name."),
        message: z.string().describe("message says why the definition stays, as of the last check."),
      })
      .describe("One CustomResourceDefinition."),
  )
  .max(KEPT_CRDS_MAX)
  .describe(
    `keptCRDs are CustomResourceDefinitions of earlier bundles that the installed bundle does not contain and that still belong to this extension, the first ${KEPT_CRDS_MAX} of them. Absent if there are none. The controller deletes them once they are unused, see spec.uninstall.crdPolicy.`,
  );
export type KeptCrds = z.input<typeof KeptCrds>;

const count = (what: string) => z.int().min(0).describe(`${what}.`);

const plannedObject = z
  .object({
    action: z.enum(["Create", "Update", "Delete", "Unchanged"]).describe("action is what would become of the object."),
    group: z.string().optional().describe("group is the object's API group, absent for the core group."),
    kind: z.string().describe("kind is the object's kind."),
    namespace: z.string().optional().describe("namespace is the object's namespace, absent where it has none."),
    name: z.string().describe("name is the object's name."),
    fields: z
      .array(z.string())
      .max(PLAN_FIELDS_MAX)
      .optional()
      .describe(`fields are paths of fields that would change, at most ${PLAN_FIELDS_MAX}.`),
    widens: z.boolean().optional().describe("widens is true where the object would give rights that it does not give now."),
  })
  .describe("One object of a plan.");

/** What waits for approval, in a form that stays small. */
export const Plan = z
  .object({
    digest: z
      .string()
      .describe(
        "digest names the plan: annotation olm.operatorframework.io/approve with this value approves it. It changes with the bundle, the configuration, the rendered objects and the deployed release.",
      ),
    bundle: z
      .object({
        name: z.string().describe("name is the bundle's name in its catalog."),
        version: z.string().describe("version is the bundle's version."),
      })
      .describe("bundle is what would be installed."),
    create: count("create is how many objects would be created"),
    update: count("update is how many objects would be changed"),
    delete: count("delete is how many objects would be removed"),
    unchanged: count("unchanged is how many objects would stay as they are, but for labels that name package and version"),
    objects: z
      .array(plannedObject)
      .max(PLAN_OBJECTS_MAX)
      .optional()
      .describe(`objects are those that would change, at most ${PLAN_OBJECTS_MAX}; \`olmv1 plan\` shows all of them, field by field.`),
  })
  .describe("plan is what an installation or upgrade would do that waits for approval. Absent when nothing waits.");
export type Plan = z.input<typeof Plan>;
