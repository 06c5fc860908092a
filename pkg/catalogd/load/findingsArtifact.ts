import { ContentError, type ContentPlace, type PlacedMeta } from "../../fbc/types.ts";
import { CatalogCheck } from "../../fbc/validate/catalogCheck.ts";
import { compareFindings, type Finding, formatFinding, toPublishedFinding } from "../../fbc/validate/finding.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { truncate } from "../../text/truncate.ts";
import { type FindingsSummary, NO_FINDINGS } from "../store/content.ts";
import type { ArtifactMaker, EmitLine } from "./artifacts.ts";

/** Effect of validation errors: Warn reports them, Strict rejects the catalog. */
export const CATALOG_VALIDATIONS = ["Warn", "Strict"] as const;
/** Value of --catalog-validation. */
export type CatalogValidation = (typeof CATALOG_VALIDATIONS)[number];

const MAX_LINES = 1_000;
const FIRST = 10;
/** Maximum number of errors in the message that rejects a catalog. */
const FIRST_REFUSED = 3;
const MAX_FIRST_LENGTH = 512;

/**
 * Checks a catalog while it is read. Stores the findings as an artifact of the content, at most
 * 1,000 lines, errors first.
 */
export class FindingsArtifact implements ArtifactMaker {
  readonly #validation: CatalogValidation;
  readonly #check: CatalogCheck;
  #summary: FindingsSummary = NO_FINDINGS;

  constructor(validation: CatalogValidation) {
    this.#validation = validation;
    this.#check = new CatalogCheck({ objects: validation === "Strict" ? "parsed" : "outline" });
  }

  /** Valid after `end`. */
  get summary(): FindingsSummary {
    return this.#summary;
  }

  /** @throws ContentError for an invalid object that makes serving the catalog impossible. */
  add(meta: PlacedMeta): void {
    this.#check.add(meta);
    const { refusal } = this.#check;
    if (refusal) throw new ContentError(refusal.place, formatFinding({ ...refusal, place: { file: "" } }));
  }

  /** Records an empty document. */
  addEmpty(place: ContentPlace): void {
    this.#check.addEmpty(place);
  }

  /** @throws Error if there are errors and validation is Strict. */
  end(emit: EmitLine): void {
    const { errors, warnings, findings } = this.#check.end();
    const sorted = findings.sort(compareFindings).slice(0, MAX_LINES);
    this.#summary = { errors, warnings, first: sorted.slice(0, FIRST).map(line) };
    if (this.#validation === "Strict" && errors > 0) throw new Error(refusalText(errors, this.#summary.first));
    for (const finding of sorted) emit({ ...getKey(finding), value: toPublishedFinding(finding) });
  }
}

function getKey({ schema, package: packageName, name }: Finding): { schema: string; package: string; name: string } {
  return { schema, package: packageName, name };
}

function line(finding: Finding): string {
  return truncate(`${finding.severity}: ${formatFinding(finding)}`.replace(/\s*\n\s*/g, " "), MAX_FIRST_LENGTH);
}

function refusalText(errors: number, first: readonly string[]): string {
  const list = formatList(first, { max: Math.min(FIRST_REFUSED, errors), separator: "; ", total: errors });
  return `${formatCount(errors, "error")} in the catalog, but --catalog-validation=Strict allows none: ${list}`;
}
