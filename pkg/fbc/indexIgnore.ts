import { ContentError } from "./types.ts";
import { Wildmatch } from "./wildmatch.ts";

/** The name of files that say which files of a catalog are not part of it. */
export const INDEX_IGNORE = ".indexignore";

/** The text of one `.indexignore`. `dir` is its folder below the catalog's root with slashes, "" for the root. */
export interface IgnoreFile {
  dir: string;
  text: string;
}

/** Limits of a catalog's `.indexignore` files together. */
export interface IgnoreLimits {
  patterns: number;
  /** Characters of one pattern. */
  patternLength: number;
  /** How often a character of a path is compared with one of a pattern. */
  comparisons: number;
}

/** Room for far more than anybody writes: the comparisons take some seconds. */
const IGNORE_LIMITS: IgnoreLimits = { patterns: 10_000, patternLength: 4_096, comparisons: 500_000_000 };

interface Rule {
  negative: boolean;
  /** Only a folder is meant, and with it what is below. */
  foldersOnly: boolean;
  /** The pattern is about one name at any depth, not about a path. */
  anyDepth: boolean;
  pattern: Wildmatch;
}

/**
 * Tells whether a file, by its path below the catalog's root with slashes, is ignored. Patterns are those of git's ignore files and count from
 * their file's folder; the last pattern that matches the file or a folder above it decides, those of deeper folders after those of outer ones.
 * Unlike git, and as in Go, a pattern with `!` takes back files below an ignored folder too.
 * @throws ContentError for a pattern beyond the limits, with its line; from the function given, when matching takes more comparisons than allowed.
 * @see https://git-scm.com/docs/gitignore
 * @see https://github.com/joelanford/ignore
 */
export function indexIgnore(files: readonly IgnoreFile[], limits: IgnoreLimits = IGNORE_LIMITS): (path: string) => boolean {
  const rules = new Map<string, Rule[]>();
  let patterns = 0;
  for (const file of files) {
    const ofFile = rulesOf(file, limits.patternLength);
    patterns += ofFile.length;
    if (patterns > limits.patterns) throw new Error(`the ${INDEX_IGNORE} files have more than ${limits.patterns} patterns; write fewer`);
    rules.set(file.dir, ofFile.toReversed());
  }
  let comparisons = 0;
  const count = (more: number): void => {
    comparisons += more;
    if (comparisons <= limits.comparisons) return;
    throw new Error(
      `matching files with the patterns of ${INDEX_IGNORE} takes more than ${limits.comparisons} comparisons; write fewer or shorter ones`,
    );
  };
  return (path) => {
    for (let dir = parentOf(path); ; dir = parentOf(dir)) {
      const below = dir === "" ? path : path.slice(dir.length + 1);
      const ofDir = rules.get(dir);
      const names = ofDir ? below.split("/") : [];
      const decisive = ofDir?.find((rule) => matches(rule, below, names, count));
      if (decisive) return !decisive.negative;
      if (dir === "") return false;
    }
  };
}

function rulesOf({ dir, text }: IgnoreFile, maxLength: number): Rule[] {
  const rules: Rule[] = [];
  for (const [i, line] of text
    .replace(/^\ufeff/, "")
    .split("\n")
    .entries()) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.length > maxLength) {
      const file = dir === "" ? INDEX_IGNORE : `${dir}/${INDEX_IGNORE}`;
      throw new ContentError({ file, line: i + 1 }, `a pattern of more than ${maxLength} characters`);
    }
    const rule = ruleOf(withoutTrailingSpaces(line.replace(/\r$/, "").replace(/\0.*$/s, "")));
    if (rule) rules.push(rule);
  }
  return rules;
}

function ruleOf(line: string): Rule | undefined {
  const negative = line.startsWith("!");
  const whole = negative ? line.slice(1) : line;
  const foldersOnly = whole.endsWith("/");
  const path = foldersOnly ? whole.slice(0, -1) : whole;
  if (path === "") return undefined;
  const anyDepth = !path.includes("/");
  return { negative, foldersOnly, anyDepth, pattern: new Wildmatch(path.startsWith("/") ? path.slice(1) : path) };
}

/** Spaces at the end mean nothing unless a backslash stands before them. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end--;
  if (end === line.length) return line;
  let backslashes = end;
  while (line[backslashes - 1] === "\\") backslashes--;
  return line.slice(0, (end - backslashes) % 2 === 0 ? end : end + 1);
}

/** Whether the rule is about the file at `path`, which consists of `names`, or about a folder above it. */
function matches({ pattern, foldersOnly, anyDepth }: Rule, path: string, names: readonly string[], count: (more: number) => void): boolean {
  count(pattern.cost(path.length));
  if (!anyDepth) return meansFile(pattern.reach(path), foldersOnly);
  const last = foldersOnly ? names.length - 1 : names.length;
  for (let i = 0; i < last; i++) if (pattern.reach(names[i] ?? "") === "itself") return true;
  return false;
}

function meansFile(reach: "above" | "itself" | "no", foldersOnly: boolean): boolean {
  return reach === "above" || (reach === "itself" && !foldersOnly);
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
