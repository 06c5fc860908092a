import type { LintTable } from "./lintRule.ts";
import { DEPENDENCY_LINTS } from "./rules/dependencies.ts";
import { GRAPH_LINTS } from "./rules/graph.ts";
import { DEFAULT_CHANNEL_LINTS, IMAGE_LINTS, OBJECT_LINTS } from "./rules/objects.ts";

/** The lints by what they are about, in the order of the reference. */
export const LINT_TOPICS: Readonly<Record<string, LintTable>> = {
  "Update graph": GRAPH_LINTS,
  "Default channel": DEFAULT_CHANNEL_LINTS,
  Dependencies: DEPENDENCY_LINTS,
  Objects: OBJECT_LINTS,
  Images: IMAGE_LINTS,
};

/** Every lint by its code. */
export const CATALOG_LINTS: LintTable = Object.assign({}, ...Object.values(LINT_TOPICS));
