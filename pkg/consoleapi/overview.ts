import * as z from "zod/mini";
import { ActionRequest } from "./actions.ts";
import { ExtensionTabName } from "./extensionTab.ts";
import { MoodText } from "./live.ts";
import { EventRows, ShownObject } from "./objects.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** One entry in the details of a problem, such as an object or a catalog. */
export const ProblemEntry = z.object({
  name: z.string(),
  text: z.string(),
  object: z.optional(ShownObject),
  catalog: z.optional(z.string()),
  extension: z.optional(z.string()),
});
export type ProblemEntry = z.infer<typeof ProblemEntry>;

/**
 * A reason why an extension needs attention: a problem in the status, or a condition or update that no problem reports. Lists have at most 20 entries,
 * texts at most 2,000 characters, as in the API.
 */
export const ProblemView = z.object({
  type: z.string(),
  severity: z.enum(["error", "warning", "info"]),
  /** In place of the message of a problem whose details contain it: what the problem means. */
  message: z.string(),
  /** Most useful first. */
  next: z.array(SuggestedStep),
  /** Rules by namespace, empty for the whole cluster; each rule as one text, broadest first. */
  permissions: z.array(z.object({ namespace: z.string(), rules: z.array(z.string()) })),
  details: z.array(ProblemEntry),
  /** Changes that may repair it. */
  actions: z.array(ActionRequest),
  /** The tab that shows more. */
  tab: z.optional(ExtensionTabName),
});
export type ProblemView = z.infer<typeof ProblemView>;

/** A condition of the status. */
export const ConditionRow = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  state: MoodText,
  /** At most 8,000 characters; empty if `see` is present. */
  message: z.string(),
  since: z.string(),
  /** Type of the condition that contains the details, or `problems`. */
  see: z.optional(z.string()),
  means: z.string(),
  next: z.array(SuggestedStep),
});
export type ConditionRow = z.infer<typeof ConditionRow>;

/** One bundle of a dependency plan in progress. */
const planMember = z.object({ wave: z.number(), bundle: z.string(), extension: z.string(), state: MoodText, why: z.string() });

/** Everything about the state of an extension; the same as `olmv1 describe`. */
export const ExtensionOverview = z.object({
  name: z.string(),
  state: MoodText,
  summary: z.object({
    package: z.string(),
    installed: z.string(),
    /** Support phase of the installed version; absent if its catalog has no support phases of the package. */
    support: z.optional(MoodText),
    /** Supported OpenShift versions; absent if they are unknown. */
    platform: z.optional(z.string()),
    namespace: z.string(),
    installer: z.string(),
    source: z.string(),
    /** Available updates; absent if they are unknown. */
    updates: z.array(z.string()),
    approval: z.string(),
    pin: z.optional(z.string()),
    drift: z.string(),
    crdPolicy: z.string(),
    created: z.optional(z.string()),
  }),
  /** The first one that is not only a note is that of the list of extensions. */
  problems: z.array(ProblemView),
  omittedProblems: z.number(),
  /** Whether the OLM of the cluster reports problems only in conditions. */
  hasConditionsOnly: z.boolean(),
  /** At most 50; those that do not hold first. */
  conditions: z.array(ConditionRow),
  /** Objects that do not work, at most 100; `count` counts all objects of the installed bundle, or `unknown` contains why they are unknown. */
  objects: z.object({
    count: z.optional(z.number()),
    unknown: z.optional(z.string()),
    notReady: z.array(z.object({ object: ShownObject, state: MoodText, message: z.string() })),
  }),
  plan: z.optional(
    z.object({
      installed: z.number(),
      all: z.number(),
      failure: z.optional(z.string()),
      members: z.array(planMember),
    }),
  ),
  /** Extensions whose dependency plan in progress contains this one. */
  partOf: z.array(z.string()),
  /** The selected catalogs that are not served as specified, or why they cannot be read. */
  catalogs: z.union([z.array(z.object({ name: z.string(), state: MoodText, message: z.string() })), z.object({ error: z.string() })]),
  /** CustomResourceDefinitions that upgrades kept. */
  keptCrds: z.array(z.object({ name: z.string(), message: z.string() })),
  events: EventRows,
});
export type ExtensionOverview = z.infer<typeof ExtensionOverview>;
