import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ImageReport } from "./imageReport.ts";

/** Prints an image that is in place: by digest, for whoever deploys it. */
export async function printImage(terminal: Terminal, output: Output, report: ImageReport): Promise<void> {
  if (report.present) terminal.err(`${escapeControlCharacters(report.reference)} was there already\n`);
  await print(terminal, output, { data: report, text: () => `${escapeControlCharacters(report.image)}\n`, names: () => [report.image] });
}
