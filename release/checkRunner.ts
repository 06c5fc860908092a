/** One check of a release. */
export interface ReleaseCheck {
  /** What it checks, such as "npm package". */
  readonly name: string;
  /** @returns what it found, in a few words. @throws NotRunError if this machine lacks something; any other Error fails the check. */
  readonly run: () => Promise<string>;
}

/** Thrown by a check that cannot run on this machine. The message is the reason. */
export class NotRunError extends Error {
  override readonly name = "NotRunError";
}

/** Numbers of checks by result. */
export interface CheckCounts {
  readonly passed: number;
  readonly failed: number;
  readonly notRun: number;
}

/** Runs all checks in order, even if one fails, and prints a line for each. */
export async function runChecks(checks: readonly ReleaseCheck[], print: (line: string) => void): Promise<CheckCounts> {
  const counts = { passed: 0, failed: 0, notRun: 0 };
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, run } of checks) {
    const started = performance.now();
    const line = (result: string, text: string): void => print(`${result.padEnd(8)} ${name.padEnd(width)}  ${text}`);
    try {
      const found = await run();
      counts.passed++;
      line("ok", `${found} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err);
      if (err instanceof NotRunError) counts.notRun++;
      else counts.failed++;
      line(err instanceof NotRunError ? "not run" : "FAILED", message);
    }
  }
  print(`${counts.passed} passed, ${counts.failed} failed, ${counts.notRun} not run`);
  return counts;
}
