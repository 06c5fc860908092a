import * as z from "zod/mini";

const name = z.string().check(z.minLength(1), z.maxLength(253), z.regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/));
const digest = z.string().check(z.minLength(1), z.maxLength(100));
/** What happens to CustomResourceDefinitions at an uninstall. */
export const UninstallPolicy = z.enum(["DeleteIfUnused", "Delete", "Retain"]);
export type UninstallPolicy = z.infer<typeof UninstallPolicy>;

/** Maximum size of the YAML that `apply` accepts, in characters. */
export const YAML_MAX = 512 * 1024;

/** A change that a page asks for. The server turns it into requests to the API server. */
export const ActionRequest = z.discriminatedUnion("action", [
  z.object({ action: z.literal("approvePlan"), extension: name, digest }),
  z.object({ action: z.literal("rollBack"), extension: name, revision: z.number().check(z.int(), z.positive()) }),
  z.object({ action: z.literal("removePin"), extension: name }),
  z.object({
    action: z.literal("approvePermissions"),
    extension: name,
    digest,
    /** Other extensions of its dependency plan whose rules the user approves too, as seen. */
    dependencies: z.optional(z.array(z.object({ extension: name, digest })).check(z.maxLength(200))),
  }),
  z.object({ action: z.literal("revokePermissions"), extension: name }),
  z.object({ action: z.literal("suspend"), extension: name }),
  z.object({ action: z.literal("resume"), extension: name }),
  /** Requests a reconcile now, for example to retry. */
  z.object({ action: z.literal("reconcile"), extension: name }),
  /** Changes what the extension may be upgraded to. An absent member stays; an empty list or text removes the restriction. */
  z.object({
    action: z.literal("changeSource"),
    extension: name,
    channels: z.optional(z.array(z.string().check(z.minLength(1), z.maxLength(253))).check(z.maxLength(256))),
    version: z.optional(z.string().check(z.maxLength(64))),
    upgradeConstraintPolicy: z.optional(z.enum(["CatalogProvided", "SelfCertified"])),
    /** Digest of the plan of the new version that the user saw: it is approved with the change if the extension requires approval. */
    digest: z.optional(digest),
  }),
  z.object({ action: z.literal("setDriftPolicy"), extension: name, policy: z.enum(["Correct", "Warn", "Ignore"]) }),
  z.object({ action: z.literal("uninstall"), extension: name, crdPolicy: z.optional(UninstallPolicy) }),
  /** Deletes the ServiceAccount and roles that `olmv1 install` created for an extension that is gone. */
  z.object({ action: z.literal("removeCreated"), extension: name }),
  /**
   * Applies objects server-side, such as a new ClusterExtension with its ServiceAccount, or roles. Accepts only kinds that pages of the console create;
   * at most 100 objects.
   */
  z.object({
    action: z.literal("apply"),
    yaml: z.string().check(z.minLength(1), z.maxLength(YAML_MAX)),
    /** Whether to take over fields of other field managers. */
    force: z.optional(z.boolean()),
  }),
]);
export type ActionRequest = z.infer<typeof ActionRequest>;

/** The query of GET /api/actions/access: an action without its details. */
export const ActionAccessQuery = z.object({ action: z.string().check(z.maxLength(40)), extension: z.optional(name) });

/** Whether the user may ask for an action, according to the checks that need no details of it. */
export const ActionAccess = z.object({ missing: z.optional(z.string()) });
export type ActionAccess = z.infer<typeof ActionAccess>;

/** One request to the API server, exactly as the console sends it. */
export const PreparedRequest = z.object({
  method: z.string(),
  /** With the query. */
  path: z.string(),
  contentType: z.optional(z.string()),
  /** JSON, as sent. */
  body: z.optional(z.string()),
  /** What the request does, such as `patch ClusterExtension argocd`. */
  description: z.string(),
  /** Result of the dry run: `ok`, or why the API server would reject the request. Absent if it cannot be tried. */
  dryRun: z.optional(
    z.object({
      isOk: z.boolean(),
      message: z.string(),
      warnings: z.array(z.string()),
      /** Whether the API server rejects the request because other field managers own its fields. */
      hasFieldConflict: z.optional(z.boolean()),
    }),
  ),
});
export type PreparedRequest = z.infer<typeof PreparedRequest>;

/** A wider change, such as an approval that covers dependencies. */
export const ActionChoice = z.object({
  label: z.string(),
  /** Whether the prepared change is the wider one. */
  isChosen: z.boolean(),
  /** What the wider change adds, by extension; each line of text is a rule. */
  items: z.array(z.object({ extension: z.string(), texts: z.array(z.string()) })),
  /** The other change: the wider one unless it is chosen. */
  request: ActionRequest,
});
export type ActionChoice = z.infer<typeof ActionChoice>;

/** A change that waits for the user's confirmation. */
export const PreparedAction = z.object({
  /** Identifies the change; valid once, for 10 minutes. Empty if the change cannot be made, or if a dry run failed. */
  id: z.string(),
  /** The question, such as `Approve the plan of argocd?`. */
  title: z.string(),
  /** What happens then; plain sentences, most important first. */
  effects: z.array(z.string()),
  /** Whether data is lost, or the change removes something. */
  isDanger: z.boolean(),
  /** The command that does the same; absent if no command does. */
  command: z.optional(z.string()),
  requests: z.array(PreparedRequest),
  /** Text that the user must type, because data is lost. */
  confirmation: z.optional(z.string()),
  /** A permission that the user lacks; the change cannot be made. */
  missing: z.optional(z.string()),
  /** Why the change cannot be made, such as the read-only mode. */
  rejected: z.optional(z.string()),
  /** A wider change that the user may choose in the dialog. */
  choice: z.optional(ActionChoice),
  /** Another change that the API server may accept in place of this one. */
  alternative: z.optional(z.object({ label: z.string(), meaning: z.string(), request: ActionRequest })),
});
export type PreparedAction = z.infer<typeof PreparedAction>;

/** The body of POST /api/actions/run. */
export const RunAction = z.object({
  id: z.string().check(z.maxLength(100)),
  /** Chosen by the page; a repeated request with the same key returns the result of the first. */
  idempotencyKey: z.string().check(z.minLength(8), z.maxLength(100)),
  confirmation: z.optional(z.string().check(z.maxLength(300))),
});
export type RunAction = z.infer<typeof RunAction>;

/**
 * The results of the requests of a change, in order. Requests after a failure are not sent. If the first request fails, nothing has changed, and the
 * response is a ConsoleProblem instead.
 */
export const ActionResult = z.object({
  isOk: z.boolean(),
  results: z.array(z.object({ description: z.string(), isOk: z.boolean(), message: z.string() })),
});
export type ActionResult = z.infer<typeof ActionResult>;
