import * as z from "zod/mini";
import { SuggestedStep } from "./suggestedStep.ts";

/** One check of the installation, as `olmv1 doctor` prints it. */
export const InstallationFinding = z.object({
  check: z.string(),
  /** `unknown`: the user may not read what the check needs. */
  status: z.enum(["ok", "warning", "problem", "unknown"]),
  message: z.string(),
  /** The suggested fix. */
  next: z.optional(SuggestedStep),
  /** When the checked certificate expires, in RFC 3339. */
  expires: z.optional(z.string()),
});
export type InstallationFinding = z.infer<typeof InstallationFinding>;

/** The response of GET /api/installation. */
export const InstallationReport = z.object({
  /** When the checks ran, in RFC 3339. */
  checked: z.string(),
  /** Problems first. */
  findings: z.array(InstallationFinding),
});
export type InstallationReport = z.infer<typeof InstallationReport>;
