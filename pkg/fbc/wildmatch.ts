/** How far a pattern reaches: a folder above the path, the path itself, or neither. */
export type Reach = "above" | "itself" | "no";

/** Takes one character. */
type CharTest = (char: string) => boolean;

/** One step of a pattern. */
type Token =
  | { readonly kind: "one"; readonly takes: CharTest }
  /** Any number of characters of one path segment. */
  | { readonly kind: "star" }
  /** Any number of characters. */
  | { readonly kind: "stars" }
  /** Either nothing, and then `folders` behind it is skipped, or what `folders` takes. */
  | { readonly kind: "maybe" }
  /** Any number of characters, then a slash. */
  | { readonly kind: "folders" };

/**
 * One pattern of git's wildmatch for paths: `*`, `?` and `[…]` do not take a slash, `**` does where it fills a segment, a backslash makes the
 * next character plain. What is broken (`[a`, a backslash at the end) matches nothing. `?` and `[…]` take a character, as gitignore(5) and Go
 * have it, where git takes a byte.
 *
 * All ways to match are followed at once, so a path costs at most its length times that of the pattern.
 * @see https://github.com/git/git/blob/v2.47.0/wildmatch.c
 */
export class Wildmatch {
  /** What the path begins with, literally. */
  readonly #prefix: string;
  /** What follows; undefined when nothing can. */
  readonly #tokens: readonly Token[] | undefined;

  constructor(pattern: string) {
    const special = pattern.search(/[*?[\\]/);
    this.#prefix = special < 0 ? pattern : pattern.slice(0, special);
    this.#tokens = tokensOf(Array.from(pattern.slice(this.#prefix.length)));
  }

  /** How many steps `reach` takes at most for a path of so many characters. */
  cost(characters: number): number {
    return 1 + (this.#tokens?.length ?? 0) * characters;
  }

  /** Whether the pattern matches a folder above `path`, or else `path`. */
  reach(path: string): Reach {
    if (!this.#tokens || !path.startsWith(this.#prefix)) return "no";
    if (this.#tokens.length > 0) return reachOf(this.#tokens, path.slice(this.#prefix.length));
    if (path.length === this.#prefix.length) return "itself";
    return path[this.#prefix.length] === "/" ? "above" : "no";
  }
}

/** Runs all ways through `tokens` side by side: what is in `states` waits for the next character. */
function reachOf(tokens: readonly Token[], text: string): Reach {
  let states = new States(tokens);
  let next = new States(tokens);
  states.add(0);
  for (const char of text) {
    if (char === "/" && states.atEnd) return "above";
    next.clear();
    for (const state of states.list) step(tokens[state], state, char, next);
    [states, next] = [next, states];
    if (states.list.length === 0) return "no";
  }
  return states.atEnd ? "itself" : "no";
}

function step(token: Token | undefined, state: number, char: string, next: States): void {
  if (token?.kind === "one") {
    if (token.takes(char)) next.add(state + 1);
  } else if (token?.kind === "folders") {
    next.add(state);
    if (char === "/") next.add(state + 1);
  } else if (token?.kind === "stars" || (token?.kind === "star" && char !== "/")) next.add(state);
}

/** A set of places in a pattern; a place from where one can go on without a character brings those behind it along. */
class States {
  readonly list: number[] = [];
  readonly #tokens: readonly Token[];
  readonly #has: Uint8Array;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
    this.#has = new Uint8Array(tokens.length + 1);
  }

  get atEnd(): boolean {
    return this.#has[this.#tokens.length] === 1;
  }

  add(state: number): void {
    for (let at = state; this.#has[at] === 0; ) {
      this.#has[at] = 1;
      this.list.push(at);
      const kind = this.#tokens[at]?.kind;
      if (kind === "maybe") this.add(at + 2);
      if (kind !== "star" && kind !== "stars" && kind !== "maybe") return;
      at++;
    }
  }

  clear(): void {
    for (const state of this.list) this.#has[state] = 0;
    this.list.length = 0;
  }
}

/** The steps of a pattern; undefined when it is broken. */
function tokensOf(chars: readonly string[]): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; ) {
    const char = chars[at];
    if (char === "*") at = addStars(chars, at, tokens);
    else if (char === "[") {
      const set = classAt(chars, at + 1);
      if (!set) return undefined;
      tokens.push({ kind: "one", takes: (c) => c !== "/" && set.takes(c) });
      at = set.end;
    } else {
      const literal = char === "\\" ? chars[++at] : char;
      if (literal === undefined) return undefined;
      tokens.push({ kind: "one", takes: char === "?" ? (c) => c !== "/" : (c) => c === literal });
      at++;
    }
  }
  return tokens;
}

/** Adds the step of the asterisks at `from`; returns where the pattern goes on. */
function addStars(chars: readonly string[], from: number, tokens: Token[]): number {
  let end = from;
  while (chars[end] === "*") end++;
  const slash = chars[end] === "/";
  const fills =
    (from === 0 || chars[from - 1] === "/") && (end === chars.length || slash || (chars[end] === "\\" && chars[end + 1] === "/"));
  if (end - from === 1 || !fills) tokens.push({ kind: "star" });
  else if (slash) {
    tokens.push({ kind: "maybe" }, { kind: "folders" });
    return end + 1;
  } else tokens.push({ kind: "stars" });
  return end;
}

const POSIX_CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /^[A-Za-z0-9]$/,
  alpha: /^[A-Za-z]$/,
  blank: /^[ \t]$/,
  cntrl: /^[\0-\x1f\x7f]$/, // oxlint-disable-line no-control-regex
  digit: /^[0-9]$/,
  graph: /^[!-~]$/,
  lower: /^[a-z]$/,
  print: /^[ -~]$/,
  punct: /^[!-/:-@[-`{-~]$/,
  space: /^[ \t\n\r]$/,
  upper: /^[A-Z]$/,
  xdigit: /^[0-9A-Fa-f]$/,
};

/** The set whose characters begin at `from`, behind the bracket; undefined when it does not end or names an unknown class. */
function classAt(chars: readonly string[], from: number): { takes: CharTest; end: number } | undefined {
  const negated = chars[from] === "!" || chars[from] === "^";
  const tests: CharTest[] = [];
  /** The character before, when a range may begin with it. */
  let before: string | undefined;
  let at = negated ? from + 1 : from;
  do {
    let char = chars[at];
    const named = char === "[" && chars[at + 1] === ":" ? classNameAt(chars, at + 2) : undefined;
    if (named) {
      const pattern = Object.hasOwn(POSIX_CLASSES, named.name) ? POSIX_CLASSES[named.name] : undefined;
      if (!pattern) return undefined;
      tests.push((c) => pattern.test(c));
      before = undefined;
      at = named.end;
      continue;
    }
    const low = before;
    const isRange = char === "-" && low !== undefined && chars[at + 1] !== undefined && chars[at + 1] !== "]";
    if (isRange) char = chars[++at];
    if (char === "\\") char = chars[++at];
    if (char === undefined) return undefined;
    const last = char;
    tests.push(isRange ? (c) => codeOf(c) >= codeOf(low) && codeOf(c) <= codeOf(last) : (c) => c === last);
    before = isRange ? undefined : last;
    at++;
  } while (chars[at] !== "]");
  return { takes: (c) => tests.some((test) => test(c)) !== negated, end: at + 1 };
}

/** The name of the class `[:name:]` that begins at `from`, and where the set goes on; undefined when it is no such class. */
function classNameAt(chars: readonly string[], from: number): { name: string; end: number } | undefined {
  const bracket = chars.indexOf("]", from);
  if (bracket <= from || chars[bracket - 1] !== ":") return undefined;
  return { name: chars.slice(from, bracket - 1).join(""), end: bracket + 1 };
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
