import {
  CATALOG_RULES,
  type CatalogFinding,
  compareCatalogFindings,
  convertFinding,
  countSeverity,
  findingLine,
  reachesSeverity,
  reportUnreadableFile,
  requireIgnorable,
  selectFindings,
} from "../../../../pkg/authoring/validate/catalogFinding.ts";
import { checkImages, lintFolder, type MoreFindings } from "../../../../pkg/authoring/validate/lintCatalog.ts";
import type { CheckedCatalog } from "../../../../pkg/catalogd/load/checkCatalog.ts";
import { formatSubject } from "../../../../pkg/fbc/validate/finding.ts";
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

/** What opm and the format have against a catalog, without lints. */
export function reportOf(checked: CheckedCatalog): CatalogReport {
  return {
    checked,
    findings: [...checked.faults.map(reportUnreadableFile), ...checked.findings.map(convertFinding)].sort(compareCatalogFindings),
  };
}

/** Findings of one rule that are told to people; programs are told all. */
const MAX_OF_RULE = 50;

/**
 * What was found in a catalog, errors first, for programs: an object with opm's members `passed` and `error`, and besides these `counts`, how many
 * `errors`, `warnings` and `infos` there are, with --check-images `imagesAsked`, and `findings` in the form of catalogd's endpoint; `rule: unreadable` is for files that cannot be read.
 * @see operator-registry cmd/opm/validate
 */
export function buildCatalogReport(report: CatalogReport): object {
  const { checked, findings, checkedImages } = report;
  const { refusal, counts } = checked;
  return {
    passed: isValid(report),
    ...(refusal === undefined ? {} : { error: { message: refusal } }),
    ...totals(report),
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

/** The same for people. */
export function formatCatalogReport(report: CatalogReport): string {
  const { checked, findings } = report;
  const told = new Map<string, number>();
  const lines: string[] = [];
  for (const finding of findings) {
    const count = (told.get(finding.rule) ?? 0) + 1;
    told.set(finding.rule, count);
    if (count <= MAX_OF_RULE || finding.severity === "error") lines.push(findingLine(finding));
  }
  for (const [rule, count] of told)
    if (count > MAX_OF_RULE && findings.find((finding) => finding.rule === rule)?.severity !== "error")
      lines.push(`and ${count - MAX_OF_RULE} more [${rule}]`);
  const more = dropped(checked, "error") + dropped(checked, "warning");
  if (more > 0) lines.push(`and ${more} more`);
  if (checked.faults.length > 0) lines.push("how the objects go together was not looked at, since not all of them could be read");
  return [...lines.map(escapeControlCharacters), verdict(report), ""].join("\n");
}

/** The same as SARIF has it. @param pathOf where a file of the catalog is, for whoever reads it. */
export function sarifFindings({ findings }: CatalogReport, pathOf: (file: string) => string): SarifFinding[] {
  return findings.map(({ rule, severity, message, place, subject }) => ({
    rule,
    severity,
    message,
    file: place && pathOf(place.file),
    line: place?.line,
    subject: subject && formatSubject(subject),
  }));
}

/** Whether opm takes the catalog, and every image that was checkedImages for is there. */
function isValid({ checked, findings }: CatalogReport): boolean {
  return checked.refusal === undefined && countSeverity(findings, "error") === 0;
}

function verdict(report: CatalogReport): string {
  const { packages, channels, bundles } = report.checked.counts;
  const { errors, warnings, infos } = totals(report);
  const found = [formatCount(errors, "error"), ...(infos > 0 ? [formatCount(warnings, "warning")] : [])].join(", ");
  const last = infos > 0 ? formatCount(infos, "remark") : formatCount(warnings, "warning");
  const held = `${formatCount(packages, "package")}, ${formatCount(channels, "channel")}, ${formatCount(bundles, "bundle")}`;
  const checkedImages = report.checkedImages === undefined ? "" : `; ${formatCount(report.checkedImages, "image")} checkedImages for`;
  return `the catalog is ${isValid(report) ? "valid" : "not valid"}: ${found} and ${last} in ${held}${checkedImages}`;
}

function totals({ checked, findings }: CatalogReport): { errors: number; warnings: number; infos: number } {
  return {
    errors: countSeverity(findings, "error") + dropped(checked, "error"),
    warnings: countSeverity(findings, "warning") + dropped(checked, "warning"),
    infos: countSeverity(findings, "info"),
  };
}

/** Those that were only counted. */
function dropped({ findings, errors, warnings }: CheckedCatalog, severity: "error" | "warning"): number {
  return (severity === "error" ? errors : warnings) - countSeverity(findings, severity);
}

/** Options of `olmv1 catalog validate`. */
export interface CatalogValidateOptions extends FindingOptions, ReaderOptions {
  checkImages?: boolean;
}

/** `olmv1 catalog validate`. */
export async function validateCatalog(terminal: Terminal, source: string, options: CatalogValidateOptions): Promise<void> {
  const { output, failOn, severity, ignore } = options;
  requireIgnorable(ignore, CATALOG_RULES, "opm refuses a catalog that breaks it");
  await withReader(options, async (reader) => {
    const folder = await findCatalogFolder(source, reader);
    let checkedImages: number | undefined;
    const { checked, findings } = await withProgress(terminal, `checking ${source}`, (progress) => {
      const more: MoreFindings | undefined = options.checkImages
        ? (lint) => {
            const images = lint.images();
            checkedImages = images.length;
            return checkImages(images, options, terminal, (done, all) => progress.now(`asking for images, ${done} of ${all}`));
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
          sarifFindings(report, (file) => (folder === source ? toSarifPath(folder, file, process.cwd()) : file)),
          CATALOG_RULES,
        ),
    });
    if (reachesSeverity(findings, failOn)) terminal.exit(EXIT.no);
  });
}
