import type { PlacedMeta } from "../../fbc/types.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { DEPENDENCY_LINTS } from "./dependencyLints.ts";
import { GRAPH_LINTS } from "./graphLints.ts";
import { LintedCatalog, type NamedImage } from "./lintedCatalog.ts";
import { type CatalogLintRule, type LintBreach, type LintTable } from "./lintRule.ts";
import { DEFAULT_CHANNEL_LINTS, IMAGE_LINTS, OBJECT_LINTS } from "./objectLints.ts";

/** The lints by topic, in the order of the reference. */
export const LINT_TOPICS: Readonly<Record<string, LintTable>> = {
  "Upgrade graph": GRAPH_LINTS,
  "Default channel": DEFAULT_CHANNEL_LINTS,
  Dependencies: DEPENDENCY_LINTS,
  Objects: OBJECT_LINTS,
  Images: IMAGE_LINTS,
};

/** All lints by code. */
export const CATALOG_LINTS: LintTable = Object.assign({}, ...Object.values(LINT_TOPICS));

/** A finding of a lint. */
export interface LintFinding extends LintBreach {
  readonly rule: string;
  readonly severity: CatalogLintRule["severity"];
}

const MAX_MESSAGE = 2_048;

/** Checks a catalog against all lints. Add all objects before you read the findings. Lints never prevent serving a catalog. */
export class CatalogLint {
  readonly #catalog = new LintedCatalog();

  /** Adds an object. Does not keep its manifests. */
  add(meta: PlacedMeta): void {
    this.#catalog.add(meta);
  }

  /** Returns the distinct images of bundles and their related images. */
  images(): NamedImage[] {
    return this.#catalog.images();
  }

  /** Returns the findings by lint, and inside a lint in the order of the catalog. @param ignored codes of lints to skip. */
  findings(ignored: ReadonlySet<string> = new Set()): LintFinding[] {
    return Object.entries(CATALOG_LINTS).flatMap(([rule, { severity, find }]) => {
      if (ignored.has(rule)) return [];
      return find(this.#catalog).map((breach) => ({
        ...breach,
        message: truncateExcerpt(breach.message, { length: MAX_MESSAGE }),
        rule,
        severity,
      }));
    });
  }
}
