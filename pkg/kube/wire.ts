/** Part of the language since ES2026 and of every Node this project runs on; TypeScript's library does not list it yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON: (text: string) => unknown };

/** JSON for the API server; a bigint (an integer beyond 2^53 of a manifest) is written as the number it is. */
export function wireJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === "bigint" ? rawJSON(member.toString()) : member));
}
