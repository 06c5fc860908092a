import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { DependencyPlan } from "../api/clusterExtensionStatus.ts";
import { goQuote } from "../golang/quote.ts";
import type { ConstraintCache } from "../operatorcontroller/dependencies/constraintCache.ts";
import type { DependencyResolution, RejectedBundle } from "../operatorcontroller/dependencies/dependencyChoice.ts";
import type { KnownPlan } from "../operatorcontroller/state/knownPlan.ts";
import type { Candidate } from "../resolve/candidates.ts";
import { describeConstraint } from "../resolve/constraint/evaluate.ts";
import { declaresDependency } from "../resolve/constraint/parse.ts";
import { formatDependencyConflict } from "../resolve/dependencies/dependencyCheck.ts";
import { filterByDependencies, getRejections, type Rejection, rejectCandidates } from "../resolve/dependencies/dependencyFilter.ts";
import { type RefusalRecord, recordRefusal } from "../resolve/dependencies/refusalRecord.ts";
import { formatRefusal } from "../resolve/dependencies/resolutionHints.ts";
import type { FilteredCatalogs, FilterRequest, Resolution, Unresolved } from "../resolve/resolution.ts";
import type { CatalogCandidate } from "../resolve/resolutionRecord.ts";
import { chooseBest, filterCandidates } from "../resolve/resolve.ts";
import { findCandidates } from "../resolve/whyNot.ts";
import { formatEnumeration, RESOLUTION_MESSAGE_MAX } from "../resolve/wording.ts";
import type { WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { truncate } from "../text/truncate.ts";
import type { DependencyPolicy, KnownInstallContext } from "./installContext.ts";
import { createDependencySearch, type DependencySearch, PreviewChoice } from "./previewChoice.ts";

/** A resolution request. */
export interface ResolutionSubject {
  readonly request: FilterRequest;
  /** The error if the selector is invalid. */
  readonly invalidSelector?: Unresolved;
  /** Such as `ClusterExtension x`, or `package p`. */
  readonly subject: string;
  /** The desired extension; without a name if only a package is resolved. */
  readonly extension: ClusterExtension;
  /** The selected catalogs. */
  readonly catalogs: readonly ClusterCatalog[];
  /** Catalogs that are not selected. */
  readonly others?: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
  /** Whether texts include the sentences that a long explanation summarizes. */
  readonly explainsAll?: boolean;
  /** Reads the installed bundles and served APIs on demand. */
  readonly readContext: (constraints: ConstraintCache) => Promise<KnownInstallContext>;
  /** Default: searches in this thread, see `createDependencySearch`. */
  readonly search?: DependencySearch | undefined;
  readonly signal: AbortSignal;
}

/** A resolution with the same dependency checks as in operator-controller. */
export interface CheckedResolution {
  readonly resolution: Resolution;
  /** Remarks about dependencies, one sentence each. */
  readonly notes: readonly string[];
  /** Dependencies that could not be checked, and why, one sentence each. */
  readonly unjudged: readonly string[];
  /** The rejected bundles that the remarks and the exclusions are about. */
  readonly refusals: readonly RefusalRecord[];
}

/** Why a bundle cannot be installed, and a suggested fix, if known. */
interface InstallProblem {
  readonly text: string;
  readonly remedy?: string;
  readonly refusal?: RefusalRecord | undefined;
}

/** Maximum number of bundles with the requested version to check. */
const MAX_QUESTIONED = 32;
/** Maximum length of a text that includes all sentences. */
const MAX_TEXT = 200_000;
const IGNORE = "spec.dependencies.policy Ignore allows it anyway";

/**
 * Resolves with dependency checks. If the installed bundles and served APIs are unknown, rejects only bundles that cannot be installed on any
 * cluster.
 * @param version version whose bundles are always checked, even if a filter excludes them
 * @throws StepLimitError if the CEL rules of the bundles take too many steps
 */
export async function resolveWithDependencies(question: ResolutionSubject, version?: string): Promise<CheckedResolution> {
  const filtered = question.invalidSelector ?? filterCandidates(question.request);
  if (filtered.kind === "unresolved") return { resolution: filtered, notes: [], unjudged: [], refusals: [] };
  if (getPolicy(question) === "Ignore") return ignoring(chooseBest(filtered));
  const questioned = version === undefined ? [] : findQuestioned(filtered, version);
  const all = filtered.results.flatMap(({ allowed }) => [...allowed, ...questioned.map(({ candidate }) => candidate)]);
  const declares = all.some(({ bundle }) => declaresDependency(bundle.properties));
  if (!declares && filtered.installed === undefined) return { resolution: chooseBest(filtered), notes: [], unjudged: [], refusals: [] };
  const search = question.search ?? createDependencySearch();
  await search.constraints.prepare(all.map(({ bundle }) => bundle.properties));
  return new DependencyChecker(question, filtered, search, await question.readContext(search.constraints)).check(questioned);
}

/** Checks dependencies for one request. */
class DependencyChecker {
  readonly #question: ResolutionSubject;
  readonly #filtered: FilteredCatalogs;
  readonly #constraints: ConstraintCache;
  readonly #known: KnownInstallContext;
  readonly #choice: PreviewChoice;

  constructor(question: ResolutionSubject, filtered: FilteredCatalogs, search: DependencySearch, known: KnownInstallContext) {
    this.#question = question;
    this.#filtered = filtered;
    this.#constraints = search.constraints;
    this.#known = known;
    const { whole, catalogs, others = [], signal } = question;
    this.#choice = new PreviewChoice({ catalogs: [...catalogs, ...others], whole, ...search, known, signal });
  }

  async check(questioned: readonly CatalogCandidate[]): Promise<CheckedResolution> {
    const { unknown, gaps } = this.#known;
    const { resolution, ...rest } = unknown === undefined ? await this.#chosen(this.#filtered) : { resolution: this.#withoutFaulty() };
    const notes = formatNotes({ resolution, ...rest }, this.#question);
    const refusals = new Map<string, RefusalRecord>();
    const refused = "rejected" in rest ? rest.rejected : undefined;
    if (refused?.refusal) refusals.set(refused.bundle, recordRefusal(refused.bundle, refused.refusal));
    const winner = resolution.kind === "resolved" ? findWinners(resolution.filtered, resolution) : [];
    const others = questioned.filter(({ candidate }) => !winner.some((one) => one.candidate === candidate));
    const against = new Map<Candidate, Rejection>();
    const unjudged = [...gaps];
    for (const ranked of unknown === undefined ? others : [...winner, ...others]) {
      const { candidate } = ranked;
      const found = await this.#against(ranked);
      if (!found) continue;
      if (found.refusal) refusals.set(found.refusal.bundle, found.refusal);
      if (unknown === undefined || this.#constraints.read(candidate.bundle).faults.length > 0)
        against.set(candidate, { text: this.#bound(found.text), remedy: this.#bound(found.remedy ?? IGNORE) });
      else unjudged.push(this.#unjudged(candidate, unknown, found));
    }
    const left = resolution.filtered;
    const checked = left
      ? { ...resolution, filtered: { ...left, results: left.results.map((one) => rejectCandidates(one, against)) } }
      : resolution;
    const bound = (text: string): string => this.#bound(text);
    return { resolution: checked, notes: notes.map(bound), unjudged: unjudged.map(bound), refusals: [...refusals.values()] };
  }

  #bound(text: string): string {
    return truncate(text, this.#question.explainsAll ? MAX_TEXT : RESOLUTION_MESSAGE_MAX);
  }

  #chosen(filtered: FilteredCatalogs, policy: DependencyPolicy = getPolicy(this.#question)): Promise<DependencyResolution> {
    const { extension, catalogs, signal } = this.#question;
    const { spec } = extension;
    const wanting = { ...extension, spec: { ...spec, dependencies: { ...spec.dependencies, policy } } };
    return this.#choice.choose(wanting, filtered, catalogs, signal);
  }

  /** Removes bundles with invalid constraints, which cannot be installed on any cluster. */
  #withoutFaulty(): Resolution {
    const { results, query } = this.#filtered;
    const check = ({ bundle }: Candidate): string | undefined => {
      const { faults } = this.#constraints.read(bundle);
      return faults.length > 0 ? formatDependencyConflict({ faults, requires: [], provided: [], dependents: [] }) : undefined;
    };
    const left = this.#constraints.bounded(() => results.map((result) => filterByDependencies(result, query, check)));
    return chooseBest({ ...this.#filtered, results: left });
  }

  /** Returns why a bundle cannot be installed, even if another bundle is preferred or another filter removes the bundle. */
  async #against({ result, candidate }: CatalogCandidate): Promise<InstallProblem | undefined> {
    const catalogs = this.#filtered.catalogs.filter(({ name }) => name === result.catalog);
    const alone = { ...this.#filtered, catalogs, results: [{ ...result, extraFilters: [], allowed: [candidate], best: candidate }] };
    if (getPolicy(this.#question) === "Install" && !(await this.#chosen(alone)).rejected) return undefined;
    const { resolution, rejected } = await this.#chosen(alone, "Require");
    if (!rejected) return undefined;
    const clauses = listClauses(rejected, this.#question);
    const refusal = rejected.refusal && recordRefusal(rejected.bundle, rejected.refusal);
    const [why = "", ...rest] = clauses;
    const conflict = resolution.filtered?.results.map((one) => getRejections(one).get(candidate))[0];
    return why === conflict && rest.length > 0 ? { text: why, remedy: rest.join("; "), refusal } : { text: clauses.join("; "), refusal };
  }

  #unjudged({ bundle }: Candidate, reason: string, { text, remedy }: InstallProblem): string {
    const desired = formatEnumeration(this.#constraints.read(bundle).constraints.map(describeConstraint));
    const alone = remedy ?? `if nothing else is installed: ${text}`;
    return `dependencies of bundle ${goQuote(bundle.name)} (${desired}): ${reason}; ${alone}`;
  }
}

/** Returns why a bundle was rejected, as clauses. */
function listClauses({ clauses, refusal }: RejectedBundle, { explainsAll = false }: ResolutionSubject): readonly string[] {
  return refusal ? formatRefusal(refusal, { all: explainsAll }) : clauses;
}

function getPolicy({ extension }: ResolutionSubject): DependencyPolicy {
  return extension.spec.dependencies?.policy ?? "Require";
}

function findQuestioned({ results }: FilteredCatalogs, version: string): CatalogCandidate[] {
  return results
    .flatMap((result) => findCandidates(result.all, version).map((candidate) => ({ result, candidate })))
    .slice(0, MAX_QUESTIONED);
}

function findWinners({ results }: FilteredCatalogs, { catalog }: { catalog: string }): CatalogCandidate[] {
  return results.flatMap((result) => (result.catalog === catalog && result.best ? [{ result, candidate: result.best }] : []));
}

function ignoring(resolution: Resolution): CheckedResolution {
  const notes =
    resolution.kind === "resolved" && declaresDependency(resolution.bundle.properties)
      ? [`the dependencies of bundle ${goQuote(resolution.bundle.name)} are not checked: spec.dependencies.policy is Ignore`]
      : [];
  return { resolution, notes, unjudged: [], refusals: [] };
}

/** Describes the bundles that are installed before a bundle and together with it, one sentence each, or the plan of another extension. */
function describePlan({ root, status: { wave, members } }: KnownPlan, extension: string): string[] {
  if (root !== extension) return [`it is part of the plan of ClusterExtension ${goQuote(root)}`];
  const format = (list: DependencyPlan["members"]): string =>
    formatEnumeration(list.map(({ packageName, bundle }) => `${goQuote(packageName)} (bundle ${goQuote(bundle.name)})`));
  const [first, together] = [members.filter((member) => member.wave < wave), members.filter((member) => member.wave === wave)];
  return [
    ...(first.length > 0 ? [`its dependencies are installed first, with ClusterExtensions for packages ${format(first)}`] : []),
    ...(together.length > 0 ? [`bundles that need it and that it needs are installed together with it: packages ${format(together)}`] : []),
  ];
}

function formatNotes({ resolution, plan, rejected }: DependencyResolution, question: ResolutionSubject): string[] {
  const notes: string[] = [];
  if (plan) notes.push(...describePlan(plan, question.extension.metadata.name));
  if (rejected) {
    const cannot = resolution.kind === "resolved" ? "is not selected" : "cannot be installed";
    notes.push(`bundle ${goQuote(rejected.bundle)} ${cannot}: ${listClauses(rejected, question).join("; ")}`);
  }
  return notes;
}
