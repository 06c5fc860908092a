import { compareNewestFirst } from "../../fbc/bundleOrder.ts";
import type { Candidate } from "../candidates.ts";
import { type Findings, isInstalled, narrowed, type Query } from "../filters.ts";
import type { Resolution } from "../resolution.ts";
import { versionOf } from "../wording.ts";

/** Name of the filter in records. */
const DEPENDENCIES = "dependencies";
const ASKS = "that can be installed among what there is";

/** Says why a bundle cannot be installed among the others, as a clause; undefined where it can. */
export type Judge = (candidate: Candidate, found: Findings) => string | undefined;

/** Most candidates of one catalog that are judged; no better ones are far apart in what they depend on. */
const MAX_JUDGED = 50;
/** Clauses that are told where nothing is left. */
const MAX_NEAR = 3;

/**
 * `findings` without the candidates that `judge` has something against, as far as that matters: the best are judged first, and those after the
 * first that may be installed not at all. What is installed may stay whatever is said against it.
 */
export function withoutUnfit(findings: Findings, query: Query, judge: Judge): Findings {
  const removed = new Map<Candidate, string>();
  for (const candidate of findings.allowed.toSorted(byPreference)) {
    if (isInstalled(candidate, query)) break;
    const against =
      removed.size < MAX_JUDGED ? judge(candidate, findings) : `none of ${MAX_JUDGED} better ones can be, and it was not tried`;
    if (against === undefined) break;
    removed.set(candidate, against);
  }
  if (removed.size === 0) return findings;
  const near = [...removed].slice(0, MAX_NEAR).map(([candidate, against]) => `${versionOf(candidate)}: ${against}`);
  return narrowed(findings, { name: DEPENDENCIES, asks: ASKS, removed, near });
}

/** A candidate that the filter removed. */
export interface Unfit {
  readonly candidate: Candidate;
  readonly found: Findings;
  readonly clause: string;
}

/**
 * The best candidate that the filter removed and that would have been better than what was chosen: of the catalog that was chosen from, or of
 * any where nothing was chosen; the one with the higher priority first.
 */
export function unfitAbove(resolution: Resolution, findings: readonly Findings[]): Unfit | undefined {
  const removed = findings
    .filter(({ catalog }) => resolution.kind === "unresolved" || catalog === resolution.catalog)
    .flatMap((found) => [...unfitOf(found)].slice(0, 1).map(([candidate, clause]) => ({ candidate, found, clause })));
  return removed.sort((a, b) => b.found.priority - a.found.priority || byPreference(a.candidate, b.candidate))[0];
}

/** Why a candidate cannot be installed and what would let it through, clauses. */
export interface Against {
  readonly text: string;
  readonly remedy: string;
}

/** `findings` without these candidates also where the filter did not come to judge them. */
export function withoutThese(findings: Findings, against: ReadonlyMap<Candidate, Against>): Findings {
  const ours = new Set(findings.all);
  const told = [...against].filter(([candidate]) => ours.has(candidate));
  if (told.length === 0) return findings;
  const before = findings.later.find(({ name }) => name === DEPENDENCIES);
  const removed = new Map([...(before?.removed ?? []), ...told.map(([candidate, { text }]) => [candidate, text] as const)]);
  const remedies = new Map(told.map(([candidate, { remedy }]) => [candidate, remedy]));
  const others = { ...findings, later: findings.later.filter((filter) => filter !== before) };
  return narrowed(others, { name: DEPENDENCIES, asks: ASKS, near: before?.near ?? [], removed, remedies });
}

/** Why the filter removed candidates of a catalog, best first; nothing where it did not. */
export function unfitOf({ later }: Findings): ReadonlyMap<Candidate, string> {
  return later.find(({ name }) => name === DEPENDENCIES)?.removed ?? new Map<Candidate, string>();
}

function byPreference(a: Candidate, b: Candidate): number {
  return Number(a.deprecated) - Number(b.deprecated) || compareNewestFirst(a, b);
}
