import { compareNewestFirst } from "../../fbc/bundleOrder.ts";
import type { Candidate } from "../candidates.ts";
import { applyFilter, type FilterResult, isInstalledBundle, type ResolutionQuery } from "../filters.ts";
import type { Resolution } from "../resolution.ts";
import { formatCandidateVersion } from "../wording.ts";

/** Name of the filter in records. */
const DEPENDENCIES = "dependencies";
const ASKS = "whose dependencies can be met";

/** Returns why a bundle cannot be installed, as a clause; undefined if it can. */
export type DependencyCheck = (candidate: Candidate, result: FilterResult) => string | undefined;

/** Maximum number of candidates checked per catalog. Bundles of similar versions rarely differ in their dependencies. */
const MAX_CHECKED = 50;
/** Maximum number of reported reasons if no candidate is left. */
const MAX_NEAR = 3;

/** A `DependencyCheck` that takes long, for example because it waits for another thread. */
export type AsyncDependencyCheck = (candidate: Candidate, result: FilterResult) => Promise<string | undefined>;

/**
 * Removes candidates that cannot be installed. Checks the best candidates first and stops at the first that can be installed. The installed
 * bundle may stay regardless of the check.
 */
export function filterByDependencies(result: FilterResult, query: ResolutionQuery, check: DependencyCheck): FilterResult {
  const filtering = filterInOrder(result, query);
  let next = filtering.next();
  while (!next.done) next = filtering.next(check(next.value, result));
  return next.value;
}

/** Filters like `filterByDependencies`, one candidate after the other. @throws the error of a check */
export async function filterByAsyncCheck(result: FilterResult, query: ResolutionQuery, check: AsyncDependencyCheck): Promise<FilterResult> {
  const filtering = filterInOrder(result, query);
  let next = filtering.next();
  while (!next.done) next = filtering.next(await check(next.value, result));
  return next.value;
}

/** Yields the candidates to check, and receives why each cannot be installed; undefined if it can. */
function* filterInOrder(result: FilterResult, query: ResolutionQuery): Generator<Candidate, FilterResult, string | undefined> {
  const removed = new Map<Candidate, string>();
  for (const candidate of result.allowed.toSorted(byPreference)) {
    if (isInstalledBundle(candidate, query)) break;
    const clause =
      removed.size < MAX_CHECKED ? yield candidate : `not checked, because ${MAX_CHECKED} preferred bundles cannot be installed`;
    if (clause === undefined) break;
    removed.set(candidate, clause);
  }
  if (removed.size === 0) return result;
  const near = [...removed].slice(0, MAX_NEAR).map(([candidate, clause]) => `${formatCandidateVersion(candidate)}: ${clause}`);
  return applyFilter(result, { name: DEPENDENCIES, asks: ASKS, removed, near });
}

/** A candidate that the filter removed. */
export interface RejectedCandidate {
  readonly candidate: Candidate;
  readonly result: FilterResult;
  readonly clause: string;
}

/**
 * Returns the best removed candidate that would have been preferred to the chosen one. Considers only the catalog of the chosen candidate. If none
 * was chosen, considers all catalogs by priority.
 */
export function findBestRejected(resolution: Resolution, results: readonly FilterResult[]): RejectedCandidate | undefined {
  const removed = results
    .filter(({ catalog }) => resolution.kind === "unresolved" || catalog === resolution.catalog)
    .flatMap((result) => [...getRejections(result)].slice(0, 1).map(([candidate, clause]) => ({ candidate, result, clause })));
  return removed.sort((a, b) => b.result.priority - a.result.priority || byPreference(a.candidate, b.candidate))[0];
}

/** Why a candidate cannot be installed, and a remedy, as clauses. */
export interface Rejection {
  readonly text: string;
  readonly remedy: string;
}

/** Also removes candidates that were rejected by other checks, even if the filter did not check them. */
export function rejectCandidates(result: FilterResult, rejections: ReadonlyMap<Candidate, Rejection>): FilterResult {
  const ours = new Set(result.all);
  const reported = [...rejections].filter(([candidate]) => ours.has(candidate));
  if (reported.length === 0) return result;
  const before = result.extraFilters.find(({ name }) => name === DEPENDENCIES);
  const removed = new Map([...(before?.removed ?? []), ...reported.map(([candidate, { text }]) => [candidate, text] as const)]);
  const remedies = new Map(reported.map(([candidate, { remedy }]) => [candidate, remedy]));
  const others = { ...result, extraFilters: result.extraFilters.filter((filter) => filter !== before) };
  return applyFilter(others, { name: DEPENDENCIES, asks: ASKS, near: before?.near ?? [], removed, remedies });
}

/** Returns why the filter removed candidates of a catalog, best first; empty if it removed none. */
export function getRejections({ extraFilters }: FilterResult): ReadonlyMap<Candidate, string> {
  return extraFilters.find(({ name }) => name === DEPENDENCIES)?.removed ?? new Map<Candidate, string>();
}

function byPreference(a: Candidate, b: Candidate): number {
  return Number(a.deprecated) - Number(b.deprecated) || compareNewestFirst(a, b);
}
