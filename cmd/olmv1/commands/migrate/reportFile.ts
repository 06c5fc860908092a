import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { extname } from "node:path";
import { ignoreMissingFile } from "../../../../pkg/errors/errors.ts";
import { type BatchLine, formatBatch } from "./batch.ts";
import { buildConversionReport, type ConversionReport, type RunResults } from "./conversionReport.ts";
import { formatHtmlReport } from "./htmlReport.ts";

type ReportFormat = (report: ConversionReport, lines: readonly BatchLine[]) => string;

const FORMATS: Readonly<Record<string, ReportFormat>> = {
  ".html": formatHtmlReport,
  ".json": (report) => `${JSON.stringify(report, undefined, 2)}\n`,
  ".txt": (_, lines) => formatBatch({ width: TEXT_WIDTH, colour: false }, lines, ""),
};
const TEXT_WIDTH = 200;

/**
 * A file for a report. Opened before the run, so that a run does not end without its report because of an invalid path. An existing report is replaced
 * when the new one is complete.
 */
export class ReportFile implements AsyncDisposable {
  readonly #path: string;
  readonly #partial: FileHandle;
  readonly #format: ReportFormat;

  private constructor(path: string, partial: FileHandle, format: ReportFormat) {
    this.#path = path;
    this.#partial = partial;
    this.#format = format;
  }

  /** @throws Error if the extension of the path is not a format, or if the file cannot be written */
  static async open(path: string): Promise<ReportFile> {
    const format = FORMATS[extname(path).toLowerCase()];
    if (!format) throw new Error(`cannot write report ${path}: unknown format. Use a path that ends in ${Object.keys(FORMATS).join(", ")}`);
    if ((await stat(path).catch(ignoreMissingFile))?.isDirectory()) throw new Error(`cannot write report ${path}: it is a folder`);
    return new ReportFile(path, await open(getPartialPath(path), "w", 0o600), format);
  }

  async write(results: RunResults): Promise<void> {
    await this.#partial.writeFile(this.#format(buildConversionReport(results, new Date()), results.lines));
    await rename(getPartialPath(this.#path), this.#path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#partial.close();
    await rm(getPartialPath(this.#path), { force: true });
  }
}

function getPartialPath(path: string): string {
  return `${path}.partial`;
}
