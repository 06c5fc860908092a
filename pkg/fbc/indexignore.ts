import ignore from "ignore";

/** The name of files that say which files of a catalog are not part of it. */
export const INDEX_IGNORE = ".indexignore";

/** The text of one `.indexignore`. `dir` is its folder below the catalog's root with slashes, "" for the root. */
export interface IgnoreFile {
  dir: string;
  text: string;
}

interface Rule {
  dir: string;
  negative: boolean;
  matches(path: string): boolean;
}

/**
 * Tells whether a file, by its path below the catalog's root with slashes, is ignored. Patterns have gitignore's syntax and count from their
 * file's folder; the last pattern that matches decides, those of deeper folders after those of outer ones. Unlike git, a pattern with `!`
 * takes back files below an ignored folder too.
 * @see https://github.com/joelanford/ignore
 */
export function indexIgnore(files: readonly IgnoreFile[]): (path: string) => boolean {
  const rules = files
    .toSorted((a, b) => depth(a.dir) - depth(b.dir))
    .flatMap(rulesOf)
    .toReversed();
  return (path) => {
    const decisive = rules.find((rule) => within(path, rule.dir) && rule.matches(rule.dir === "" ? path : path.slice(rule.dir.length + 1)));
    return decisive !== undefined && !decisive.negative;
  };
}

function rulesOf({ dir, text }: IgnoreFile): Rule[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const negative = line.startsWith("!");
      const matcher = ignore({ ignorecase: false }).add({ pattern: negative ? line.slice(1) : line });
      return { dir, negative, matches: (path) => path !== "" && matcher.ignores(path) };
    });
}

function within(path: string, dir: string): boolean {
  return dir === "" || path.startsWith(`${dir}/`);
}

function depth(dir: string): number {
  return dir === "" ? 0 : dir.split("/").length;
}
