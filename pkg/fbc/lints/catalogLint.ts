import type { PlacedMeta } from "../types.ts";
import { LintedCatalog, type NamedImage } from "./lintedCatalog.ts";
import type { Breach, LintSeverity } from "./lintRule.ts";
import { CATALOG_LINTS } from "./lintRules.ts";

/** Something that breaks a lint. */
export interface LintFinding extends Breach {
  readonly rule: string;
  readonly severity: LintSeverity;
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
      return find(this.#catalog).map((breach) => ({ ...breach, message: bounded(breach.message), rule, severity }));
    });
  }
}

function bounded(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}… (${text.length} characters)`;
}
