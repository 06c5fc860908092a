import * as z from "zod/mini";
import { CatalogRow } from "./live.ts";
import { EventRows } from "./objects.ts";
import { ConditionRow } from "./overview.ts";
import { SuggestedStep } from "./suggestedStep.ts";

/** Maximum number of findings and differences in a response. */
export const MAX_ENTRIES = 1_000;

/** Everything about one catalog, except its findings and differences. */
export const CatalogView = z.object({
  row: CatalogRow,
  isAvailable: z.boolean(),
  /** Number of packages; absent if unknown. */
  packages: z.optional(z.number()),
  /** Image reference with digest of the served content. */
  served: z.optional(z.string()),
  /** Address of the content in the cluster. */
  address: z.optional(z.string()),
  problems: z.array(
    z.object({ severity: z.enum(["error", "warning", "info"]), type: z.string(), message: z.string(), next: z.optional(SuggestedStep) }),
  ),
  conditions: z.array(ConditionRow),
  /** Extensions that installed a bundle of the catalog, at most 500; absent if they cannot be listed. */
  extensions: z.optional(z.array(z.object({ name: z.string(), package: z.string(), version: z.string() }))),
  /** Number of installed bundles whose catalog the OLM of the cluster does not report. */
  unreportedExtensions: z.number(),
  events: EventRows,
  /** Manifest that switches the catalog off or on. */
  toggle: z.string(),
});
export type CatalogView = z.infer<typeof CatalogView>;

/** From where the console reads the content of a catalog. */
export const CatalogContentOrigin = z.object({
  from: z.enum(["catalogd", "registry", "nowhere"]),
  /** Why it was not read from catalogd, or why it cannot be read at all. */
  because: z.optional(z.string()),
});
export type CatalogContentOrigin = z.infer<typeof CatalogContentOrigin>;

/** A finding in the content of a catalog. */
export const CatalogFindingRow = z.object({
  severity: z.enum(["error", "warning"]),
  rule: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.optional(z.number()),
  schema: z.string(),
  package: z.string(),
  name: z.string(),
});
export type CatalogFindingRow = z.infer<typeof CatalogFindingRow>;

/** The findings in the content of a catalog, errors first, as catalogd reports them. */
export const CatalogFindings = z.object({
  findings: z.array(CatalogFindingRow),
  /** Why the console cannot read the findings. */
  unavailable: z.optional(z.string()),
  /** In that case, the first findings, from the status. */
  first: z.array(z.string()),
  /** Command that finds the same. */
  command: z.string(),
});
export type CatalogFindings = z.infer<typeof CatalogFindings>;

/** The difference between the served content and the content before. */
export const EditionDifference = z.object({
  /** Image reference with digest of the edition before; absent if the console has not seen one since it started. */
  before: z.optional(z.string()),
  differences: z.array(
    z.object({
      change: z.enum(["added", "removed", "changed"]),
      package: z.string(),
      message: z.string(),
      /** Whether it breaks clusters that use the edition before. */
      isBreaking: z.boolean(),
    }),
  ),
  /** Number of differences that are left out. */
  omitted: z.number(),
});
export type EditionDifference = z.infer<typeof EditionDifference>;
