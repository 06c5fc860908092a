/** URLs of rules. One that ends with "*" stands for all URLs with this prefix. */
export class UrlSet {
  readonly #exact: ReadonlySet<string>;
  /** Prefixes that do not start with another one, sorted. */
  readonly #prefixes: readonly string[];

  constructor(urls: readonly string[]) {
    this.#exact = new Set(urls);
    this.#prefixes = listShortest(urls.filter((url) => url.endsWith("*")).map((url) => url.slice(0, -1)));
  }

  /** Reports whether a URL, or all URLs with this prefix if it ends with "*", are in the set. */
  has(url: string): boolean {
    return this.#exact.has(url) || hasPrefix(this.#prefixes, url);
  }
}

/** Returns the prefixes that do not start with another one, sorted. */
function listShortest(prefixes: readonly string[]): string[] {
  const shortest: string[] = [];
  for (const prefix of prefixes.toSorted()) {
    const last = shortest.at(-1);
    if (last === undefined || !prefix.startsWith(last)) shortest.push(prefix);
  }
  return shortest;
}

/** Reports whether `text` starts with one of the prefixes, which only the last one that is not after `text` can be. @param prefixes as `listShortest` returns them */
function hasPrefix(prefixes: readonly string[], text: string): boolean {
  let [from, to] = [0, prefixes.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((prefixes[middle] ?? "") <= text) from = middle + 1;
    else to = middle;
  }
  const last = prefixes[from - 1];
  return last !== undefined && text.startsWith(last);
}
