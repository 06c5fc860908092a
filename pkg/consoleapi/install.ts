import * as z from "zod/mini";
import { RuleList } from "./rules.ts";

/** Maximum size of a configuration in YAML, in characters. */
export const CONFIG_MAX = 128 * 1024;

/** What the user entered in the form of an installation. */
export const InstallForm = z.object({
  catalog: z.optional(z.string().check(z.maxLength(253))),
  /** Version range; empty for any version. */
  range: z.optional(z.string().check(z.maxLength(64))),
  channel: z.optional(z.string().check(z.maxLength(253))),
  /** Name of the ClusterExtension; by default, that of the package. */
  name: z.optional(z.string().check(z.maxLength(253))),
  /** By default, the namespace that the bundle suggests. */
  namespace: z.optional(z.string().check(z.maxLength(63))),
  approval: z.optional(z.enum(["Automatic", "Manual"])),
  /** The value of `spec.config.inline`: from the fields of the form, or as YAML. */
  config: z.optional(
    z.union([z.object({ value: z.record(z.string(), z.unknown()) }), z.object({ yaml: z.string().check(z.maxLength(CONFIG_MAX)) })]),
  ),
  /** The bundle whose schema the page has, so that the response omits the schema. */
  knownBundle: z.optional(z.string().check(z.maxLength(512))),
});
export type InstallForm = z.infer<typeof InstallForm>;

/** Whose permissions an OLM installs bundles with. */
const PermissionSource = z.enum(["managed", "account", "controller"]);
export type PermissionSource = z.infer<typeof PermissionSource>;

/** What an installation would apply. Computing it writes nothing. */
export const InstallDraft = z.object({
  /**
   * Whose permissions the bundle is installed with. `managed`: permission-manager grants them. `account`: those of a ServiceAccount in the manifest.
   * `controller`: those of the controller, which ignores ServiceAccounts.
   */
  permissionSource: PermissionSource,
  /** Whether the OLM of the cluster can configure bundles. */
  isConfigurable: z.boolean(),
  /** The bundle that is installed. */
  bundle: z.optional(z.object({ name: z.string(), version: z.string(), catalog: z.string() })),
  /** Why this bundle is selected, or why none is. */
  explanation: z.string(),
  /** The namespace of the installation; absent if it is unknown. */
  namespace: z.optional(z.string()),
  /** The objects to apply. */
  yaml: z.string(),
  /** Whether the manifest is complete and can be applied. */
  isComplete: z.boolean(),
  /** The command that does the same. */
  command: z.string(),
  config: z.object({
    /** Undefined if the YAML cannot be parsed. */
    value: z.optional(z.record(z.string(), z.unknown())),
    yaml: z.string(),
    /** Errors that the controller would report. The path is empty if an error concerns the whole configuration. */
    errors: z.array(z.object({ path: z.string(), message: z.string() })),
  }),
  /** JSON Schema of the configuration; absent if the page has it, or no bundle is selected. */
  schema: z.optional(z.record(z.string(), z.unknown())),
  /** Permissions to grant: to install the bundle, and those that the bundle grants to its own ServiceAccounts. */
  permissions: z.optional(z.object({ account: z.string(), needed: RuleList, given: RuleList })),
  /** Remarks, one sentence each. */
  warnings: z.array(z.string()),
});
export type InstallDraft = z.infer<typeof InstallDraft>;
