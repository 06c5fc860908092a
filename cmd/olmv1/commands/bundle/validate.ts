import { type Command, Option } from "commander";
import { SEVERITIES } from "../../../../pkg/bundlecheck/severity.ts";
import type { ValidateOptions } from "../../bundle/validate.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { BUNDLE_SOURCE } from "./source.ts";

const AFTER_HELP = `
Errors are what operator-controller or the API server refuses, warnings what is most likely a mistake, remarks what may be meant so. Every rule
with its code: docs/reference/bundle-rules.md.

Examples:
  olmv1 bundle validate ./bundle
  olmv1 bundle validate ./bundle quay.io/example/operator-bundle:v1.2.0 --fail-on warning -o json

Exit codes: 0 nothing was found that --fail-on names; 1 something was, or a bundle cannot be read.
`;

/** Adds `olmv1 bundle validate`. */
export function addValidate(bundle: Command, terminal: Terminal): void {
  const command = bundle.command("validate").description("check bundles").argument("<bundles...>", `each a ${BUNDLE_SOURCE}`);
  outputOption(command, ["text", "json", "yaml"])
    .addOption(new Option("--fail-on <severity>", "the least severity that makes it exit with 1").choices(SEVERITIES).default("error"))
    .addOption(new Option("--severity <severity>", "the least severity that is printed").choices(SEVERITIES).default("info"))
    .option("--ignore <rules>", "codes of rules that are not looked at, with commas between; not of errors", codes, []);
  addRegistryOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (sources: string[], options: ValidateOptions) => {
      const { validate } = await import("../../bundle/validate.ts");
      await validate(terminal, sources, options);
    });
}

/** May be given more than once. */
function codes(text: string, before: readonly string[]): string[] {
  return [...before, ...text.split(",").filter((code) => code !== "")];
}
