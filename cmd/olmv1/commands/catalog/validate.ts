import {
  CATALOG_RULES,
  type CatalogFinding,
  compareCatalogFindings,
  convertFinding,
  countSeverity,
  formatFindingLine,
  reachesSeverity,
  reportUnreadableFile,
  requireIgnorable,
  selectFindings,
} from "../../../../pkg/authoring/validate/catalogFinding.ts";
import { checkImages, lintFolder, type MoreFindings } from "../../../../pkg/authoring/validate/lintCatalog.ts";
import { findCatalogFiles } from "../../../../pkg/catalogd/load/catalogFiles.ts";
import type { CheckedCatalog } from "../../../../pkg/catalogd/load/checkCatalog.ts";
import { CONTENT_LIMITS } from "../../../../pkg/catalogd/load/loader.ts";
import { formatSubject } from "../../../../pkg/fbc/validate/finding.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { findCatalogFolder, type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { EXIT } from "../../cli/errors.ts";
import type { FindingOptions } from "../../cli/options.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { createSarifLog, type SarifFinding, toSarifPath } from "../../cli/sarif.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** The result of a catalog check. */
export interface CatalogReport {
  readonly checked: CheckedCatalog;
  /** Findings to print, in order. */
  readonly findings: readonly CatalogFinding[];
  /** Number of images that were looked up in registries; undefined without --check-images. */
  readonly checkedImages?: number | undefined;
}

/** Returns the findings about a catalog that opm and the format define, without lints. */
export function buildReport(checked: CheckedCatalog): CatalogReport {
  return {
    checked,
    findings: [...checked.faults.map(reportUnreadableFile), ...checked.findings.map(convertFinding)].sort(compareCatalogFindings),
  };
}

/** Maximum number of findings per rule in the text format, except errors. */
const MAX_OF_RULE = 50;

/**
 * Returns the findings about a catalog as JSON: `passed` and `error` like opm, `counts`, the number of `errors`, `warnings` and `infos`,
 * `imagesAsked` with --check-images, and `findings` in the format of catalogd's endpoint, errors first. Unreadable files have `rule: unreadable`.
 * @see operator-registry cmd/opm/validate
 */
export function buildCatalogReport(report: CatalogReport): object {
  const { checked, findings, checkedImages } = report;
  const { refusal, counts } = checked;
  return {
    passed: isValid(report),
    ...(refusal === undefined ? {} : { error: { message: refusal } }),
    ...countFindings(report),
    counts,
    ...(checkedImages === undefined ? {} : { imagesAsked: checkedImages }),
    findings: findings.map(({ rule, severity, message, place, subject }) => ({
      rule,
      severity,
      message,
      ...(place ? { place: { ...place } } : {}),
      ...subject,
    })),
  };
}

/** Returns the findings of a catalog as text. */
export function formatCatalogReport(report: CatalogReport): string {
  const { checked, findings } = report;
  const counts = new Map<string, number>();
  const lines: string[] = [];
  for (const finding of findings) {
    const count = (counts.get(finding.rule) ?? 0) + 1;
    counts.set(finding.rule, count);
    if (count <= MAX_OF_RULE || finding.severity === "error") lines.push(formatFindingLine(finding));
  }
  for (const [rule, count] of counts)
    if (count > MAX_OF_RULE && findings.find((finding) => finding.rule === rule)?.severity !== "error")
      lines.push(`and ${count - MAX_OF_RULE} more [${rule}]`);
  const more = countDropped(checked, "error") + countDropped(checked, "warning");
  if (more > 0) lines.push(`and ${more} more`);
  if (checked.faults.length > 0) lines.push("relations between objects were not checked, because some objects could not be read");
  return [...lines.map(escapeControlCharacters), formatVerdict(report), ""].join("\n");
}

/** Converts the findings for SARIF. @param pathOf returns the path of a file in the catalog. */
export function toSarifFindings({ findings }: CatalogReport, pathOf: (file: string) => string): SarifFinding[] {
  return findings.map(({ rule, severity, message, place, subject }) => ({
    rule,
    severity,
    message,
    file: place && pathOf(place.file),
    line: place?.line,
    subject: subject && formatSubject(subject),
  }));
}

/** Returns whether opm accepts the catalog and all checked images exist. */
function isValid({ checked, findings }: CatalogReport): boolean {
  return checked.refusal === undefined && countSeverity(findings, "error") === 0;
}

function formatVerdict(report: CatalogReport): string {
  const { packages, channels, bundles } = report.checked.counts;
  const { errors, warnings, infos } = countFindings(report);
  const found = [formatCount(errors, "error"), ...(infos > 0 ? [formatCount(warnings, "warning")] : [])].join(", ");
  const last = infos > 0 ? formatCount(infos, "note") : formatCount(warnings, "warning");
  const content = `${formatCount(packages, "package")}, ${formatCount(channels, "channel")}, ${formatCount(bundles, "bundle")}`;
  const images = report.checkedImages === undefined ? "" : `; ${formatCount(report.checkedImages, "image")} checked`;
  return `the catalog is ${isValid(report) ? "valid" : "not valid"}: ${found} and ${last} in ${content}${images}`;
}

function countFindings({ checked, findings }: CatalogReport): { errors: number; warnings: number; infos: number } {
  return {
    errors: countSeverity(findings, "error") + countDropped(checked, "error"),
    warnings: countSeverity(findings, "warning") + countDropped(checked, "warning"),
    infos: countSeverity(findings, "info"),
  };
}

/** Returns the number of findings that are counted but not listed. */
function countDropped({ findings, errors, warnings }: CheckedCatalog, severity: "error" | "warning"): number {
  return (severity === "error" ? errors : warnings) - countSeverity(findings, severity);
}

/** Options of `olmv1 catalog validate`. */
export interface CatalogValidateOptions extends FindingOptions, ReaderOptions {
  checkImages?: boolean;
}

/** Runs `olmv1 catalog validate`. */
export async function validateCatalog(terminal: Terminal, source: string, options: CatalogValidateOptions): Promise<void> {
  const { output, failOn, severity, ignore } = options;
  requireIgnorable(ignore, CATALOG_RULES, "opm rejects a catalog that violates it");
  await withReader(
    options,
    async (reader) => {
      const folder = await findCatalogFolder(source, reader);
      if (findCatalogFiles(folder, CONTENT_LIMITS).length === 0) terminal.err(`olmv1: ${goQuote(source)} contains no catalog files\n`);
      let checkedImages: number | undefined;
      const { checked, findings } = await withProgress(terminal, `checking ${source}`, (progress) => {
        const more: MoreFindings | undefined = options.checkImages
          ? (lint) => {
              const images = lint.images();
              checkedImages = images.length;
              return checkImages(images, options, terminal, (done, all) => progress.now(`checking images, ${done} of ${all}`));
            }
          : undefined;
        return lintFolder(folder, ignore, more);
      });
      const report = { checked, findings: selectFindings(findings, { severity, ignore }), checkedImages };
      await print(terminal, output, {
        data: buildCatalogReport(report),
        text: () => formatCatalogReport(report),
        sarif: () =>
          createSarifLog(
            toSarifFindings(report, (file) => (folder === source ? toSarifPath(folder, file, process.cwd()) : file)),
            CATALOG_RULES,
          ),
      });
      if (reachesSeverity(findings, failOn)) terminal.exit(EXIT.no);
    },
    terminal.signal,
  );
}
