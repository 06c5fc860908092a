/** Matches words that a POSIX shell does not change. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** Quotes a word for a POSIX shell, if necessary. */
export function quoteShellWord(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
