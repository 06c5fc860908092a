import { Help, Option } from "commander";

/** What help says of an option: nothing of a list that is empty unless it is given, nor of a default that the description tells itself. */
export function optionDescription(option: Option): string {
  const { defaultValue } = option as { defaultValue?: unknown };
  const isEmptyList = Array.isArray(defaultValue) && defaultValue.length === 0;
  const isTold = option.description.includes("(default: ") || option.description.includes("; default: ");
  const shown = isEmptyList || isTold ? Object.assign(new Option(option.flags), option, { defaultValue: undefined }) : option;
  return new Help().optionDescription(shown);
}
