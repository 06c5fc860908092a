import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pages, ROOT } from "./page.ts";

/** The page with all requirements. */
export const REQUIREMENTS = "docs/requirements.md";

/** A line of a file that may contain citations. */
export interface Line {
  /** Relative to the root of the repository. */
  readonly path: string;
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

const ID = /\b(?:S\d-Y?\d+|[CDFGHIOX]-\d{2})\b/g;
const SOURCE_FILE = /\.(?:ts|yaml|md|css|js)$/;
/** Matches a version, including a Go release for the standard library, or a commit. */
const PINNED = /\bv?\d+\.\d+|\b(?=\w*\d)[0-9a-f]{8,40}\b/;
const GO_FILE = /(?:^|[\s/"(])[\w/.-]*\w\.go\b/;
/** Matches a section of a document that is not in the repository. */
const PRIVATE_SECTION = /\.md,? (?:§|no\. |appendix |[A-Z]?\d)|\barchitecture \d|\bappendix [A-Z]\b|\buser demands? [A-Z]\d/;
/** Documents of other projects, which texts cite together with a repository. */
const FOREIGN_DOCUMENTS = new Set(["SIGNATURE_SPEC.md", "BUNDLE_SPEC.md", "langdef.md"]);

/** Returns the ids in a text, in order. */
export function idsIn(text: string): string[] {
  return text.match(ID) ?? [];
}

/** A row of a table of requirements. */
export interface Row {
  /** Title of the section with the table. */
  readonly section: string;
  /** Usually one id; a decision may concern several requirements. */
  readonly ids: readonly string[];
  /** The cell with the source; "" if the table has no such column. */
  readonly source: string;
}

/** Returns the table rows of the page whose first cell contains an id. */
export function readRows(page: string): Row[] {
  return page.split(/^## /m).flatMap((section) => {
    const [title = "", ...lines] = section.split("\n");
    const rows = lines.map((line) => line.split("|").map((cell) => cell.trim()));
    return rows.flatMap(([, first = "", , source = ""]) => {
      const ids = idsIn(first);
      return ids.length === 0 ? [] : [{ section: title, ids, source }];
    });
  });
}

/** Returns every line of the sources, tests, cases and pages. */
export function sourceLines(): Line[] {
  const folders = ["cmd", "pkg", "test", "docs"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const paths = [...folders, ...readdirSync(ROOT).filter((name) => name.endsWith(".md"))].filter((path) => SOURCE_FILE.test(path));
  return paths.flatMap((path) =>
    readFileSync(join(ROOT, path), "utf8")
      .split("\n")
      .map((text, i) => ({ path, number: i + 1, text })),
  );
}

/** Reports whether the line is in a test or a case. */
export function isTest({ path }: Line): boolean {
  return path.startsWith("test/") || path.endsWith(".test.ts");
}

/** Reports whether the line is a comment, or contains the source of a case. */
function isCitation({ path, text }: Line): boolean {
  return path.endsWith(".md") || /^\s*(?:\/\/|\/?\*|#)|(?:^|\s)(?:\/\/|\/\*\*) |\bsource: /i.test(text);
}

/** Returns the problems of the documents and files that the line cites. */
export function citationProblems(line: Line): string[] {
  if (!isCitation(line)) return [];
  const text = line.text.replaceAll(/(?:\[[^\]]*\]\()?https?:\/\/[^\s)"'`]+/g, (link) => (isMovingFile(link) ? "moving.go" : ""));
  const unversioned = GO_FILE.test(text) && !PINNED.test(text) ? ["refers to a Go file without a version or commit"] : [];
  const section = PRIVATE_SECTION.test(text) ? ["cites a section of a document that is not in the repository"] : [];
  return [
    ...unversioned,
    ...section,
    ...absentDocuments({ ...line, text }).map((name) => `refers to ${name}, which is not in the repository`),
  ];
}

/** Reports whether the link is to a Go file on a branch, whose lines change. */
function isMovingFile(url: string): boolean {
  return /\/blob\/(?:main|master)\/.*\.go$/.test(url);
}

function absentDocuments({ path, text }: Line): string[] {
  const named = text.match(/(?<![\w*}>-])[\w./-]*\w\.md\b/g) ?? [];
  const roots = [ROOT, join(ROOT, dirname(path)), join(ROOT, "docs"), join(ROOT, "docs/how-to")];
  return named.filter((name) => !FOREIGN_DOCUMENTS.has(name.replace(/^.*\//, "")) && !roots.some((root) => existsSync(join(root, name))));
}

/** Returns the text of the page with requirements. */
export function requirementsPage(): string {
  return pages().find(({ path }) => path === REQUIREMENTS)?.prose ?? "";
}
