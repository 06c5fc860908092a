import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, "../..");

/** A fenced block, without its fence and indentation. */
export interface Fence {
  /** The language after the opening fence; "" if there is none. */
  readonly language: string;
  readonly text: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
}

/** A parsed Markdown page. */
export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly fences: readonly Fence[];
  /** Code between single backticks outside of fences, in order. */
  readonly code: readonly string[];
  /** Everything outside of fences. */
  readonly prose: string;
  /** Link targets, as written. */
  readonly links: readonly string[];
  /** Anchors of its headings, as in links after `#`. */
  readonly anchors: ReadonlySet<string>;
}

/** Returns every page for readers, including generated ones, in alphabetical order. */
export function pages(): Page[] {
  const inDocs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).map((name) => join("docs", name));
  const found = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "test/e2e/README.md", ...inDocs.filter((name) => name.endsWith(".md"))];
  return found.toSorted().map((path) => pageFrom(path, readFileSync(join(ROOT, path), "utf8")));
}

/** Parses a page. */
export function pageFrom(path: string, text: string): Page {
  const fences: { language: string; line: number; lines: string[] }[] = [];
  const outside: string[] = [];
  let open: { indent: number; fence: (typeof fences)[number] } | undefined;
  for (const [i, line] of text.split("\n").entries()) {
    const [, indent = "", language] = /^( *)```(\S*)/.exec(line) ?? [];
    if (open && language === "") open = undefined;
    else if (open) open.fence.lines.push(line.slice(Math.min(open.indent, line.search(/\S|$/))));
    else if (language === undefined) outside.push(line);
    else {
      open = { indent: indent.length, fence: { language, line: i + 1, lines: [] } };
      fences.push(open.fence);
    }
  }
  const prose = outside.join("\n");
  return {
    path,
    fences: fences.map(({ lines, ...fence }) => ({ ...fence, text: lines.join("\n") })),
    code: [...prose.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code),
    prose,
    links: [...prose.replaceAll(/`[^`]*`/g, "").matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target),
    anchors: listAnchors(outside),
  };
}

/** Returns anchors as GitHub creates them: a repeated heading gets a number. */
function listAnchors(lines: readonly string[]): Set<string> {
  const anchors = new Set<string>();
  for (const line of lines) {
    const [, title] = /^#{1,6} (.+)$/.exec(line) ?? [];
    if (title === undefined) continue;
    const plain = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const base = plain.replaceAll(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-");
    let anchor = base;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}
