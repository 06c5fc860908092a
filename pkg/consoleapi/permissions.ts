import * as z from "zod/mini";
import { MoodText } from "./live.ts";
import { OfferedAction } from "./plan.ts";
import { PermissionsPreview, RuleList, RuleRisk } from "./rules.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** Permissions that permission-manager grants, according to the status of ExtensionPermissions. */
export const ManagedPermissionsView = z.object({
  state: MoodText,
  message: z.optional(z.string()),
  policy: z.optional(z.string()),
  /** Whether the ServiceAccount always has its write permissions, as a sentence. */
  access: z.optional(z.string()),
  /** The bundle that the state is about, and another one that was requested since. */
  bundle: z.optional(z.string()),
  requested: z.optional(z.string()),
  /** The approval, and whether it is in use. */
  approval: z.optional(z.string()),
  granted: RuleList,
  pending: RuleList,
  denied: RuleList,
  /** The risks of the granted rules. */
  risks: z.array(RuleRisk),
  /** Newest first, at most 10. */
  history: z.array(
    z.object({ time: z.string(), reason: z.string(), bundle: z.optional(z.string()), added: z.number(), removed: z.number() }),
  ),
  approve: z.optional(OfferedAction),
  /** Why the page does not offer the approval of the pending rules, and what to do, as a sentence. */
  approvalNote: z.optional(z.string()),
  revoke: z.optional(OfferedAction),
  /** The command that prints the same. */
  command: z.string(),
});
export type ManagedPermissionsView = z.infer<typeof ManagedPermissionsView>;

/** Permissions of a ServiceAccount that the user provides. */
export const OwnPermissions = z.object({
  /** Rules that the ServiceAccount lacks according to the controller; absent if it reports none. */
  missing: z.optional(RuleList),
  /** How to grant the missing rules. */
  grant: z.optional(SuggestedStep),
  /** Why it is unknown whether rules are missing, as a sentence. */
  note: z.optional(z.string()),
});
export type OwnPermissions = z.infer<typeof OwnPermissions>;

/** The permissions of an extension. */
export const ExtensionPermissionsView = z.object({
  /** ServiceAccount as `namespace/name`. */
  account: z.optional(z.string()),
  managed: z.optional(ManagedPermissionsView),
  own: z.optional(OwnPermissions),
  /** Why neither is known. */
  note: z.optional(z.string()),
});
export type ExtensionPermissionsView = z.infer<typeof ExtensionPermissionsView>;

/** What a bundle needs that a ServiceAccount of the user installs. */
export const NeededPermissions = z.object({
  added: RuleList,
  removed: RuleList,
  /** What the bundle grants its own ServiceAccounts in addition to now, and no longer grants. */
  operatorAdded: RuleList,
  operatorRemoved: RuleList,
  /** All rules that the installed bundle, the new bundle and the upgrade need. */
  needed: RuleList,
  /** Why the installed bundle cannot be read: all rules then count as added. */
  unread: z.optional(z.string()),
  /** ServiceAccount, roles and bindings to apply; absent if they are larger than the console applies. */
  yaml: z.optional(z.string()),
  command: z.string(),
});
export type NeededPermissions = z.infer<typeof NeededPermissions>;

/** The permissions that a bundle needs, compared with those of the installed bundle. */
export const PermissionsComparison = z.object({
  installed: z.optional(z.string()),
  bundle: z.object({ name: z.string(), version: z.string(), catalog: z.string() }),
  managed: z.optional(PermissionsPreview),
  own: z.optional(NeededPermissions),
  /** Why there are neither, as a sentence. */
  note: z.optional(z.string()),
});
export type PermissionsComparison = z.infer<typeof PermissionsComparison>;
