import { SEVERITIES, type Severity } from "../../../pkg/authoring/bundlecheck/rule.ts";
import { type Output, outputOption } from "../cli/output.ts";
import { listed } from "../cli/several.ts";
import { type Command, Option } from "commander";

/** How a command that checks something tells what it found. */
export interface FindingOptions {
  output: Output;
  failOn: Severity;
  severity: Severity;
  ignore: string[];
}

/** Adds the options of `FindingOptions`. */
export function addFindingOptions(command: Command): Command {
  return outputOption(command, ["text", "json", "yaml", "sarif"])
    .addOption(new Option("--fail-on <severity>", "the least severity that makes it exit with 1").choices(SEVERITIES).default("error"))
    .addOption(new Option("--severity <severity>", "the least severity that is printed").choices(SEVERITIES).default("info"))
    .option("--ignore <rules>", "codes of rules that are not looked at, with commas between; not of errors", listed, []);
}
