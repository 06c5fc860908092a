import { CAUSE_LENGTH, truncate } from "./truncate.ts";

/**
 * Turns a clause into a sentence of at most `max` UTF-16 units and a full stop. Does not change the case of a field or name at its start. The
 * maximum is a member, so that `map` cannot pass an index as the maximum.
 */
export function toSentence(clause: string, { max = CAUSE_LENGTH }: { readonly max?: number } = {}): string {
  const text = truncate(clause, max).trim();
  if (text === "") return "";
  const start = /^[a-z]+[ ,:;]/.test(text) ? text.charAt(0).toUpperCase() : text.charAt(0);
  return `${start}${text.slice(1)}${/[.!?\u2026]$/.test(text) ? "" : "."}`;
}
