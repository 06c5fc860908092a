import type { FindingSubject } from "../../fbc/validate/finding.ts";
import { type Severity } from "../../fbc/validate/rules.ts";
import type { YamlPath } from "../../golang/yaml.ts";
import type { LintedCatalog } from "./lintedCatalog.ts";

/** An object that breaks a lint. */
export interface LintBreach {
  readonly subject: FindingSubject;
  /** Path inside the object, if known. */
  readonly path?: YamlPath;
  /** The mistake and, if known, how to correct it. One sentence without a full stop. */
  readonly message: string;
}

/** A lint for catalogs. */
export interface CatalogLintRule {
  /** Lints never report errors: catalogs that break them are valid. */
  readonly severity: Exclude<Severity, "error">;
  /** The requirement, as a sentence. */
  readonly rule: string;
  /** The component or guide that requires it. */
  readonly source: string;
  /** Returns all breaches, in the order of the catalog. */
  readonly find: (catalog: LintedCatalog) => readonly LintBreach[];
}

/** Lints by code. Codes are stable: scripts rely on them. */
export type LintTable = Readonly<Record<string, CatalogLintRule>>;

/** Defines a lint. A breach is most likely a mistake. */
export function defineWarningLint(rule: string, source: string, find: CatalogLintRule["find"]): CatalogLintRule {
  return { severity: "warning", rule, source, find };
}

/** Defines a lint. A breach may be intended. */
export function defineInfoLint(rule: string, source: string, find: CatalogLintRule["find"]): CatalogLintRule {
  return { severity: "info", rule, source, find };
}

/** Components and guides that require what the lints check. */
export const LintSource = {
  format: "file-based catalogs",
  updates: "OLM update paths",
  dependencies: "OLM dependency guide",
  resolver: "operator-controller",
  disconnected: "OLM guide for disconnected clusters",
} as const;

/** Optional checks of images in registries (--check-images). Codes are stable: scripts rely on them. */
export const IMAGE_CHECKS = {
  "image-missing": {
    severity: "error",
    rule: "The registries must contain all bundle images and related images.",
    source: "catalog CI",
  },
  "image-unchecked": { severity: "warning", rule: "The registries of all images should be reachable.", source: "catalog CI" },
} as const;
