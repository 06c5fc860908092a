import * as z from "zod/mini";
import { MissingPermission } from "./problem.ts";

const name = z.string().check(z.minLength(1), z.maxLength(253));

/** A change that a page asks for. The server turns it into requests to the API server. */
export const ActionRequest = z.discriminatedUnion("action", [
  z.object({ action: z.literal("approvePlan"), extension: name, digest: z.string() }),
  z.object({ action: z.literal("rollBack"), extension: name, revision: z.number() }),
  z.object({ action: z.literal("removePin"), extension: name }),
  z.object({ action: z.literal("approvePermissions"), extension: name, digest: z.string() }),
  z.object({ action: z.literal("revokePermissions"), extension: name }),
  z.object({ action: z.literal("suspend"), extension: name }),
  z.object({ action: z.literal("resume"), extension: name }),
  /** Requests a reconcile now, for example to correct drift or to retry. */
  z.object({ action: z.literal("reconcile"), extension: name }),
  /** Changes what the extension may be upgraded to. An absent member stays; an empty list or text removes the restriction. */
  z.object({
    action: z.literal("changeSource"),
    extension: name,
    channels: z.optional(z.array(z.string())),
    version: z.optional(z.string()),
  }),
  z.object({ action: z.literal("setDriftPolicy"), extension: name, policy: z.enum(["Correct", "Report", "Ignore"]) }),
  z.object({ action: z.literal("uninstall"), extension: name, crdPolicy: z.optional(z.string()) }),
  /** Creates or applies objects, such as a new ClusterExtension with its ServiceAccount, or roles. @see ../console/actions */
  z.object({ action: z.literal("apply"), yaml: z.string().check(z.maxLength(512 * 1024)) }),
]);
export type ActionRequest = z.infer<typeof ActionRequest>;

/** One request to the API server, exactly as the console sends it. */
export const PreparedRequest = z.object({
  method: z.string(),
  path: z.string(),
  contentType: z.optional(z.string()),
  /** JSON, as sent. */
  body: z.optional(z.string()),
  /** What the request does, such as `patch ClusterExtension argocd`. */
  description: z.string(),
  /** Result of the dry run: `ok`, or why the API server would reject the request. Absent if it cannot be tried. */
  dryRun: z.optional(z.object({ isOk: z.boolean(), message: z.string(), warnings: z.array(z.string()) })),
});
export type PreparedRequest = z.infer<typeof PreparedRequest>;

/** A change that waits for the user's confirmation. */
export const PreparedAction = z.object({
  /** Identifies the change; valid once, for some minutes. */
  id: z.string(),
  /** The question, such as `Approve the plan of argocd?`. */
  title: z.string(),
  /** What happens then; plain sentences. */
  effects: z.array(z.string()),
  /** The command that does the same; absent if there is none. */
  command: z.optional(z.string()),
  requests: z.array(PreparedRequest),
  /** Text that the user must type, because data is lost. */
  confirmation: z.optional(z.string()),
  /** A permission that the user lacks; the change cannot be made. */
  missing: z.optional(MissingPermission),
  /** Why the change cannot be made, such as the read-only mode. */
  rejected: z.optional(z.string()),
});
export type PreparedAction = z.infer<typeof PreparedAction>;

/** The body of POST /api/actions/run. */
export const RunAction = z.object({
  id: z.string(),
  /** Chosen by the page; a repeated request with the same key returns the result of the first. */
  idempotencyKey: z.string().check(z.minLength(8), z.maxLength(100)),
  confirmation: z.optional(z.string()),
});

/** The results of the requests of a change, in order. Requests after a failure are not sent. */
export const ActionResult = z.object({
  isOk: z.boolean(),
  results: z.array(z.object({ description: z.string(), isOk: z.boolean(), message: z.string() })),
});
export type ActionResult = z.infer<typeof ActionResult>;
