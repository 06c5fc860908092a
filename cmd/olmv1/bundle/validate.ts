import { BUNDLE_RULES } from "../../../pkg/authoring/bundlecheck/checkBundle.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { FindingOptions } from "../commands/findingOptions.ts";
import { type ReaderOptions, withReader } from "../rbac/bundleReader.ts";
import { sarifLog } from "../validation/sarif.ts";
import { sarifPath } from "../validation/sarifPath.ts";
import { checkSources } from "./checkSources.ts";
import { fails, reportData, sarifFindings, textReport } from "./validationReport.ts";

/** How `olmv1 bundle validate` can be asked. */
export interface ValidateOptions extends FindingOptions, ReaderOptions {}

/** `olmv1 bundle validate`. */
export async function validate(terminal: Terminal, sources: readonly string[], options: ValidateOptions): Promise<void> {
  const { output, failOn, severity, ignore } = options;
  const checked = await withReader(options, (reader) => checkSources(sources, { severity, ignore }, reader), terminal.signal);
  await print(terminal, output, {
    data: reportData(checked),
    text: () => textReport(checked),
    sarif: () =>
      sarifLog(
        sarifFindings(checked, (source, file) => sarifPath(source, file, process.cwd())),
        BUNDLE_RULES,
      ),
  });
  if (fails(checked, failOn)) terminal.exit(EXIT.no);
}
