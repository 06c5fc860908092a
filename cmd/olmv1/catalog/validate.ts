import { statSync } from "node:fs";
import { checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { reportData, textReport } from "./validationReport.ts";

/** How `olmv1 catalog validate` can be asked. */
export interface ValidateOptions {
  output: Output;
}

/** `olmv1 catalog validate`. */
export async function validate(terminal: Terminal, directory: string, { output }: ValidateOptions): Promise<void> {
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${goQuote(directory)} is not a directory`);
  const checked = await checkCatalogFolder(directory);
  await print(terminal, output, { data: reportData(checked), text: () => textReport(checked) });
  if (checked.refusal !== undefined) terminal.exit(EXIT.no);
}
