import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { CatalogCache } from "./catalogCache.ts";
import { caseFilesUnder, casesIn, type FoundCase } from "./readCases.ts";
import { UsageError } from "./runMain.ts";
import type { CaseContext, Difference, Topic } from "./topic.ts";

/** Result of a run. */
export interface Summary {
  passed: number;
  failed: number;
}

/** Inputs and output of a run. */
export interface RunOptions {
  /** Absolute files and folders. */
  paths: readonly string[];
  /** Base folder of paths in cases. Default: the nearest folder above each path that contains `fbc` or `bundles`. */
  dataFolder?: string | undefined;
  print: (line: string) => void;
  /** Called with the number of completed cases after each thousand. */
  progress?: (done: number) => void;
}

const MAX_LINE = 1_000;
const PROGRESS_EVERY = 1_000;

/**
 * Runs all cases of `topic` in the paths one after another and prints each difference.
 * Ignores other files in a folder. A file in `paths` must contain cases.
 * @throws UsageError if there are no cases, a path does not exist, or a case file lacks what the topic requires.
 */
export async function runCases<C>(topic: Topic<C>, { paths, dataFolder, print, progress }: RunOptions): Promise<Summary> {
  const summary: Summary = { passed: 0, failed: 0 };
  const catalogs = new CatalogCache();
  for (const path of paths) {
    for await (const file of caseFilesUnder(path)) {
      const context: CaseContext = { file, dataFolder: dataFolder ?? dataFolderAbove(file), catalogs };
      let firstIsCase: boolean | undefined;
      for await (const found of casesIn(file)) {
        const isCase = "decoded" in found.value && topic.isCase(found.value.decoded);
        firstIsCase ??= isCase || "fault" in found.value;
        if (!firstIsCase && path !== file) break;
        const lines = await outcome(topic, found, context);
        if (lines) print([`DIFFERENT ${formatPlace(found)}${getTitle(topic, found)}`, ...lines.map(truncate)].join("\n  "));
        summary[lines ? "failed" : "passed"]++;
        if ((summary.passed + summary.failed) % PROGRESS_EVERY === 0) progress?.(summary.passed + summary.failed);
      }
    }
  }
  if (summary.passed + summary.failed === 0) throw new UsageError(`no case of this topic in ${paths.join(" ")}`);
  return summary;
}

async function outcome<C>(topic: Topic<C>, { value }: FoundCase, context: CaseContext): Promise<Difference["lines"] | undefined> {
  if ("fault" in value) return [`not JSON: ${value.fault}`];
  if (!topic.isCase(value.decoded)) return ["not a case of this topic"];
  try {
    return (await topic.run(value.decoded, context))?.lines;
  } catch (err) {
    if (err instanceof UsageError) throw err;
    return [`cannot be run: ${getErrorMessage(err)}`];
  }
}

function getTitle<C>(topic: Topic<C>, { value }: FoundCase): string {
  return "decoded" in value && topic.isCase(value.decoded) ? `: ${topic.title(value.decoded)}` : "";
}

function formatPlace({ file, line }: FoundCase): string {
  const shown = relative(process.cwd(), file);
  const place = shown.startsWith("../../") ? file : shown;
  return line === undefined ? place : `${place}:${line}`;
}

function truncate(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}… (${line.length} characters)` : line;
}

/** Returns the nearest folder above `file` that looks like a data folder; otherwise the parent of its folder. */
function dataFolderAbove(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "fbc")) || existsSync(join(folder, "bundles"))) return folder;
  }
  return resolve(dirname(file), "..");
}
