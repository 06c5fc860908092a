import * as z from "zod";
import { AVAILABLE_UPDATES_MAX } from "./constants.ts";

const NAME_MAX = 256;
const MESSAGE_MAX = 1_024;

const target = {
  version: z.string().max(NAME_MAX).describe("version is its version, with its release where it has one."),
  bundle: z.string().max(NAME_MAX).describe("bundle is its name in the catalog."),
  catalog: z.string().max(NAME_MAX).describe("catalog is the name of the ClusterCatalog that has it."),
};

/** The versions that may follow the installed one. */
export const AvailableUpdates = z
  .array(
    z
      .object({
        ...target,
        edge: z
          .enum(["replaces", "skips", "skipRange"])
          .optional()
          .describe(
            "edge is what makes it a successor of the installed bundle. Absent where upgradeConstraintPolicy SelfCertified does without.",
          ),
        channel: z.string().max(NAME_MAX).optional().describe("channel is the channel of that edge."),
        deprecated: z.boolean().describe("deprecated is whether the catalog advises against it."),
      })
      .describe("One version."),
  )
  .max(AVAILABLE_UPDATES_MAX)
  .describe(
    `availableUpdates are the newer versions that the extension may be upgraded to next, as spec and the catalogs are, highest first; the first ${AVAILABLE_UPDATES_MAX} of them. Empty when there are none. Absent when nothing is installed, or a catalog that matters cannot be asked.`,
  );
export type AvailableUpdates = z.input<typeof AvailableUpdates>;

/** The newest version that may not follow. */
export const BlockedUpdate = z
  .object({
    ...target,
    reason: z
      .string()
      .max(NAME_MAX)
      .describe(
        "reason is the first rule against it: Channels, VersionRange, UpgradeEdges, ClusterVersion, Dependencies, Deprecation or CatalogPriority.",
      ),
    message: z.string().max(MESSAGE_MAX).describe("message is every rule against it, each with what would let it through."),
  })
  .describe(
    "blockedUpdate is the newest version of the package that the extension may not be upgraded to next, where it is newer than all availableUpdates, and why.",
  );
export type BlockedUpdate = z.input<typeof BlockedUpdate>;
