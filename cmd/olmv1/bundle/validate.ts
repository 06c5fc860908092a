import type { Severity } from "../../../pkg/bundlecheck/severity.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { type ReaderOptions, withReader } from "../rbac/bundleReader.ts";
import { checkSources } from "./checkSources.ts";
import { fails, reportData, textReport } from "./validationReport.ts";

/** How `olmv1 bundle validate` can be asked. */
export interface ValidateOptions extends ReaderOptions {
  output: Output;
  failOn: Severity;
  severity: Severity;
  ignore: string[];
}

/** `olmv1 bundle validate`. */
export async function validate(terminal: Terminal, sources: readonly string[], options: ValidateOptions): Promise<void> {
  const { output, failOn, severity, ignore } = options;
  const checked = await withReader(options, (reader) => checkSources(sources, { severity, ignore }, reader));
  await print(terminal, output, { data: reportData(checked), text: () => textReport(checked) });
  if (fails(checked, failOn)) terminal.exit(EXIT.no);
}
