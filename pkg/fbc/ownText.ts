/** A copy of `text` that shares no memory: a piece of a parsed document would keep the whole document's text alive. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}
