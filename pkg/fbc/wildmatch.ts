/** What a pattern matches: a parent folder of the path, the path itself, or neither. */
export type Reach = "above" | "itself" | "no";

/** Matches one character. */
type CharTest = (char: string) => boolean;

/** One step of a pattern. */
type Token =
  | { readonly kind: "one"; readonly takes: CharTest }
  /** Any number of characters of one path segment. */
  | { readonly kind: "star" }
  /** Any number of characters. */
  | { readonly kind: "stars" }
  /** The next step `folders` is optional. */
  | { readonly kind: "maybe" }
  /** Any number of characters, then a slash. */
  | { readonly kind: "folders" };

/**
 * A pattern of git's wildmatch for paths. `*`, `?` and `[…]` do not match a slash, `**` does if it is a whole segment, and a backslash escapes the
 * next character. Invalid patterns (`[a`, a backslash at the end) match nothing. `?` and `[…]` match a character like gitignore(5) and Go, not a byte
 * like git.
 *
 * Follows all possible matches in parallel, so that the cost is at most the length of the path times the length of the pattern.
 * @see https://github.com/git/git/blob/v2.47.0/wildmatch.c
 */
export class Wildmatch {
  /** Literal prefix of the path. */
  readonly #prefix: string;
  /** Steps after the prefix; undefined if the pattern is invalid. */
  readonly #tokens: readonly Token[] | undefined;

  constructor(pattern: string) {
    const special = pattern.search(/[*?[\\]/);
    this.#prefix = special < 0 ? pattern : pattern.slice(0, special);
    this.#tokens = parseTokens(Array.from(pattern.slice(this.#prefix.length)));
  }

  /** Returns the maximum number of steps of `reach` for a path with the given number of characters. */
  cost(characters: number): number {
    return 1 + (this.#tokens?.length ?? 0) * characters;
  }

  /** Reports whether the pattern matches a parent folder of `path`, or else `path` itself. */
  reach(path: string): Reach {
    if (!this.#tokens || !path.startsWith(this.#prefix)) return "no";
    if (this.#tokens.length > 0) return runTokens(this.#tokens, path.slice(this.#prefix.length));
    if (path.length === this.#prefix.length) return "itself";
    return path[this.#prefix.length] === "/" ? "above" : "no";
  }
}

/** Follows all paths through `tokens` in parallel. `states` contains the positions before the next character. */
function runTokens(tokens: readonly Token[], text: string): Reach {
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

/** A set of positions in a pattern. Adding a position also adds the positions that it reaches without a character. */
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

/** Parses the steps of a pattern; undefined if it is invalid. */
function parseTokens(chars: readonly string[]): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; ) {
    const char = chars[at];
    if (char === "*") at = addStars(chars, at, tokens);
    else if (char === "[") {
      const set = parseSet(chars, at + 1);
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

/** Adds the step for the asterisks at `from`. Returns the position after them. */
function addStars(chars: readonly string[], from: number, tokens: Token[]): number {
  let end = from;
  while (chars[end] === "*") end++;
  const slash = chars[end] === "/";
  const isWholeSegment =
    (from === 0 || chars[from - 1] === "/") && (end === chars.length || slash || (chars[end] === "\\" && chars[end + 1] === "/"));
  if (end - from === 1 || !isWholeSegment) tokens.push({ kind: "star" });
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

/** Parses the set after an opening bracket; undefined if it has no closing bracket or contains an unknown class. */
function parseSet(chars: readonly string[], from: number): { takes: CharTest; end: number } | undefined {
  const negated = chars[from] === "!" || chars[from] === "^";
  const tests: CharTest[] = [];
  /** The previous character, if it can begin a range. */
  let before: string | undefined;
  let at = negated ? from + 1 : from;
  do {
    let char = chars[at];
    const named = char === "[" && chars[at + 1] === ":" ? parseClassName(chars, at + 2) : undefined;
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
    tests.push(isRange ? (c) => getCode(c) >= getCode(low) && getCode(c) <= getCode(last) : (c) => c === last);
    before = isRange ? undefined : last;
    at++;
  } while (chars[at] !== "]");
  return { takes: (c) => tests.some((test) => test(c)) !== negated, end: at + 1 };
}

/** Parses the name of a class `[:name:]` at `from` and the position after it; undefined if it is not a class. */
function parseClassName(chars: readonly string[], from: number): { name: string; end: number } | undefined {
  const bracket = chars.indexOf("]", from);
  if (bracket <= from || chars[bracket - 1] !== ":") return undefined;
  return { name: chars.slice(from, bracket - 1).join(""), end: bracket + 1 };
}

function getCode(char: string): number {
  return char.codePointAt(0) ?? 0;
}
