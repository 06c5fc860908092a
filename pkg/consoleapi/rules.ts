import * as z from "zod/mini";

/** The risk of a permission. */
export const RuleRisk = z.object({
  name: z.string(),
  level: z.enum(["RootEquivalent", "Broad"]),
  /** What a holder can do, as a sentence. */
  meaning: z.string(),
});
export type RuleRisk = z.infer<typeof RuleRisk>;

/** One rule of RBAC as a line of text. */
export const RuleRow = z.object({
  /** Such as `manage deployments.apps: all`; "manage" stands for create, delete, get, list, patch and watch. */
  text: z.string(),
  /** What the policy decides. */
  outcome: z.optional(z.enum(["Granted", "Pending", "Denied"])),
  risk: z.optional(RuleRisk),
  /** Why it is not granted, or that the extension has it now. */
  note: z.optional(z.string()),
});
export type RuleRow = z.infer<typeof RuleRow>;

/** Rules by scope, broadest first; at most 500 rules in a list. */
const RuleScope = z.object({
  /** Empty for the whole cluster. */
  namespace: z.string(),
  rules: z.array(RuleRow),
});

/** A list of rules. */
export const RuleList = z.object({
  /** Number of all rules. */
  count: z.number(),
  scopes: z.array(RuleScope),
});
export type RuleList = z.infer<typeof RuleList>;

/** What permission-manager would decide about the permissions of a bundle. */
export const PermissionsPreview = z.object({
  state: z.enum(["Granted", "Pending", "Denied"]),
  /** Sentences about the decision. */
  sentences: z.array(z.string()),
  policy: z.string(),
  /** ServiceAccount as `namespace/name`. */
  account: z.string(),
  added: RuleList,
  removed: RuleList,
  /** Digest of the rules that would wait for approval. */
  pendingDigest: z.optional(z.string()),
});
export type PermissionsPreview = z.infer<typeof PermissionsPreview>;
