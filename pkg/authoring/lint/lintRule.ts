import type { FindingSubject } from "../../fbc/validate/finding.ts";
import { type Severity } from "../../fbc/validate/rules.ts";
import type { YamlPath } from "../../golang/yaml.ts";
import type { LintedCatalog } from "./lintedCatalog.ts";

/** One way in which a catalog breaks a lint. */
export interface LintBreach {
  /** The object that it is about. */
  readonly subject: FindingSubject;
  /** Within the object; where that is known. */
  readonly path?: YamlPath;
  /** What is wrong and what would be right. One sentence without a full stop. */
  readonly message: string;
}

/** One lint for catalogs. */
export interface CatalogLintRule {
  /** What keeps a catalog from being valid is not a lint. */
  readonly severity: Exclude<Severity, "error">;
  /** What must hold; a sentence. */
  readonly rule: string;
  /** Who asks for it. */
  readonly source: string;
  /** Everything that breaks it, in the order of the catalog. */
  readonly find: (catalog: LintedCatalog) => readonly LintBreach[];
}

/** Lints by code. Codes are stable: scripts rely on them. */
export type LintTable = Readonly<Record<string, CatalogLintRule>>;

/** What is most likely a mistake. */
export function defineWarningLint(rule: string, source: string, find: CatalogLintRule["find"]): CatalogLintRule {
  return { severity: "warning", rule, source, find };
}

/** What may be meant so. */
export function defineInfoLint(rule: string, source: string, find: CatalogLintRule["find"]): CatalogLintRule {
  return { severity: "info", rule, source, find };
}

/** Who asks for what the lints ask for. */
export const LintSource = {
  format: "file-based catalogs",
  updates: "OLM update paths",
  dependencies: "OLM dependency guide",
  resolver: "operator-controller",
  disconnected: "OLM guide to disconnected clusters",
} as const;

/** What is looked at in registries, and only where that is asked for. Codes are stable: scripts rely on them. */
export const IMAGE_CHECKS = {
  "image-missing": {
    severity: "error",
    rule: "The images of bundles, and related ones, are in their registries.",
    source: "CI of catalogs",
  },
  "image-unchecked": { severity: "warning", rule: "Registries can be asked for the images.", source: "CI of catalogs" },
} as const;
