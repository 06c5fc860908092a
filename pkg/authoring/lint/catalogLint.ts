import type { PlacedMeta } from "../../fbc/types.ts";
import { excerpt } from "../../text/truncate.ts";
import { DEPENDENCY_LINTS } from "./dependencyLints.ts";
import { GRAPH_LINTS } from "./graphLints.ts";
import { LintedCatalog, type NamedImage } from "./lintedCatalog.ts";
import { type CatalogLintRule, type LintBreach, type LintTable } from "./lintRule.ts";
import { DEFAULT_CHANNEL_LINTS, IMAGE_LINTS, OBJECT_LINTS } from "./objectLints.ts";

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

/** Something that breaks a lint. */
export interface LintFinding extends LintBreach {
  readonly rule: string;
  readonly severity: CatalogLintRule["severity"];
}

const MAX_MESSAGE = 2_048;

/** Holds a catalog against every lint, after all of its objects were given. They say nothing about whether it can be served. */
export class CatalogLint {
  readonly #catalog = new LintedCatalog();

  /** Takes the next object; its manifests are not kept. */
  add(meta: PlacedMeta): void {
    this.#catalog.add(meta);
  }

  /** The images that bundles name, each once. */
  images(): NamedImage[] {
    return this.#catalog.images();
  }

  /** In the order of the lints, those of one in the order of the catalog. @param ignored codes of lints that are not looked at. */
  findings(ignored: ReadonlySet<string> = new Set()): LintFinding[] {
    return Object.entries(CATALOG_LINTS).flatMap(([rule, { severity, find }]) => {
      if (ignored.has(rule)) return [];
      return find(this.#catalog).map((breach) => ({
        ...breach,
        message: excerpt(breach.message, { length: MAX_MESSAGE }),
        rule,
        severity,
      }));
    });
  }
}
