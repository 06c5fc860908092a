import { toOneLine } from "../../../pkg/text/escape.ts";
import { truncateColumns } from "./columns.ts";
import type { Terminal } from "./terminal.ts";

/** Reports progress. */
export interface Progress {
  /** Sets the current step, such as `pulling quay.io/example/catalog:latest`. */
  now(step: string): void;
  /** Prints a permanent line, such as an error that is retried. */
  report(line: string): void;
}

/** Time in milliseconds before the first progress is printed. */
const QUIET_MS = 1_000;
const FRAME_MS = 100;
/** Interval between lines if the output is not a terminal, such as the log of a CI job. */
const LINE_MS = 15_000;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/**
 * Runs `work`, and prints the current step and elapsed time to standard error. On a terminal, uses one line that appears after a second and is
 * cleared at the end; otherwise, prints a new line every 15 seconds.
 */
export async function withProgress<T>(
  terminal: Pick<Terminal, "err" | "interactive" | "width" | "showProgress">,
  first: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const start = performance.now();
  let step = first;
  let frame = 0;
  const elapsed = (): number => performance.now() - start;
  const print = (): void => {
    const seconds = Math.floor(elapsed() / 1_000);
    if (!terminal.interactive) return terminal.err(`olmv1: ${step} (${seconds} s)\n`);
    if (elapsed() < QUIET_MS) return undefined;
    const line = `${FRAMES[frame++ % FRAMES.length]} ${step} (${seconds} s)`;
    return terminal.showProgress(truncateColumns(line, Math.max(terminal.width - 1, 20)));
  };
  const timer = setInterval(print, terminal.interactive ? FRAME_MS : LINE_MS);
  const report = (line: string): void => terminal.err(`olmv1: ${toOneLine(line)}\n`);
  try {
    return await work({ now: (next) => void (step = toOneLine(next)), report });
  } finally {
    clearInterval(timer);
    terminal.showProgress(undefined);
  }
}
