import { ContentError } from "./types.ts";
import { Wildmatch } from "./wildmatch.ts";

/** Name of the files that exclude other files from a catalog. */
export const INDEX_IGNORE = ".indexignore";

/** An `.indexignore` file. `dir` is its folder relative to the root of the catalog, with slashes; "" for the root. */
export interface IgnoreFile {
  dir: string;
  text: string;
}

/** Limits for all `.indexignore` files of a catalog together. */
export interface IgnoreLimits {
  patterns: number;
  /** Maximum characters of a pattern. */
  patternLength: number;
  /** Maximum comparisons of a path character with a pattern character. */
  comparisons: number;
}

/** Far above realistic use. The maximum comparisons take a few seconds. */
const IGNORE_LIMITS: IgnoreLimits = { patterns: 10_000, patternLength: 4_096, comparisons: 500_000_000 };

interface IgnorePattern {
  negative: boolean;
  /** Matches only folders and their content. */
  foldersOnly: boolean;
  /** Matches a name at any depth instead of a path. */
  anyDepth: boolean;
  pattern: Wildmatch;
}

/**
 * Returns a function that reports whether a file is ignored, by its path relative to the root of the catalog. Patterns have the syntax of gitignore
 * and are relative to the folder of their file. The last pattern that matches the file or a parent folder decides; patterns in inner folders take
 * precedence. A pattern with `!` also includes files in an ignored folder, like in Go and unlike in git.
 * @throws ContentError with the line of a pattern that exceeds the limits. The returned function throws if matching takes too many comparisons.
 * @see https://git-scm.com/docs/gitignore
 * @see https://github.com/joelanford/ignore
 */
export function compileIndexIgnore(files: readonly IgnoreFile[], limits: IgnoreLimits = IGNORE_LIMITS): (path: string) => boolean {
  const rules = new Map<string, IgnorePattern[]>();
  let patterns = 0;
  for (const file of files) {
    const ofFile = parseRules(file, limits.patternLength);
    patterns += ofFile.length;
    if (patterns > limits.patterns) throw new Error(`the ${INDEX_IGNORE} files exceed the limit of ${limits.patterns} patterns`);
    rules.set(file.dir, ofFile.toReversed());
  }
  let comparisons = 0;
  const count = (more: number): void => {
    comparisons += more;
    if (comparisons <= limits.comparisons) return;
    throw new Error(
      `matching files with the ${INDEX_IGNORE} patterns takes more than ${limits.comparisons} comparisons: use fewer or shorter patterns`,
    );
  };
  return (path) => {
    for (let dir = getParent(path); ; dir = getParent(dir)) {
      const below = dir === "" ? path : path.slice(dir.length + 1);
      const ofDir = rules.get(dir);
      const names = ofDir ? below.split("/") : [];
      const decisive = ofDir?.find((rule) => matches(rule, below, names, count));
      if (decisive) return !decisive.negative;
      if (dir === "") return false;
    }
  };
}

function parseRules({ dir, text }: IgnoreFile, maxLength: number): IgnorePattern[] {
  const rules: IgnorePattern[] = [];
  for (const [i, line] of text
    .replace(/^\ufeff/, "")
    .split("\n")
    .entries()) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.length > maxLength) {
      const file = dir === "" ? INDEX_IGNORE : `${dir}/${INDEX_IGNORE}`;
      throw new ContentError({ file, line: i + 1 }, `pattern too long: more than ${maxLength} characters`);
    }
    const rule = parseRule(trimTrailingSpaces(line.replace(/\r$/, "").replace(/\0.*$/s, "")));
    if (rule) rules.push(rule);
  }
  return rules;
}

function parseRule(line: string): IgnorePattern | undefined {
  const negative = line.startsWith("!");
  const whole = negative ? line.slice(1) : line;
  const foldersOnly = whole.endsWith("/");
  const path = foldersOnly ? whole.slice(0, -1) : whole;
  if (path === "") return undefined;
  const anyDepth = !path.includes("/");
  return { negative, foldersOnly, anyDepth, pattern: new Wildmatch(path.startsWith("/") ? path.slice(1) : path) };
}

/** Removes trailing spaces, except a space after a backslash. */
function trimTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end--;
  if (end === line.length) return line;
  let backslashes = end;
  while (line[backslashes - 1] === "\\") backslashes--;
  return line.slice(0, (end - backslashes) % 2 === 0 ? end : end + 1);
}

/** Reports whether a rule matches the file at `path` or a parent folder. @param names the segments of `path`. */
function matches(
  { pattern, foldersOnly, anyDepth }: IgnorePattern,
  path: string,
  names: readonly string[],
  count: (more: number) => void,
): boolean {
  count(pattern.cost(path.length));
  if (!anyDepth) return includesFile(pattern.reach(path), foldersOnly);
  const last = foldersOnly ? names.length - 1 : names.length;
  for (let i = 0; i < last; i++) if (pattern.reach(names[i] ?? "") === "itself") return true;
  return false;
}

function includesFile(reach: "above" | "itself" | "no", foldersOnly: boolean): boolean {
  return reach === "above" || (reach === "itself" && !foldersOnly);
}

function getParent(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
