/** Longest name that is told whole: no object's name is longer. */
export const NAME_LENGTH = 253;
/** Longest cause that is told whole. */
export const CAUSE_LENGTH = 1_024;

/** `text` in at most `length` UTF-16 units; three dots follow where it was cut. Content of bundles and answers of servers have any length. */
export function clipped(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}...`;
}
