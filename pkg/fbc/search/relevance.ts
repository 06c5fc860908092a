/** What a package says of itself, as far as a search for words looks at it. */
export interface SearchedTexts {
  readonly name: string;
  readonly displayNames: readonly string[];
  readonly keywords: readonly string[];
  /** Kinds that it provides. */
  readonly kinds: readonly string[];
  readonly providers: readonly string[];
  readonly descriptions: readonly string[];
}

/** What a word is worth where it is found: as the whole, as a word of it, as a piece of a word. */
const WORTH = {
  name: [100, 60, 40],
  displayNames: [70, 45, 30],
  kinds: [50, 50, 20],
  keywords: [40, 35, 15],
  providers: [15, 12, 6],
  descriptions: [10, 10, 4],
} as const satisfies Record<keyof SearchedTexts, readonly [number, number, number]>;

/**
 * How well a package answers a search for words: higher is better. Letters match whatever their case.
 * @returns undefined where one of the words stands nowhere; 0 for no words.
 */
export function relevance(texts: SearchedTexts, words: readonly string[]): number | undefined {
  let sum = 0;
  for (const word of new Set(words.map((one) => one.toLowerCase()))) {
    const worth =
      worthIn([texts.name], word, WORTH.name) +
      worthIn(texts.displayNames, word, WORTH.displayNames) +
      worthIn(texts.kinds, word, WORTH.kinds) +
      worthIn(texts.keywords, word, WORTH.keywords) +
      worthIn(texts.providers, word, WORTH.providers) +
      worthIn(texts.descriptions, word, WORTH.descriptions);
    if (worth === 0) return undefined;
    sum += worth;
  }
  return sum;
}

/** What the best of the texts is worth for a word. @param word in small letters. */
function worthIn(texts: readonly string[], word: string, [whole, asWord, asPiece]: readonly [number, number, number]): number {
  let best = 0;
  for (const text of texts) {
    const small = text.toLowerCase();
    if (small === word) return whole;
    if (!small.includes(word)) continue;
    best = Math.max(best, small.split(/[^\p{L}\p{N}]+/u).includes(word) ? asWord : asPiece);
  }
  return best;
}
