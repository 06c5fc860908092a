import { type Command, InvalidArgumentError } from "commander";
import { outputOption } from "../cli/output.ts";
import { several } from "../cli/several.ts";

/** Adds the filters and the output of a search. */
export function addSearchOptions(command: Command): Command {
  command
    .option("--kind <kind>", "provides this API: Kind, Kind.group or group/version/Kind; repeatable", several, [])
    .option("--keyword <word>", "has this keyword; repeatable", several, [])
    .option("--capability <level>", "has this capability level, such as 'Deep Insights'")
    .option("--arch <name>", "runs on this machine architecture, such as arm64; repeatable", several, [])
    .option("--os <name>", "runs on this operating system; repeatable", several, [])
    .option("--feature <name>", "claims this infrastructure feature, such as disconnected; repeatable", several, [])
    .option("--channel <name>", "has a version in this channel; repeatable", several, [])
    .option("--installable", "only what you may install here, and what runs on this cluster")
    .option("--limit <number>", "most packages that are shown; 0 shows all", limitOf);
  return outputOption(command, ["text", "wide", "name", "json", "yaml"]);
}

function limitOf(value: string): number | undefined {
  const limit = Number(value);
  if (!Number.isSafeInteger(limit) || limit < 0) throw new InvalidArgumentError("It is a number from 0.");
  return limit === 0 ? undefined : limit;
}
