/** Takes an option that may be given more than once. */
export function several(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** The same, each time with several texts that have commas between them. */
export function listed(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(",").filter((one) => one !== "")];
}
