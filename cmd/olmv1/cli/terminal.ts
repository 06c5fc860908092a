import { text } from "node:stream/consumers";
import { EXIT } from "./errors.ts";

/** Matches control sequences, including those that olmv1 prints: colors, line clearing and line ends. */
// oxlint-disable-next-line no-control-regex -- matches escape characters
const CONTROL_SEQUENCE = /\u001B\[[\d;]*m|\r?\u001B\[K|\r\n|[^\P{C}\n\t]/gu;

/**
 * Escapes control sequences, which could move the cursor, set the title or fill the clipboard. Text output is escaped already; this protects formats
 * such as JSON and YAML, which print data unchanged.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(CONTROL_SEQUENCE, (found) => {
    if (found.length > 1 && (found.codePointAt(0) ?? 0) < 0x20) return found;
    return Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  });
}

/** The terminal of a command. Commands use it instead of the process's streams and state. */
export type Terminal = Omit<CommandTerminal, "code" | "handlesSigint">;

/** Clears the current line. */
const CLEAR = "\r\u001B[K";

/** Properties of a terminal. By default, the terminal is not interactive. */
export interface TerminalInit extends Partial<Omit<Terminal, "exit" | "endsByItself" | "showProgress">> {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** A terminal that stores the exit code of the command. */
export class CommandTerminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** All of standard input. */
  readonly stdin: () => Promise<string>;
  /** Prints a question and returns the line that the user enters. */
  readonly ask: (question: string) => Promise<string>;
  /** Width in columns; Infinity for a pipe or a file. */
  readonly width: number;
  readonly colour: boolean;
  /** Whether standard input and standard error are terminals. */
  readonly interactive: boolean;
  /** Aborts with Ctrl-C. */
  readonly signal: AbortSignal;
  /** Aborts when the reader of standard output, such as `head`, has closed it. Commands that print until Ctrl-C end then. */
  readonly outputClosed: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly #writeError: (text: string) => void;
  #hasProgress = false;
  #code: number = EXIT.yes;
  #handlesSigint = false;

  constructor(init: TerminalInit) {
    this.#writeError = init.err;
    this.out = (text): void => {
      this.showProgress(undefined);
      init.out(text);
    };
    this.err = (text): void => {
      this.showProgress(undefined);
      init.err(text);
    };
    this.stdin = init.stdin ?? ((): Promise<string> => Promise.resolve(""));
    const { ask } = init;
    this.ask = async (question): Promise<string> => {
      this.showProgress(undefined);
      if (ask) return ask(question);
      this.err(question);
      return (await this.stdin()).split("\n")[0] ?? "";
    };
    this.width = init.width ?? Number.POSITIVE_INFINITY;
    this.colour = init.colour ?? false;
    this.interactive = init.interactive ?? false;
    this.signal = init.signal ?? new AbortController().signal;
    this.outputClosed = init.outputClosed ?? new AbortController().signal;
    this.env = init.env ?? {};
  }

  get code(): number {
    return this.#code;
  }

  get handlesSigint(): boolean {
    return this.#handlesSigint;
  }

  /** Shows a line on standard error until the next output, such as a spinner. @param line undefined clears it */
  showProgress(line: string | undefined): void {
    if (line !== undefined) this.#writeError(CLEAR + line);
    else if (this.#hasProgress) this.#writeError(CLEAR);
    this.#hasProgress = line !== undefined;
  }

  /** Sets the exit code. */
  exit(code: number): void {
    this.#code = code;
  }

  /** Declares that the command ends on its own after `signal` aborts. Otherwise, the process exits after a grace period. */
  endsByItself(): void {
    this.#handlesSigint = true;
  }
}

/** Returns the terminal of this process. @param signal aborts with Ctrl-C. */
export function createProcessTerminal(signal: AbortSignal): CommandTerminal {
  const { stdin, stdout, stderr, env } = process;
  const [out, err] = [createWriter(stdout), createWriter(stderr)];
  return new CommandTerminal({
    out: out.write,
    err: err.write,
    stdin: () => text(stdin),
    ask: (question) => readAnswerLine(question, { input: stdin, output: stderr, signal }),
    width: getOutputWidth(stdout.isTTY ? stdout.columns : undefined, env["COLUMNS"]),
    colour: hasColour(stdout.isTTY, env),
    interactive: stderr.isTTY && stdin.isTTY,
    signal,
    outputClosed: out.closed,
    env,
  });
}

/**
 * Returns a writer that escapes control sequences if the stream is a terminal. After the reader has closed the stream, it writes nothing, so that a
 * command that changes objects is not interrupted.
 */
function createWriter(stream: NodeJS.WriteStream): { write: (piece: string) => void; closed: AbortSignal } {
  const closed = new AbortController();
  stream.on("error", (err: NodeJS.ErrnoException) => {
    if (err.code !== "EPIPE") throw err;
    closed.abort();
  });
  const write = (piece: string): void => {
    if (!closed.signal.aborted) stream.write(stream.isTTY ? escapeForTerminal(piece) : piece);
  };
  return { write, closed: closed.signal };
}

/**
 * Reads a line. Keeps the terminal mode, so Ctrl-C still signals the process.
 * @returns an empty line at the end of the input, such as after Ctrl-D
 */
export async function readAnswerLine(
  question: string,
  { input, output, signal }: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream; signal: AbortSignal },
): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input, output, terminal: false });
  const ended = new Promise<undefined>((resolve) => {
    lines.once("close", () => resolve(undefined));
  });
  try {
    const answer = await Promise.race([lines.question(question, { signal }), ended]);
    if (answer === undefined) output.write("\n"); // ends the line of the question
    return answer ?? "";
  } finally {
    lines.close();
  }
}

/** Returns the output width: from the environment, else from the terminal, else Infinity. */
export function getOutputWidth(columns: number | undefined, requested: string | undefined): number {
  const width = Number(requested);
  if (Number.isSafeInteger(width) && width > 0) return width;
  return columns !== undefined && columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

/** Returns whether to use colors: only on a terminal, and not with NO_COLOR. @see https://no-color.org */
export function hasColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/**
 * Returns whether the user confirms: with `--yes`, or by answering the question.
 * @param question ends with a question mark.
 * @throws Error with advice if the terminal is not interactive.
 */
export async function confirm(
  terminal: Pick<Terminal, "interactive" | "ask">,
  question: string,
  isYes: boolean | undefined,
): Promise<boolean> {
  if (isYes) return true;
  if (!terminal.interactive) throw new Error("not a terminal: use --yes to confirm (no changes were made)");
  return /^y(es)?$/i.test((await terminal.ask(`${question} [y/N] `)).trim());
}

/** Values of `--color`. */
export const COLOR_MODES = ["auto", "always", "never"] as const;
/** When a command prints colors: auto (on a terminal), always or never. */
export type ColorMode = (typeof COLOR_MODES)[number];

/** Returns whether a command prints colors with a value of `--color`. */
export function hasColourIn({ colour }: Pick<Terminal, "colour">, mode: ColorMode): boolean {
  return mode === "always" || (mode === "auto" && colour);
}

/** Prints the suggested next step after a successful change, in one line. Prints nothing without a terminal, because scripts do not need it. */
export function suggestNext({ interactive, err }: Pick<Terminal, "interactive" | "err">, text: string): void {
  if (interactive) err(`Next: ${text}\n`);
}
