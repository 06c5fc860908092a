import type { Terminal } from "./terminal.ts";

/**
 * Whether somebody agrees: `--yes`, or a person at the terminal, who is asked.
 * @param question a sentence that ends with a question mark.
 * @throws Error where nobody can be asked, saying how to go on.
 */
export async function agreed(
  terminal: Pick<Terminal, "interactive" | "ask">,
  question: string,
  isYes: boolean | undefined,
): Promise<boolean> {
  if (isYes) return true;
  if (!terminal.interactive)
    throw new Error("nothing was changed, since nobody can be asked here: give --yes to agree to what is shown above");
  return /^y(es)?$/i.test((await terminal.ask(`${question} [y/N] `)).trim());
}
