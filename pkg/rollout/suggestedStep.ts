import type { SuggestedStep } from "../consoleapi/suggestedStep.ts";
import { toSentence } from "../text/sentence.ts";

/** A command, and the clause before it. A clause ends with a colon. */
const COMMAND = /^(?:(.*?): )?((?:olmv1|kubectl) .*)$/s;
/** A command, and the comment after it. */
const COMMENT = /^(.*?) {2,}# (.*)$/s;

/**
 * Divides a next step into sentence and command. Next steps in `status.problems`, and those of the command line, are a command of olmv1 or kubectl, a
 * clause, or a clause with a command after a colon. A comment can follow a command.
 */
export function parseSuggestedStep(step: string): SuggestedStep {
  const [, clause, commented = ""] = COMMAND.exec(step) ?? [];
  if (commented === "") return { text: toSentence(step) };
  const [, command = commented, note] = COMMENT.exec(commented) ?? [];
  return {
    ...(clause === undefined ? {} : { text: toSentence(clause) }),
    command,
    ...(note === undefined ? {} : { note }),
  };
}

/** Divides next steps into sentences and commands. Repeats no command: the first step with it is kept. */
export function parseSuggestedSteps(steps: readonly string[]): SuggestedStep[] {
  const parsed = Map.groupBy(steps.map(parseSuggestedStep), ({ command, text }) => command ?? text);
  return [...parsed.values()].flatMap(([first]) => first ?? []);
}
