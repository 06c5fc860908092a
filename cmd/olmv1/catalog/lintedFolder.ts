import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CheckedCatalog, checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import type { ContentPlace } from "../../../pkg/fbc/types.ts";
import { DocumentLines } from "../../../pkg/authoring/lint/documentLines.ts";
import { CatalogLint } from "../../../pkg/authoring/lint/catalogLint.ts";
import type { Breach } from "../../../pkg/authoring/lint/lintRule.ts";
import { type CatalogFinding, compareCatalogFindings, findingOf, unreadable } from "./catalogFinding.ts";

/** A catalog that was checked, with all that was found. */
export interface LintedFolder {
  readonly checked: CheckedCatalog;
  /** In the order of `compareCatalogFindings`. */
  readonly findings: readonly CatalogFinding[];
}

/** Findings about a catalog that do not come from its files alone. */
export type MoreFindings = (lint: CatalogLint) => Promise<readonly (Breach & Pick<CatalogFinding, "rule" | "severity">)[]>;

/**
 * Checks the catalog in a folder as opm and catalogd do, and holds it against the lints where all of it can be read.
 * @param ignored rules that are not looked at.
 * @throws Error when the folder cannot be read, or holds more than catalogd takes.
 */
export async function lintedFolder(
  root: string,
  ignored: readonly string[],
  more: MoreFindings = () => Promise.resolve([]),
): Promise<LintedFolder> {
  const lint = new CatalogLint();
  const checked = await checkCatalogFolder(root, (meta) => lint.add(meta));
  const lines = new FileLines(root);
  const breaches = checked.faults.length > 0 ? [] : [...lint.findings(new Set(ignored)), ...(await more(lint))];
  const findings = [
    ...checked.faults.map(unreadable),
    ...checked.findings.map(findingOf),
    ...breaches.map(({ rule, severity, message, subject, path }): CatalogFinding => {
      const { schema, package: packageName, name, place } = subject;
      return { rule, severity, message, place: path ? lines.placeOf(place, path) : place, subject: { schema, package: packageName, name } };
    }),
  ];
  return { checked, findings: findings.filter(({ rule }) => !ignored.includes(rule)).sort(compareCatalogFindings) };
}

/** Reads each file again that something is told of, once. */
class FileLines {
  readonly #root: string;
  readonly #files = new Map<string, DocumentLines>();

  constructor(root: string) {
    this.#root = root;
  }

  placeOf(place: ContentPlace, path: NonNullable<Breach["path"]>): ContentPlace {
    const { file, line } = place;
    if (line === undefined) return place;
    const lines = this.#files.get(file) ?? new DocumentLines(readFileSync(join(this.#root, file), "utf8"));
    this.#files.set(file, lines);
    return { ...place, line: lines.lineOf(line, path) };
  }
}
