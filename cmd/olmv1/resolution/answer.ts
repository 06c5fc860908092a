import { EXIT } from "../cli/exitCodes.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";

/** What a command found out: as data, as text, and whether it is what one hopes for. */
export interface Answer {
  readonly data: unknown;
  readonly text: string;
  readonly isYes: boolean;
}

/** Prints an answer and says by the exit code which it is. */
export async function printAnswer(terminal: Terminal, find: () => Promise<Answer>, output: Output): Promise<void> {
  const { data, text, isYes } = await find();
  await print(terminal, output, { data, text: () => text });
  if (!isYes) terminal.exit(EXIT.no);
}
