const MAX_CHARACTERS = 200;

/** The beginning of `text`, for messages: what comes from a catalog may be of any length. */
export function excerpt(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS).toWellFormed()}…`;
}
