// A vitest reporter that tells which test files ended because the runtime itself crashed, for `test.mjs`.

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { reportFile } from "./report.mjs";

/** Signals that no JavaScript can cause: the fault is in Node. An abort is none of them, running out of memory is one. */
const CRASH = /with signal (SIGSEGV|SIGBUS|SIGILL) .*while running test files? (.+)$/;

/** Writes `{crashed: [{file, signal}], others}`: files by their paths in the checkout; `others` counts everything else that failed. */
export default class CrashReporter {
  #root = process.cwd();

  onInit({ config }) {
    this.#root = config.root;
  }

  onTestRunEnd(modules, errors) {
    const crashed = new Map();
    let others = 0;
    for (const error of errors) {
      const found = [error, error.cause].map((each) => CRASH.exec(each?.message ?? "")).find((match) => match);
      if (!found) others++;
      else for (const file of found[2].split(", ")) crashed.set(relative(this.#root, file), found[1]);
    }
    for (const module of modules) if (module.state() === "failed" && !crashed.has(relative(this.#root, module.moduleId))) others++;
    writeFileSync(reportFile("crashes"), JSON.stringify({ crashed: [...crashed].map(([file, signal]) => ({ file, signal })), others }));
  }
}
