import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Commands of a page, and the output that the page shows for them, if any. */
export interface PageStep {
  readonly line: number;
  readonly commands: string;
  readonly output: string | undefined;
}

const FENCE = /^```(\S*)$/;

/** Returns the `sh` blocks of a page, each with the `text` block that follows it before the next `sh` block. */
export function readPageSteps(path: string): PageStep[] {
  const steps: { line: number; commands: string; output: string | undefined }[] = [];
  const lines = readFileSync(path, "utf8").split("\n");
  for (let i = 0; i < lines.length; i++) {
    const language = FENCE.exec(lines[i] ?? "")?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf("```", i + 1);
    const content = lines.slice(i + 1, end).join("\n");
    const last = steps.at(-1);
    if (language === "sh") steps.push({ line: i + 1, commands: content, output: undefined });
    else if (language === "text" && last?.output === undefined && last) last.output = content;
    i = end;
  }
  return steps;
}

/** Parts of output that differ between runs, and their replacements. */
const VARIABLE: readonly [RegExp, string][] = [
  [/127\.0\.0\.1:\d+/g, "ADDRESS"],
  [/sha256:[0-9a-f]{8,64}/g, "DIGEST"],
  [/\/tmp\/[\w.-]+/g, "FOLDER"],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g, "TIME"],
  [/\b(?:\d+ min )?\d+(?:\.\d+)? s\b/g, "DURATION"],
  [/\b(?:\d+[dhms])+\b/g, "DURATION"],
  [/\s+/g, " "],
];
const ANYTHING = "…";

function normalizeLine(line: string): string {
  return VARIABLE.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line).trim();
}

function toLines(text: string): string[] {
  return text
    .split("\n")
    .map(normalizeLine)
    .filter((line) => line !== "");
}

function isMatch(expected: string, actual: string): boolean {
  const pattern = expected
    .split(ANYTHING)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
  return new RegExp(`^${pattern}$`).test(actual);
}

/**
 * Compares the output in a page with real output. Ignores blank lines, widths of columns, addresses, digests, durations and temporary folders. In the
 * page, `…` matches any text in a line, and a line of `…` any number of lines.
 * @returns the first difference, or undefined if the outputs match
 */
export function compareOutput(page: string, real: string): string | undefined {
  const actual = toLines(real);
  let from = 0;
  let skips = false;
  for (const line of toLines(page)) {
    if (line === ANYTHING) {
      skips = true;
      continue;
    }
    const at = actual.findIndex((one, i) => i >= from && (skips || i === from) && isMatch(line, one));
    if (at < 0) return `the page shows "${line}", the output has "${actual[from] ?? "no further line"}"`;
    from = at + 1;
    skips = false;
  }
  if (from < actual.length && !skips) return `the page omits "${actual[from]}"`;
  return undefined;
}

const END = "__END__";

/** A shell that runs commands like a reader of a page: variables and the working folder persist. */
export class PageSession {
  readonly #shell: ChildProcessWithoutNullStreams;
  readonly #folder: string;
  #output = "";
  #count = 0;
  #ended = false;

  /** @param folder for the scripts of the session @param env replaces the environment of this process */
  constructor(folder: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#shell = spawn("bash", ["--norc", "--noprofile"], { cwd, env });
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
    this.#shell.on("close", () => (this.#ended = true));
    this.#shell.stdin.write("set -e -o pipefail\nexec 2>&1\n");
  }

  /** Runs commands without a terminal and returns their output. @throws Error with the output if a command fails */
  async run(commands: string): Promise<string> {
    const script = join(this.#folder, `step-${++this.#count}.sh`);
    writeFileSync(script, `${commands}\n`);
    this.#output = "";
    const end = `${END}${this.#count}`;
    this.#shell.stdin.write(`. '${script}' </dev/null\necho; echo ${end}\n`);
    while (!this.#output.includes(`${end}\n`)) {
      if (this.#ended) throw new Error(`a command failed:\n${commands}\n--- output\n${this.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.#output.slice(0, this.#output.indexOf(end));
  }

  /** Runs the steps of a page and compares their output. @throws Error with the page, the line and the whole output of a step that differs */
  async runPage(path: string, change: (commands: string) => string = (commands) => commands): Promise<void> {
    for (const { line, commands, output } of readPageSteps(path)) {
      const real = await this.run(change(commands));
      const difference = output === undefined ? undefined : compareOutput(output, real);
      if (difference !== undefined) throw new Error(`${path}:${line}: ${difference}\n--- output\n${real}`);
    }
  }

  close(): void {
    this.#shell.stdin.end("exit 0\n");
  }
}
