import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/**
 * Names of the browser: both of Debian, the second also of GitHub's runners. The second starts a process for its toolbar with each page; the first does
 * not.
 * @see https://github.com/actions/runner-images/blob/main/images/ubuntu/scripts/build/install-google-chrome.sh
 */
const PROGRAMS = ["chromium-headless-shell", "chromium"];

/** Finds the browser: $OLMV1_CHROMIUM, or one of its names on the PATH; undefined if it is not installed. */
export function findChromium(): string | undefined {
  const named = process.env["OLMV1_CHROMIUM"];
  if (named) return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))).find((path) => existsSync(path));
}

/**
 * Opens a page in a headless browser until `done` resolves. @throws Error with the browser's output if it exits earlier
 */
export async function withPage<T>(program: string, url: string, done: Promise<T>): Promise<T> {
  const profile = mkdtempSync(join(tmpdir(), "olmv1-chromium-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", `--user-data-dir=${profile}`];
  // Kills the whole process group: a browser runs many processes.
  const browser = spawn(program, [...flags, "--remote-debugging-port=0", url], { stdio: ["ignore", "ignore", "pipe"], detached: true });
  let output = "";
  browser.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-4_000)));
  const ended = new Promise<void>((resolve) => browser.once("close", () => resolve()));
  try {
    return await Promise.race([done, ended.then(() => Promise.reject(new Error(`the browser exited early: ${output}`)))]);
  } finally {
    if (browser.pid !== undefined && browser.exitCode === null) process.kill(-browser.pid, "SIGKILL");
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  }
}
