import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const INTERVAL_MS = 500;
/** Number of ancestors that must be alive: the shell that npm started, and npm. */
const GENERATIONS = 2;

/** Returns the parent of a process, or undefined if it has ended or is unknown. */
function findParent(pid: number): number | undefined {
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The command name in brackets may contain blanks; the state and the parent's pid follow the
      // last bracket.
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    }
    return Number(execFileSync("ps", ["-o", "ppid=", "-p", String(pid)], { encoding: "utf8" }).trim()) || undefined;
  } catch {
    return undefined;
  }
}

function ancestors(): number[] {
  const chain: number[] = [];
  for (let pid = process.ppid; chain.length < GENERATIONS && pid > 1; pid = findParent(pid) ?? 0) chain.push(pid);
  return chain;
}

/**
 * Calls `gone` once when a process that started this one through npm has ended, even if it was killed. Does nothing if npm did not start this
 * process, because a closing shell sends SIGHUP.
 * @returns stops watching.
 */
export function watchParents(gone: () => void): () => void {
  if (process.env["npm_lifecycle_event"] === undefined) return () => undefined;
  const before = ancestors().join();
  const timer = setInterval(() => {
    if (ancestors().join() === before) return;
    clearInterval(timer);
    gone();
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
