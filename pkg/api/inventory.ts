import * as z from "zod";
import { INVENTORY_MAX, KEPT_CRDS_MAX, PROVIDED_APIS_MAX } from "./constants.ts";

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
