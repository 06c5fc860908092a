/** Maximum length of a description that is rendered as Markdown, in characters. */
const MAX_LENGTH = 24_000;
/** Maximum number of runs of characters that can begin or end emphasis or code; the parser compares them with each other. */
const MAX_MARKERS = 1_500;
/** A line with more nested quotes or lists; the parser handles each level with a function call. */
const DEEP = /^(?: {0,3}(?:>|[-+*]|\d{1,9}[.)])[ \t]*){16}/m;
const MARKERS = /[*_]+|`+/g;
/** Lines that make a heading of the line before. */
const UNDERLINES = /^ {0,3}(?:=+|-+)[ \t]*$/gm;
const MAX_UNDERLINES = 300;

/** Reports whether rendering a text as Markdown could block the page. */
export function isCostlyMarkdown(text: string): boolean {
  return text.length > MAX_LENGTH || DEEP.test(text) || count(text, MARKERS) > MAX_MARKERS || count(text, UNDERLINES) > MAX_UNDERLINES;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
