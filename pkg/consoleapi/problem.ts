import * as z from "zod/mini";

/** A permission that the user of the console lacks. */
export const MissingPermission = z.object({
  verb: z.string(),
  group: z.string(),
  resource: z.string(),
  /** Such as `log` of Pods. */
  subresource: z.optional(z.string()),
  namespace: z.optional(z.string()),
  name: z.optional(z.string()),
});
export type MissingPermission = z.infer<typeof MissingPermission>;

/** Why a request failed. Every response with a status from 400 has this form. */
export const ConsoleProblem = z.object({
  /**
   * - `signedOut`: the session is missing or has expired.
   * - `forbidden`: the user lacks a permission.
   * - `notFound`: the object does not exist.
   * - `notInstalled`: the cluster does not serve the kind.
   * - `disconnected`: the API server does not respond.
   * - `invalid`: the request is invalid.
   * - `conflict`: the object or the plan changed after the page was loaded.
   * - `limited`: too many requests, or a result that is too large.
   * - `failed`: any other error.
   */
  kind: z.enum(["signedOut", "forbidden", "notFound", "notInstalled", "disconnected", "invalid", "conflict", "limited", "failed"]),
  message: z.string(),
  /** What the user can do. */
  next: z.optional(z.string()),
  missing: z.optional(MissingPermission),
});
export type ConsoleProblem = z.infer<typeof ConsoleProblem>;
