import { messageOf } from "../../../pkg/errors/errors.ts";
import { printable } from "../../../pkg/errors/printable.ts";
import { toYaml } from "../../../pkg/fbc/yaml.ts";
import { type AnswerFormat, EXIT } from "./options.ts";

/** What a command found out: as data, as text, and whether it is what one hopes for. */
export interface Answer {
  readonly data: unknown;
  readonly text: string;
  readonly isYes: boolean;
}

/** Prints an answer and sets the exit code; an error is told in one line. */
export async function printAnswer(find: () => Promise<Answer>, format: AnswerFormat): Promise<void> {
  try {
    const { data, text, isYes } = await find();
    process.stdout.write(format === "text" ? text : format === "yaml" ? toYaml(data) : `${JSON.stringify(data, null, 2)}\n`);
    process.exitCode = isYes ? EXIT.yes : EXIT.no;
  } catch (err) {
    process.stderr.write(`olmv1: ${printable(messageOf(err))}\n`);
    process.exitCode = EXIT.error;
  }
}
