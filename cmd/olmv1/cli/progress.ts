import { oneLine } from "../../../pkg/text/escape.ts";
import { cutTo } from "./columns.ts";
import type { Terminal } from "./terminal.ts";

/** Tells what is being done. */
export interface Progress {
  /** What it is now, such as `pulling quay.io/example/catalog:latest`. */
  now(what: string): void;
  /** Prints a line that stays, such as an error that is retried. */
  say(line: string): void;
}

/** What takes no longer is not told. */
const QUIET_MS = 1_000;
const FRAME_MS = 100;
/** Where lines stay, as in the log of a CI. */
const LINE_MS = 15_000;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const CLEAR = "\r\u001B[K";

/**
 * What `work` gives; meanwhile, after a second, standard error says what is being done and for how long: on a terminal in one line that goes away
 * again, elsewhere in a line every quarter of a minute.
 */
export async function withProgress<T>(
  terminal: Pick<Terminal, "err" | "interactive" | "width">,
  what: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  let doing = what;
  let isShown = false;
  let frame = 0;
  const elapsed = (): number => performance.now() - began;
  const tell = (): void => {
    const seconds = Math.floor(elapsed() / 1_000);
    if (!terminal.interactive) return terminal.err(`olmv1: ${doing} (${seconds} s)\n`);
    if (elapsed() < QUIET_MS) return undefined;
    isShown = true;
    const line = `${FRAMES[frame++ % FRAMES.length]} ${doing} (${seconds} s)`;
    return terminal.err(CLEAR + cutTo(line, Math.max(terminal.width - 1, 20)));
  };
  const timer = setInterval(tell, terminal.interactive ? FRAME_MS : LINE_MS);
  const say = (line: string): void => {
    terminal.err(`${isShown ? CLEAR : ""}olmv1: ${oneLine(line)}\n`);
    isShown = false;
  };
  try {
    return await work({ now: (next) => void (doing = oneLine(next)), say });
  } finally {
    clearInterval(timer);
    if (isShown) terminal.err(CLEAR);
  }
}
