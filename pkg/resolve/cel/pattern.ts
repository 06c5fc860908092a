const MAX_PATTERN = 256;
const MAX_EXPANDED = 2_000;
/** What a class of Unicode, such as `\pL`, counts for: hundreds of ranges. */
const CLASS_SIZE = 50;

/**
 * About how many instructions a regular expression (RE2) has, never less: repetitions are written out, and counts inside counts multiply.
 * Matching takes at most that many steps for each character.
 * @throws Error when there are more than 2,000, or the expression is longer than 256 characters.
 */
export function patternSize(pattern: string): number {
  if (pattern.length > MAX_PATTERN) throw new Error(`the regular expression has more than ${MAX_PATTERN} characters`);
  let size = pattern.length;
  for (const [, least = "", most = ""] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) size *= Math.max(1, Number(least), Number(most));
  size *= /\\[pP]/.test(pattern) ? CLASS_SIZE : 1;
  if (size > MAX_EXPANDED) throw new Error("the regular expression repeats too much");
  return size;
}
