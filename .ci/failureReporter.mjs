// A vitest reporter that reports to `test.mjs` which test files failed, and whether a test failed or the runtime crashed.

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { reportFile } from "./report.mjs";

/** Signals that only a crash of Node.js itself causes. Excludes SIGABRT, because running out of memory also causes it. */
const CRASH = /with signal (SIGSEGV|SIGBUS|SIGILL) .*while running test files? (.+)$/;
/** Truncates the middle of long errors, because the start contains the message, and the end the last output of a process. */
const START_CHARACTERS = 300;
const END_CHARACTERS = 500;

/**
 * Writes `{crashed: [{file, signal}], failed: [{file, first}], others}`. `file` is the path in the checkout, `first` the first failed test with its
 * error on one line, and `others` lists errors outside of test files, each on one line.
 */
export default class FailureReporter {
  #root = process.cwd();

  onInit({ config }) {
    this.#root = config.root;
  }

  onTestRunEnd(modules, errors) {
    const crashed = new Map();
    const others = [];
    for (const error of errors) {
      const found = [error, error.cause].map((each) => CRASH.exec(each?.message ?? "")).find((match) => match);
      if (!found) others.push(onOneLine([error.cause ?? error]));
      else for (const file of found[2].split(", ")) crashed.set(relative(this.#root, file), found[1]);
    }
    const failed = modules
      .filter((module) => module.state() === "failed")
      .map((module) => ({ file: relative(this.#root, module.moduleId), first: firstFailure(module) }))
      .filter(({ file }) => !crashed.has(file));
    const report = { crashed: [...crashed].map(([file, signal]) => ({ file, signal })), failed, others };
    writeFileSync(reportFile("failures"), JSON.stringify(report));
  }
}

function firstFailure(module) {
  const [test] = module.children.allTests("failed");
  if (test) return `${test.fullName}: ${onOneLine(test.result().errors)}`;
  // A hook failed, or the file could not be loaded.
  const suite = [...module.children.allSuites()].find((each) => each.errors().length > 0);
  return suite ? `${suite.fullName}: ${onOneLine(suite.errors())}` : onOneLine(module.errors());
}

function onOneLine([error]) {
  const lines = stripVTControlCharacters(error?.message ?? "no error was reported")
    .trim()
    .split(/\s*\n\s*/);
  const text = lines.join(" | ");
  if (text.length <= START_CHARACTERS + END_CHARACTERS) return text;
  return `${text.slice(0, START_CHARACTERS)} … ${text.slice(-END_CHARACTERS)}`;
}
