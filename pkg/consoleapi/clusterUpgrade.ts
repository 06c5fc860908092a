import * as z from "zod/mini";
import { MoodText } from "./live.ts";

/** What one release of an extension means for the upgrade of the cluster. */
export const UpgradeRow = z.object({
  extension: z.string(),
  /** Empty if it is not installed or unknown. */
  bundle: z.string(),
  version: z.string(),
  /** The newest minor version of OpenShift that the bundle supports; absent if it has no valid maximum. */
  maximum: z.optional(z.string()),
  state: MoodText,
  blocks: z.boolean(),
  /** Why the maximum is unknown; empty if it is known. */
  message: z.string(),
});
export type UpgradeRow = z.infer<typeof UpgradeRow>;

/** What blocks the upgrade of the cluster. */
export const ClusterUpgrade = z.object({
  cluster: z.object({
    /** `none`: the cluster is not an OpenShift cluster. `unknown`: its version cannot be read. */
    kind: z.enum(["known", "none", "unknown"]),
    version: z.optional(z.string()),
    /** What the kind means, one sentence. */
    sentence: z.string(),
  }),
  /** Absent if the target version is unknown. */
  check: z.optional(
    z.object({
      target: z.string(),
      upgradeable: z.boolean(),
      state: MoodText,
      sentence: z.string(),
      /** Those that block the upgrade first; at most 2000. */
      rows: z.array(UpgradeRow),
      /** What lifts the block of each extension. */
      remedies: z.array(z.object({ extension: z.string(), text: z.string() })),
      /** The command that prints the same. */
      command: z.string(),
    }),
  ),
});
export type ClusterUpgrade = z.infer<typeof ClusterUpgrade>;
