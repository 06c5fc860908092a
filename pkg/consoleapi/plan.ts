import * as z from "zod/mini";
import { ActionRequest } from "./actions.ts";
import { MoodText } from "./live.ts";
import { PermissionsPreview, RuleList } from "./rules.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** Maximum number of objects in a plan; changed ones first. */
export const PLAN_OBJECTS_SHOWN = 1_000;

/** A change that the page offers, with a sentence about it. */
export const OfferedAction = z.object({ label: z.string(), meaning: z.string(), request: ActionRequest });
export type OfferedAction = z.infer<typeof OfferedAction>;

/** One changed field. Values are JSON of at most 200 characters; those of Secrets are masked. */
export const FieldRow = z.object({
  path: z.string(),
  /** Absent if the field is added. */
  before: z.optional(z.string()),
  /** Absent if the field is removed. */
  after: z.optional(z.string()),
  /** Whether it is a label or annotation that does not affect the operator. */
  isMinor: z.boolean(),
});
export type FieldRow = z.infer<typeof FieldRow>;

/** The change of one object. */
export const ObjectChangeRow = z.object({
  action: z.enum(["Create", "Update", "Delete", "Unchanged"]),
  apiVersion: z.string(),
  kind: z.string(),
  namespace: z.optional(z.string()),
  name: z.string(),
  /** Whether the object grants more permissions than now. */
  widens: z.boolean(),
  /** Whether the API server or a check rejects the object; its changes are then unknown. */
  refused: z.boolean(),
  /** At most 50. */
  fields: z.array(FieldRow),
  /** Number of changed fields that `fields` omits. */
  more: z.number(),
  /** Whether the values of the fields are unknown. */
  hasUnknownValues: z.optional(z.boolean()),
});
export type ObjectChangeRow = z.infer<typeof ObjectChangeRow>;

/** Numbers of objects by change. */
export const ChangeCounts = z.object({ create: z.number(), update: z.number(), delete: z.number(), unchanged: z.number() });

/** Why the controller would reject a plan. */
export const PlanFindingRow = z.object({
  /** Such as `Missing permissions`. */
  title: z.string(),
  /** Truncated after 8,000 characters. */
  text: z.string(),
  /** Whether it concerns a CustomResourceDefinition. */
  isDefinition: z.boolean(),
  /** The missing rules. */
  rules: z.optional(RuleList),
  /** How to grant the missing rules. */
  grant: z.optional(SuggestedStep),
});
export type PlanFindingRow = z.infer<typeof PlanFindingRow>;

/** A bundle of a plan with dependencies. */
const PlanMember = z.object({
  extension: z.string(),
  isOwn: z.boolean(),
  /** Such as `new ClusterExtension`. */
  state: z.string(),
  bundle: z.string(),
  version: z.string(),
  catalog: z.string(),
  reason: z.optional(z.string()),
});

/** What the next change of an extension would do. */
export const ExtensionPlan = z.object({
  /** RFC 3339. */
  computed: z.string(),
  /** Why only a part of the plan is known. */
  notice: z.optional(z.string()),
  /** One sentence: what the controller would do with the plan. */
  verdict: MoodText,
  installed: z.optional(z.object({ bundle: z.string(), version: z.string() })),
  bundle: z.object({ name: z.string(), version: z.string(), catalog: z.optional(z.string()) }),
  /** Support phase and supported OpenShift versions of the bundle; absent if the catalog has no support phases of the package. */
  support: z.optional(MoodText),
  /** Why this bundle is selected; empty if unknown. */
  explanation: z.string(),
  counts: ChangeCounts,
  objects: z.array(ObjectChangeRow),
  omittedObjects: z.number(),
  findings: z.array(PlanFindingRow),
  /** What permission-manager would decide; a text if it is unknown. */
  permissions: z.optional(z.union([PermissionsPreview, z.string()])),
  warnings: z.array(z.object({ text: z.string(), objects: z.array(z.string()) })),
  notes: z.array(z.string()),
  unavailableCatalogs: z.array(z.object({ catalog: z.string(), because: z.string() })),
  dependencies: z.optional(
    z.object({
      waves: z.array(z.object({ wave: z.number(), members: z.array(PlanMember) })),
      /** Sentences about objects that were not tried, and about an earlier rollback. */
      notes: z.array(z.string()),
    }),
  ),
  digest: z.optional(z.string()),
  /** Sentences about the approval, such as whether one is needed and who gave it. */
  approval: z.array(z.object({ text: z.string(), time: z.optional(z.string()) })),
  /** Approves the plan, or changes the version to the one that the user chose. */
  accept: z.optional(OfferedAction),
  /** Ways to reject the plan. */
  reject: z.array(OfferedAction),
  /** What rejecting a plan means. */
  rejectNote: z.string(),
  /** The command that prints the same; absent if no command does. */
  command: z.optional(z.string()),
});
export type ExtensionPlan = z.infer<typeof ExtensionPlan>;
