import { EXIT } from "../cli/exitCodes.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { FindingOptions } from "../commands/findingOptions.ts";
import { type ReaderOptions, withReader } from "../rbac/bundleReader.ts";
import { sarifLog } from "../validation/sarif.ts";
import { sarifPath } from "../validation/sarifPath.ts";
import { failsAt, requireIgnorable, selected } from "../validation/selection.ts";
import { CATALOG_RULES } from "./catalogFinding.ts";
import { catalogFolder } from "./catalogFolder.ts";
import { checkImages } from "./checkImages.ts";
import { lintedFolder, type MoreFindings } from "./lintedFolder.ts";
import { reportData, sarifFindings, textReport } from "./validationReport.ts";

/** How `olmv1 catalog validate` can be asked. */
export interface ValidateOptions extends FindingOptions, ReaderOptions {
  checkImages?: boolean;
}

/** `olmv1 catalog validate`. */
export async function validate(terminal: Terminal, source: string, options: ValidateOptions): Promise<void> {
  const { output, failOn, severity, ignore } = options;
  requireIgnorable(ignore, CATALOG_RULES, "opm refuses a catalog that breaks it");
  await withReader(options, async (reader) => {
    const folder = await catalogFolder(source, reader);
    let asked: number | undefined;
    const { checked, findings } = await withProgress(terminal, `checking ${source}`, (progress) => {
      const more: MoreFindings | undefined = options.checkImages
        ? (lint) => {
            const images = lint.images();
            asked = images.length;
            return checkImages(images, options, terminal, (done, all) => progress.now(`asking for images, ${done} of ${all}`));
          }
        : undefined;
      return lintedFolder(folder, ignore, more);
    });
    const report = { checked, findings: selected(findings, { severity, ignore }), asked };
    await print(terminal, output, {
      data: reportData(report),
      text: () => textReport(report),
      sarif: () =>
        sarifLog(
          sarifFindings(report, (file) => (folder === source ? sarifPath(folder, file, process.cwd()) : file)),
          CATALOG_RULES,
        ),
    });
    if (failsAt(findings, failOn)) terminal.exit(EXIT.no);
  });
}
