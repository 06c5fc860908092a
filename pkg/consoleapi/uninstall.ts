import * as z from "zod/mini";
import { UninstallPolicy } from "./actions.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** Maximum number of names in a list. */
export const UNINSTALL_NAMES_MAX = 100;
/** Maximum number of objects in a list. */
export const UNINSTALL_OBJECTS_MAX = 500;

const ObjectName = z.object({ kind: z.string(), namespace: z.optional(z.string()), name: z.string() });

/** A CustomResourceDefinition, and what an uninstall does with it and its custom resources. */
export const AffectedDefinition = z.object({
  name: z.string(),
  kind: z.string(),
  /** `lost`: deleted with custom resources, or with an unknown number of them. `unused`: deleted without custom resources. */
  outcome: z.enum(["lost", "unused", "kept"]),
  /** Such as `2 custom resources`. */
  count: z.string(),
  /** Why the number is unknown. */
  unknown: z.optional(z.string()),
  /** Names of custom resources, at most 100. */
  names: z.array(z.string()),
});
export type AffectedDefinition = z.infer<typeof AffectedDefinition>;

/** What an uninstall of an extension would do. */
export const UninstallView = z.object({
  /** The policy of the preview: the chosen one, else that of the extension. */
  crdPolicy: UninstallPolicy,
  /** The policy in the spec of the extension. */
  currentPolicy: UninstallPolicy,
  /** What each policy means; empty if the OLM of the cluster has none. */
  policies: z.array(z.object({ policy: UninstallPolicy, meaning: z.string() })),
  /** What happens to CustomResourceDefinitions without a policy. */
  policyNote: z.optional(z.string()),
  isDeleting: z.boolean(),
  /** Sentences, most important first. */
  effects: z.array(z.string()),
  bundle: z.optional(z.string()),
  definitions: z.array(AffectedDefinition),
  /** Number of all installed objects. */
  objectCount: z.number(),
  /** Installed objects, at most 500. */
  objects: z.array(ObjectName),
  /** The extensions that depend on this one, at most 100; a text if they are unknown. */
  dependents: z.union([z.array(z.object({ extension: z.string(), bundle: z.string(), needs: z.array(z.string()) })), z.string()]),
  /** Why the uninstall would stop before it deletes any object. */
  blocked: z.array(z.string()),
  /** What lifts the block. */
  unblock: z.array(SuggestedStep),
  /** Objects that `olmv1 install` created; they stay after the uninstall of the extension. */
  created: z.array(ObjectName),
  /** Sentences about parts that the user may not read. */
  unread: z.array(z.string()),
  command: z.string(),
});
export type UninstallView = z.infer<typeof UninstallView>;

/** The objects that `olmv1 install` created for an extension that is gone, at most 500. Namespaces are kept. */
export const Leftovers = z.object({ objects: z.array(ObjectName) });
export type Leftovers = z.infer<typeof Leftovers>;
