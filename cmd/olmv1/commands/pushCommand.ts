import type { Command } from "commander";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { PushOptions } from "../images/push.ts";
import type { Expected } from "../images/pushInto.ts";
import { addPushOptions } from "../registryOptions.ts";
import { PLACE } from "./buildOptions.ts";

/** Declares a command that pushes images of one kind. @param examples two lines or more */
export function addPushCommand(parent: Command, terminal: Terminal, expected: Expected, examples: string): void {
  const command = parent
    .command("push")
    .description(`copy the image of a ${expected.what} to a registry or a layout`)
    .argument("<source>", PLACE)
    .argument("<destination>", "where it goes, in the same form")
    .option("--force", `push it though it has no label of a ${expected.what}`);
  addPushOptions(outputOption(command, ["text", "json", "yaml", "name"]))
    .addHelpText(
      "after",
      `\nThe digest stays; of an image for several platforms all are copied. What is there already is not sent again.\n\nExamples:\n${examples}`,
    )
    .action(async (source: string, destination: string, options: PushOptions) => {
      const { push } = await import("../images/push.ts");
      await push(terminal, source, destination, expected, options);
    });
}
