import * as z from "zod";
import { PLAN_FIELDS_MAX, PLAN_OBJECTS_MAX } from "./constants.ts";

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
