/** Maximum number of lines that a page keeps. */
export const MAX_LINES = 10_000;

/** What a page keeps of a log. */
export interface LogLines {
  readonly lines: readonly string[];
  /** Number of older lines that were dropped. */
  readonly dropped: number;
}

/** Keeps the last lines of a log, limited by number and size. A last line without line end is kept as a line, and continued. */
export class LogBuffer {
  #lines: string[] = [];
  #size = 0;
  #dropped = 0;
  /** Whether the last line has no line end yet. */
  #isOpen = false;
  readonly #maxLines: number;
  readonly #maxSize: number;

  /** @param maxSize characters of all lines */
  constructor(maxLines: number, maxSize: number) {
    this.#maxLines = maxLines;
    this.#maxSize = maxSize;
  }

  /** Adds text that may contain several lines. */
  append(text: string): void {
    if (text === "") return;
    const [first = "", ...more] = text.split("\n");
    if (this.#isOpen) {
      const last = (this.#lines.pop() ?? "") + first;
      this.#push(last, first.length);
    } else this.#push(first, first.length);
    for (const line of more) this.#push(line, line.length);
    // The text after the last line end is not a line yet.
    this.#isOpen = this.#lines.at(-1) !== "";
    if (!this.#isOpen) this.#lines.pop();
    this.#drop();
  }

  /** Returns the lines. The next change does not change them. */
  read(): LogLines {
    return { lines: [...this.#lines], dropped: this.#dropped };
  }

  #push(line: string, added: number): void {
    this.#lines.push(line);
    this.#size += added;
  }

  #drop(): void {
    let count = Math.max(0, this.#lines.length - this.#maxLines);
    let size = this.#size;
    for (let i = 0; i < count; i++) size -= this.#lines[i]?.length ?? 0;
    while (size > this.#maxSize && count < this.#lines.length - 1) size -= this.#lines[count++]?.length ?? 0;
    this.#lines = count === 0 ? this.#lines : this.#lines.slice(count);
    this.#size = size;
    this.#dropped += count;
    const [only] = this.#lines;
    if (this.#lines.length > 1 || only === undefined || only.length <= this.#maxSize) return;
    this.#lines = [only.slice(-this.#maxSize)];
    this.#size = this.#maxSize;
  }
}

/** Returns the indexes of the lines that contain a text, without regard to case. */
export function findMatches(lines: readonly string[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (wanted === "") return [];
  return lines.flatMap((line, i) => (line.toLowerCase().includes(wanted) ? [i] : []));
}

/** Splits a line at the occurrences of a text: every second part, from the second, is an occurrence. */
export function splitMatches(line: string, text: string): string[] {
  const wanted = text.toLowerCase();
  const lower = line.toLowerCase();
  // Lower case changes the length of few characters; then positions would be wrong.
  if (wanted === "" || lower.length !== line.length) return [line];
  const parts: string[] = [];
  let start = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, start)) {
    parts.push(line.slice(start, at), line.slice(at, at + wanted.length));
    start = at + wanted.length;
  }
  return [...parts, line.slice(start)];
}
