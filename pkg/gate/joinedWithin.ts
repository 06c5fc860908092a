/**
 * As many of `items` as fit in `bytes` of UTF-8, from the first on, joined; where some are left out, `more` of their number ends the list and
 * counts too. An item that does not fit ends the list even when a later one would.
 */
export function joinedWithin(items: readonly string[], separator: string, bytes: number, more: (leftOut: number) => string): string {
  const whole = items.join(separator);
  if (Buffer.byteLength(whole) <= bytes) return whole;
  let room = bytes - Buffer.byteLength(separator + more(items.length));
  const kept: string[] = [];
  for (const item of items) {
    room -= Buffer.byteLength(item + separator);
    if (room < 0) break;
    kept.push(item);
  }
  return [...kept, more(items.length - kept.length)].join(separator);
}
