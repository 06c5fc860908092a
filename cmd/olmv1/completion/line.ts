/** A line of a shell up to the cursor, as words without their quotes; the last is the one that is being typed, empty after a blank. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word = "";
  let isInWord = false;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (quote === "'") {
      if (char === quote) quote = "";
      else word += char;
    } else if (char === "\\" && at + 1 < line.length) {
      word += line.charAt(++at);
      isInWord = true;
    } else if (char === quote) quote = "";
    else if (quote === "" && (char === '"' || char === "'")) {
      quote = char;
      isInWord = true;
    } else if (quote === "" && /\s/.test(char)) {
      if (isInWord) words.push(word);
      word = "";
      isInWord = false;
    } else {
      word += char;
      isInWord = true;
    }
  }
  return [...words, word];
}

/** How much of a word bash leaves as it is: all up to the last character at which it breaks words. */
export function keptByBash(word: string, breaks: string): number {
  const at = Array.from(breaks)
    .filter((char) => !/\s/.test(char))
    .map((char) => word.lastIndexOf(char));
  return Math.max(-1, ...at) + 1;
}
