/** One authentication challenge of a WWW-Authenticate header. */
export interface Challenge {
  /** auth-scheme in lower case */
  readonly scheme: string;
  /** auth-params, names in lower case; a repeated name keeps its last value */
  readonly params: ReadonlyMap<string, string>;
}

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/y;
const SPACE = /[ \t]*/y;
const SEPARATORS = /[ \t,]*/y;

/**
 * The challenges of a response in the order the server gave them; several may stand in one header line.
 * Reading stops at the first malformed part of a line; what was read before it counts.
 * @param header the header's values, one per line
 * @see RFC 7235 §2.1 and §4.1
 */
export function parseChallenges(header: string | readonly string[] | undefined): Challenge[] {
  const lines = header === undefined ? [] : typeof header === "string" ? [header] : header;
  return lines.flatMap(challengesOf);
}

function challengesOf(line: string): Challenge[] {
  const found: { scheme: string; params: Map<string, string> }[] = [];
  let at = 0;
  /** The text `pattern` matches here, first group if it has one; moves on behind it. */
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(line);
    if (!match) return undefined;
    at += match[0].length;
    return match[1] ?? match[0];
  };
  /** The value after "name =": a token or a quoted string; undefined when there is none. */
  const takeValue = (): string | undefined => take(TOKEN) ?? take(QUOTED)?.replaceAll(/\\(.)/g, "$1");

  while (true) {
    take(SEPARATORS);
    const name = take(TOKEN);
    if (name === undefined) return found;
    const behindName = at;
    take(SPACE);
    const current = found.at(-1);
    if (current && line[at] === "=") {
      at++;
      take(SPACE);
      const value = takeValue();
      if (value === undefined) return found;
      current.params.set(name.toLowerCase(), value);
      continue;
    }
    found.push({ scheme: name.toLowerCase(), params: new Map() });
    // A token68 (as in "Negotiate YWJj=") stands behind the scheme's space and before the next comma; it says nothing to us.
    if (at > behindName) take(TOKEN68);
  }
}
