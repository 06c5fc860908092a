import { InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../../duration.ts";

/**
 * Returns the milliseconds of a duration such as 30s, 5m or 1h30m.
 * @throws InvalidArgumentError for a bare number, with an example, and for any other text that is not a duration.
 */
export function durationOf(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError(`It has no unit: write ${text}s for seconds or ${text}m for minutes.`);
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("It must be a duration such as 30s, 5m or 1h30m.");
  return ms;
}

/** Returns an option whose value is a duration in milliseconds. @param byDefault such as `5m`; without it the option has no default. */
export function durationOption(flag: `--${string}`, description: string, byDefault?: string): Option {
  const option = new Option(`${flag} <duration>`, `${description}, such as 30s, 5m or 1h30m`).argParser(durationOf);
  return byDefault === undefined ? option : option.default(durationOf(byDefault), byDefault);
}
