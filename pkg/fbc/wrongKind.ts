/** Returns the JSON type of a value with its article. */
export function describeKind(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "bigint" ? "a number" : `a ${typeof value}`;
}

/** Formats the error for a value of the wrong type. @param expected for example "a string". */
export function formatWrongKind(value: unknown, expected: string): string {
  return `expected ${expected}, got ${formatKind(value)}${expected === "a string" ? quoteHint(value) : ""}`;
}

/** Formats the JSON type of a value, with the value if it is short. */
export function formatKind(value: unknown): string {
  return isPlain(value) ? `${describeKind(value)}: ${value}` : describeKind(value);
}

/** Returns a hint for YAML text that was parsed as another type because it is not quoted. */
export function quoteHint(value: unknown): string {
  if (!isPlain(value)) return "";
  const reason = typeof value === "boolean" ? "yes, no, on and off are booleans" : "1.10 is the number 1.1, and 1.0 is 1";
  return `; put the value in quotes: without quotes, ${reason} in YAML`;
}

function isPlain(value: unknown): value is number | bigint | boolean {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}
