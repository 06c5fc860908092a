import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from "diff";

/** Context lines around each change. */
const CONTEXT = 3;
/** Maximum added and removed lines, because the search is quadratic. If there are more, the diff has one hunk from the first to the last change. */
const MAX_CHANGED = 1_000;

/**
 * Returns the change of a file as a unified diff for `git apply` and `patch -p1`; empty if nothing changed.
 * @param before undefined for a new file.
 * @param after undefined for a file that is removed.
 */
export function formatUnifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  if (before === after) return "";
  const oldFileName = before === undefined ? "/dev/null" : `a/${path}`;
  const newFileName = after === undefined ? "/dev/null" : `b/${path}`;
  const options = { context: CONTEXT, maxEditLength: MAX_CHANGED };
  const patch = structuredPatch(oldFileName, newFileName, before ?? "", after ?? "", undefined, undefined, options);
  const hunks = patch?.hunks ?? [oneHunk(before ?? "", after ?? "")];
  return formatPatch({ oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks }, FILE_HEADERS_ONLY);
}

/** Returns a hunk from the first change to the last one. */
function oneHunk(before: string, after: string): StructuredPatchHunk {
  const [old, now] = [splitLines(before), splitLines(after)];
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const above = old.slice(Math.max(head - CONTEXT, 0), head);
  const removed = old.slice(head, old.length - tail);
  const added = now.slice(head, now.length - tail);
  const below = old.slice(old.length - tail).slice(0, CONTEXT);
  const start = head - above.length + 1;
  const around = above.length + below.length;
  return {
    oldStart: start,
    oldLines: around + removed.length,
    newStart: start,
    newLines: around + added.length,
    lines: [...prefixLines(" ", above), ...prefixLines("-", removed), ...prefixLines("+", added), ...prefixLines(" ", below)],
  };
}

/** Splits a text into lines and keeps their newlines. */
function splitLines(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function prefixLines(sign: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) => (line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + line, "\\ No newline at end of file"]));
}
