import { text } from "node:stream/consumers";
import { EXIT } from "./errors.ts";

/** Colours and the clearing of a line, which are ours; line ends; and whatever else a terminal acts on instead of showing it. */
// oxlint-disable-next-line no-control-regex -- the escape character is what this is about
const ACTED_ON = /\u001B\[[\d;]*m|\r?\u001B\[K|\r\n|[^\P{C}\n\t]/gu;

/**
 * `text` as a terminal may be given it: nothing in it moves the cursor, sets a title or fills the clipboard, whoever wrote it. Every text for people
 * is without such characters already; this is for the forms that print what others wrote as it is.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(ACTED_ON, (found) => {
    if (found.length > 1 && (found.codePointAt(0) ?? 0) < 0x20) return found;
    return Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  });
}

/** What a command is given to talk to whoever runs it, in place of the process's own streams and state. */
export type Terminal = Omit<CommandTerminal, "code" | "isPatient">;

/** How a terminal differs from one that is nobody's. */
export interface TerminalInit extends Partial<Omit<Terminal, "exit" | "endsByItself">> {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** A terminal that keeps what the command says of its end. */
export class CommandTerminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** All of standard input. */
  readonly stdin: () => Promise<string>;
  /** Asks whoever sits there, and gives the line that is answered. */
  readonly ask: (question: string) => Promise<string>;
  /** Columns that a line of output may take; Infinity where it goes into a pipe or a file. */
  readonly width: number;
  readonly colour: boolean;
  /** A person sees standard error as it is written, and may be asked on standard input. */
  readonly interactive: boolean;
  /** Aborts with Ctrl-C. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  #code: number = EXIT.yes;
  #isPatient = false;

  constructor(init: TerminalInit) {
    this.out = init.out;
    this.err = init.err;
    this.stdin = init.stdin ?? ((): Promise<string> => Promise.resolve(""));
    this.ask =
      init.ask ??
      (async (question): Promise<string> => {
        this.err(question);
        return (await this.stdin()).split("\n")[0] ?? "";
      });
    this.width = init.width ?? Number.POSITIVE_INFINITY;
    this.colour = init.colour ?? false;
    this.interactive = init.interactive ?? false;
    this.signal = init.signal ?? new AbortController().signal;
    this.env = init.env ?? {};
  }

  get code(): number {
    return this.#code;
  }

  get isPatient(): boolean {
    return this.#isPatient;
  }

  /** What the process ends with once the command has: `EXIT.no`, or a code of its own. */
  exit(code: number): void {
    this.#code = code;
  }

  /** Says that the command ends by itself in its own time when `signal` aborts; otherwise the process ends soon after. */
  endsByItself(): void {
    this.#isPatient = true;
  }
}

/** The terminal of this process. @param signal aborts with Ctrl-C. */
export function processTerminal(signal: AbortSignal): CommandTerminal {
  const { stdin, stdout, stderr, env } = process;
  return new CommandTerminal({
    out: writerTo(stdout),
    err: writerTo(stderr),
    stdin: () => text(stdin),
    ask: (question) => answerTo(question, signal),
    width: widthOf(stdout.isTTY ? stdout.columns : undefined, env["COLUMNS"]),
    colour: hasColour(stdout.isTTY, env),
    interactive: stderr.isTTY && stdin.isTTY,
    signal,
    env,
  });
}

/** Bytes for a pipe or a file are as they are; a terminal is given nothing to act on. */
function writerTo(stream: NodeJS.WriteStream): (piece: string) => void {
  return (piece) => void stream.write(stream.isTTY ? escapeForTerminal(piece) : piece);
}

/** A line from standard input; Ctrl-C stays with the process, since the terminal is left as it is. */
async function answerTo(question: string, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    return await lines.question(question, { signal });
  } finally {
    lines.close();
  }
}

/** Columns of a terminal; for what is none, those that the environment asks for, else no end. */
export function widthOf(columns: number | undefined, asked: string | undefined): number {
  const wanted = Number(asked);
  if (Number.isSafeInteger(wanted) && wanted > 0) return wanted;
  return columns !== undefined && columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

/** Only on a terminal, and never against NO_COLOR. @see https://no-color.org */
export function hasColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/**
 * Whether somebody agrees: `--yes`, or a person at the terminal, who is asked.
 * @param question a sentence that ends with a question mark.
 * @throws Error where nobody can be asked, saying how to go on.
 */
export async function confirm(
  terminal: Pick<Terminal, "interactive" | "ask">,
  question: string,
  isYes: boolean | undefined,
): Promise<boolean> {
  if (isYes) return true;
  if (!terminal.interactive)
    throw new Error("nothing was changed, since nobody can be asked here: give --yes to agree to what is shown above");
  return /^y(es)?$/i.test((await terminal.ask(`${question} [y/N] `)).trim());
}

/** Values of `--color`. */
export const COLOR_MODES = ["auto", "always", "never"] as const;
/** When a command prints colours: on a terminal, always or never. */
export type ColorMode = (typeof COLOR_MODES)[number];

/** Whether a command prints colours with a value of `--color`. */
export function hasColourIn({ colour }: Pick<Terminal, "colour">, mode: ColorMode): boolean {
  return mode === "always" || (mode === "auto" && colour);
}

/** Suggests what to do after a successful change, in one line. Only on a terminal: scripts do not need it. */
export function suggestNext({ interactive, err }: Pick<Terminal, "interactive" | "err">, text: string): void {
  if (interactive) err(`Next: ${text}\n`);
}
