import * as z from "zod/mini";
import { MoodText } from "./live.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** A requirement of a bundle, and what meets it. */
export const RequirementRow = z.object({
  /** The extension whose bundle has the requirement. */
  extension: z.string(),
  bundle: z.optional(z.string()),
  text: z.string(),
  state: MoodText,
  /** Why it is not met, at most 20 sentences. */
  unmet: z.array(z.string()),
  /** Extensions that meet it. */
  providers: z.array(z.string()),
  /** Those of `providers` whose uninstall waits for this extension. */
  needed: z.array(z.string()),
});
export type RequirementRow = z.infer<typeof RequirementRow>;

/** A dependency plan in progress. */
export const PlanProgressView = z.object({
  /** The extension that has the plan in its status. */
  extension: z.string(),
  installed: z.number(),
  all: z.number(),
  /** Why it was rolled back. */
  failure: z.optional(z.string()),
  /** By wave; at most 100. */
  members: z.array(
    z.object({
      wave: z.number(),
      extension: z.string(),
      bundle: z.string(),
      version: z.string(),
      catalog: z.string(),
      state: MoodText,
      /** Why it is not installed. */
      why: z.string(),
      /** The requirement that it meets. */
      reason: z.optional(z.string()),
    }),
  ),
});
export type PlanProgressView = z.infer<typeof PlanProgressView>;

/** An extension that cannot be uninstalled while others depend on it. */
export const Blocker = z.object({
  extension: z.string(),
  /** Whether its uninstall waits now. */
  isWaiting: z.boolean(),
  dependents: z.array(z.object({ extension: z.string(), needs: z.array(z.string()) })),
  next: z.optional(SuggestedStep),
});
export type Blocker = z.infer<typeof Blocker>;

/** A node of the graph of dependencies. Lengths are in pixels. */
export const DependencyNode = z.object({
  id: z.string(),
  /** `missing`: a requirement that nothing meets. `cluster`: APIs of the cluster that no extension provides. */
  kind: z.enum(["extension", "missing", "cluster"]),
  label: z.string(),
  detail: z.string(),
  state: z.optional(MoodText),
  x: z.number(),
  y: z.number(),
});
export type DependencyNode = z.infer<typeof DependencyNode>;

/** An arrow from a dependent to what it needs. */
export const DependencyEdge = z.object({
  from: z.string(),
  to: z.string(),
  state: z.enum(["met", "unmet", "planned"]),
  /** The requirements, at most 20. */
  requirements: z.array(z.string()),
  /** SVG path data. */
  path: z.string(),
});
export type DependencyEdge = z.infer<typeof DependencyEdge>;

/** The graph of dependencies: dependents on the left, what they need on the right. */
export const DependencyGraph = z.object({
  width: z.number(),
  height: z.number(),
  node: z.object({ width: z.number(), height: z.number() }),
  nodes: z.array(DependencyNode),
  edges: z.array(DependencyEdge),
});
export type DependencyGraph = z.infer<typeof DependencyGraph>;

/** Who needs whom on the cluster. */
export const DependencyMap = z.object({
  /** Requirements that are not met first; at most 2000. */
  requirements: z.array(RequirementRow),
  plans: z.array(PlanProgressView),
  blockers: z.array(Blocker),
  /** Absent if there are no dependencies, or too many to draw. */
  graph: z.optional(DependencyGraph),
  /** Number of extensions that need nothing and that no other extension needs. */
  independent: z.number(),
  /** What could not be read, one sentence each; at most 50. */
  unknown: z.array(z.string()),
});
export type DependencyMap = z.infer<typeof DependencyMap>;
