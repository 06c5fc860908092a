import * as z from "zod/mini";

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
  /** The error, if the message only describes it. */
  detail: z.optional(z.string()),
  /** What the user can do. */
  next: z.optional(z.string()),
  /** The permission that the user lacks, such as `patch clusterextensions.olm.operatorframework.io argocd`. */
  missing: z.optional(z.string()),
  /** Name of the extension that the problem is about. */
  extension: z.optional(z.string()),
});
export type ConsoleProblem = z.infer<typeof ConsoleProblem>;
