/** Creates a generator of numbers from 0 up to 1, reproducible by its seed. @see mulberry32 of Tommy Ettinger */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A generator of numbers from 0 up to 1. @see createRandom */
export type Random = () => number;

/** Returns an integer from 0 to `limit` - 1; 0 for a limit of 0. */
export function upTo(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

/** Returns one of the items. @throws RangeError if there are none. */
export function pick<T>(random: Random, items: readonly T[]): T {
  if (items.length === 0) throw new RangeError("no items to pick from");
  return items[upTo(random, items.length)] as T;
}

/** Returns the items in random order. */
export function shuffle<T>(random: Random, items: readonly T[]): T[] {
  const shuffled = [...items];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = upTo(random, i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
  }
  return shuffled;
}
