import { Help, Option } from "commander";

/** What help says of an option: a list that is empty unless it is given is no default worth a word. */
export function optionDescription(option: Option): string {
  const { defaultValue } = option as { defaultValue?: unknown };
  const isEmptyList = Array.isArray(defaultValue) && defaultValue.length === 0;
  const shown = isEmptyList ? Object.assign(new Option(option.flags), option, { defaultValue: undefined }) : option;
  return new Help().optionDescription(shown);
}
