/** Part of ECMAScript 2026, which the compiler's library does not know yet. */
interface RawJson {
  readonly rawJSON: (text: string) => unknown;
}

/** JSON, with `indent` blanks a level; integers that came as bigint keep their digits. Undefined is null. */
export function jsonText(data: unknown, indent = 2): string {
  const { rawJSON } = JSON as unknown as RawJson;
  return JSON.stringify(data ?? null, (_, value: unknown) => (typeof value === "bigint" ? rawJSON(String(value)) : value), indent);
}
