import { formatCount } from "../../text/lists.ts";
import { truncate } from "../../text/truncate.ts";
import { formatConjunction, formatPackageName } from "./bundleFormat.ts";
import type { Explanation, ExplanationSentence } from "./problem.ts";

/** Maximum number of lines, and of characters of a line. */
const MAX_LINES = 12;
const MAX_LENGTH = 400;
/** Minimum number of sentences of one kind that a line summarizes. */
const MIN_GROUP = 3;

const IS_PARTIAL = "some of these reasons may be redundant, because the search for redundant ones exceeded its limit";

/**
 * Formats an explanation, one line each. A large explanation is shortened to at most 12 lines: sentences of one kind become one line, such as `9
 * packages each require one of 8 APIs: …`, and a line states how many reasons are not shown. A line has at most 400 characters.
 * @param options with `all`, every sentence is a line, in full
 */
export function formatExplanation({ sentences, isMinimal }: Explanation, { all = false }: { readonly all?: boolean } = {}): string[] {
  const note = isMinimal ? [] : [IS_PARTIAL];
  const room = MAX_LINES - note.length;
  if (all) return [...sentences.map(({ text }) => text), ...note];
  if (sentences.length <= room) return [...sentences.map(({ text }) => truncate(text, MAX_LENGTH)), ...note];
  const grouped = summarize(sentences, room - 1);
  const shown = grouped.slice(0, room - 1);
  const hidden = sentences.length - shown.filter(({ isFull }) => isFull).length;
  const rest = `${formatCount(hidden, "reason")} ${hidden === 1 ? "is" : "are"} not shown in full; --all shows ${hidden === 1 ? "it" : "them"}`;
  return [...shown.map(({ text }) => text), rest, ...note];
}

/** A line, and whether it is a sentence instead of a summary. */
interface Line {
  readonly text: string;
  readonly isFull: boolean;
}

/**
 * Replaces the sentences of the largest kinds by summaries, each at the place of its first sentence, until there are at most `room` lines or no kind is
 * left.
 */
function summarize(sentences: readonly ExplanationSentence[], room: number): Line[] {
  const groups = Map.groupBy(sentences, getSummaryKey);
  const large = [...groups].filter(([key, group]) => key !== undefined && group.length >= MIN_GROUP);
  let count = sentences.length;
  const summaries = new Map<ExplanationSentence, Line | undefined>();
  for (const [, group] of large.sort(([, a], [, b]) => b.length - a.length)) {
    if (count <= room) break;
    count -= group.length - 1;
    const summary = { text: truncate(formatSummary(group), MAX_LENGTH), isFull: false };
    for (const [index, sentence] of group.entries()) summaries.set(sentence, index === 0 ? summary : undefined);
  }
  return sentences.flatMap((sentence) => {
    if (!summaries.has(sentence)) return [{ text: truncate(sentence.text, MAX_LENGTH), isFull: true }];
    return summaries.get(sentence) ?? [];
  });
}

/** Returns a key for sentences that share a summary; undefined if the sentence has none. */
function getSummaryKey({ kind, constraints }: ExplanationSentence): string | undefined {
  if (kind === "missing") return undefined;
  if (kind !== "requirement" && kind !== "offer") return kind;
  const [constraint] = constraints;
  return constraint?.kind === "gvk" || constraint?.kind === "package" ? `${kind} ${constraint.kind}` : undefined;
}

/** @param sentences sentences with the same key */
function formatSummary(sentences: readonly ExplanationSentence[]): string {
  const [first] = sentences;
  const constraints = [...new Set(sentences.flatMap((sentence) => sentence.constraints.map(({ text }) => text)))];
  const packages = [...new Set(sentences.flatMap(({ bundles }) => bundles.map(({ packageName }) => packageName)))];
  const counted = formatCount(packages.length, "package");
  const isOnPackage = first?.constraints[0]?.kind === "package";
  const things = formatCount(constraints.length, isOnPackage ? "package range" : "API");
  const list = formatConjunction(constraints);
  const names = formatConjunction(packages.map(formatPackageName));
  if (first?.kind === "wanted" || first?.kind === "installed") return `${counted} are ${first.kind}: ${names}`;
  if (first?.kind === "exclusive") return `${things} can each have only one provider: ${list}`;
  if (first?.kind === "owned") return `${things} already belong to others: ${list}`;
  if (first?.kind === "offer")
    return isOnPackage
      ? `the catalogs have only some versions of ${counted}: ${names}`
      : `${things} are only provided by bundles of ${counted}: ${names}`;
  if (packages.length === 1) return `${names} requires ${things}: ${list}`;
  const isOneEach = packages.length === sentences.length;
  return isOneEach && constraints.length > 1
    ? `${counted} each require one of ${things}: ${list}`
    : `${counted} require ${things}: ${list}`;
}
