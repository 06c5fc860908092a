import { type FileHandle, open } from "node:fs/promises";
import { extname } from "node:path";
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

/** A file for a report. Opened before the run, so that a run does not end without its report because of an invalid path. */
export class ReportFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #format: ReportFormat;

  private constructor(file: FileHandle, format: ReportFormat) {
    this.#file = file;
    this.#format = format;
  }

  /** @throws Error if the extension of the path is not a format, or if the file cannot be written */
  static async open(path: string): Promise<ReportFile> {
    const format = FORMATS[extname(path).toLowerCase()];
    if (!format) throw new Error(`cannot write report ${path}: unknown format. Use a path that ends in ${Object.keys(FORMATS).join(", ")}`);
    return new ReportFile(await open(path, "w", 0o600), format);
  }

  async write(results: RunResults): Promise<void> {
    await this.#file.writeFile(this.#format(buildConversionReport(results, new Date()), results.lines));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
