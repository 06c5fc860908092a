import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { systemClock } from "../async/clock.ts";
import { closestNames } from "../fbc/summary/search.ts";
import { goQuote } from "../golang/quote.ts";
import { CatalogContents } from "../operatorcontroller/catalogs/catalogContents.ts";
import { CatalogOffers } from "../operatorcontroller/catalogs/catalogOffers.ts";
import { ConstraintCache, loadCelRules } from "../operatorcontroller/dependencies/constraintCache.ts";
import { type Chosen, DependencyChoice, MarketReader } from "../operatorcontroller/dependencies/dependencyChoice.ts";
import type { Candidate } from "../resolve/candidates.ts";
import { describe } from "../resolve/constraint/evaluate.ts";
import { dependenciesOf, isDependency } from "../resolve/constraint/parse.ts";
import { objectionClause } from "../resolve/dependencies/dependencyCheck.ts";
import { type Against, unfitOf, withoutThese, withoutUnfit } from "../resolve/dependencies/dependencyFilter.ts";
import type { Considered, Resolution, ResolveRequest } from "../resolve/resolution.ts";
import { type Ranked, type ResolutionRecord, recordOf } from "../resolve/resolutionRecord.ts";
import { choose, consider } from "../resolve/resolve.ts";
import { candidatesMeant } from "../resolve/whyNot.ts";
import { enumerated, RESOLUTION_MESSAGE_MAX } from "../resolve/wording.ts";
import type { WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { truncate } from "../text/truncate.ts";
import type { DependencyPolicy, KnownInstallContext } from "./installContext.ts";

/** What is to be resolved, and for whom. */
export interface Question {
  readonly request: ResolveRequest;
  /** Such as `ClusterExtension x`, or `package p`. */
  readonly subject: string;
  /** As it would be; without a name where only a package is asked about. */
  readonly extension: ClusterExtension;
  /** Those that are asked. */
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
  /** What is installed and served beside, read when it is asked for. */
  readonly surroundings: (constraints: ConstraintCache) => Promise<KnownInstallContext>;
  readonly signal: AbortSignal;
}

/** A resolution in which dependencies are judged as operator-controller does. */
interface JudgedResolution {
  readonly resolution: Resolution;
  /** What is to say about dependencies beside that, sentences. */
  readonly notes: readonly string[];
  /** What could not be judged and why, sentences. */
  readonly unjudged: readonly string[];
}

/** Why a bundle cannot be installed, and what would help where that is known. */
interface Found {
  readonly text: string;
  readonly remedy?: string;
}

/** Most bundles of a version in question that are judged. */
const MAX_QUESTIONED = 32;
const IGNORE = "spec.dependencies.policy Ignore takes it all the same";

/**
 * Resolves, and judges what bundles depend on. Where it is not known what is installed and served nothing is left out for that but what no
 * cluster could take.
 * @param version the bundles of which are judged too, where the filters did not come to that.
 * @throws RetryableError when rules of CEL take too long.
 */
export async function resolveJudged(question: Question, version?: string): Promise<JudgedResolution> {
  const considered = consider(question.request);
  if ("kind" in considered) return { resolution: considered, notes: [], unjudged: [] };
  if (policyOf(question) === "Ignore") return ignoring(choose(considered));
  const asked = version === undefined ? [] : questionedIn(considered, version);
  const all = considered.findings.flatMap(({ allowed }) => [...allowed, ...asked.map(({ candidate }) => candidate)]);
  const declares = all.some(({ bundle }) => bundle.properties.some(({ type }) => isDependency(type)));
  if (!declares && considered.installed === undefined) return { resolution: choose(considered), notes: [], unjudged: [] };
  const constraints = new ConstraintCache(loadCelRules);
  await constraints.prepare(all.map(({ bundle }) => bundle.properties));
  return new DependencyJudgement(question, considered, constraints, await question.surroundings(constraints)).of(asked);
}

/** The judgement of one question. */
class DependencyJudgement {
  readonly #question: Question;
  readonly #considered: Considered;
  readonly #constraints: ConstraintCache;
  readonly #known: KnownInstallContext;
  readonly #choice: DependencyChoice;

  constructor(question: Question, considered: Considered, constraints: ConstraintCache, known: KnownInstallContext) {
    this.#question = question;
    this.#considered = considered;
    this.#constraints = constraints;
    this.#known = known;
    const { whole, signal } = question;
    const offers = new CatalogOffers(
      { offers: async (_base, ref) => ({ index: (await whole.of(ref)).index, tags: new Map() }) },
      systemClock,
      signal,
    );
    const contents = new CatalogContents({ packageContent: async (_base, ref, name) => (await whole.of(ref)).packageContent(name) });
    const markets = new MarketReader({ offers, contents, constraints });
    this.#choice = new DependencyChoice({ surroundings: known.surroundings, markets, constraints });
  }

  async of(asked: readonly Ranked[]): Promise<JudgedResolution> {
    const { unknown, gaps } = this.#known;
    const { resolution, ...rest } = unknown === undefined ? await this.#chosen(this.#considered) : { resolution: this.#withoutFaulty() };
    const notes = notesOn({ resolution, ...rest });
    const winner = resolution.kind === "resolved" ? winnersIn(resolution.considered, resolution) : [];
    const others = asked.filter(({ candidate }) => !winner.some((one) => one.candidate === candidate));
    const against = new Map<Candidate, Against>();
    const unjudged = [...gaps];
    for (const ranked of unknown === undefined ? others : [...winner, ...others]) {
      const { candidate } = ranked;
      const found = await this.#against(ranked);
      if (!found) continue;
      if (unknown === undefined || this.#constraints.read(candidate.bundle).faults.length > 0)
        against.set(candidate, { text: short(found.text), remedy: short(found.remedy ?? IGNORE) });
      else unjudged.push(this.#unjudged(candidate, unknown, found));
    }
    const left = resolution.considered;
    const judged = left
      ? { ...resolution, considered: { ...left, findings: left.findings.map((one) => withoutThese(one, against)) } }
      : resolution;
    return { resolution: judged, notes: notes.map(short), unjudged: unjudged.map(short) };
  }

  #chosen(considered: Considered, policy: DependencyPolicy = policyOf(this.#question)): Promise<Chosen> {
    const { extension, catalogs, signal } = this.#question;
    const { spec } = extension;
    const wanting = { ...extension, spec: { ...spec, dependencies: { ...spec.dependencies, policy } } };
    return this.#choice.choose(wanting, considered, catalogs, signal);
  }

  /** Leaves out what cannot be read, which is wrong whatever is installed. */
  #withoutFaulty(): Resolution {
    const { findings, query } = this.#considered;
    const judge = ({ bundle }: Candidate): string | undefined => {
      const { faults } = this.#constraints.read(bundle);
      return faults.length > 0 ? objectionClause({ kind: "faulty", faults }) : undefined;
    };
    const left = this.#constraints.bounded(() => findings.map((found) => withoutUnfit(found, query, judge)));
    return choose({ ...this.#considered, findings: left });
  }

  /** Why one bundle cannot be installed, also where another is preferred or another filter removes it. */
  async #against({ found, candidate }: Ranked): Promise<Found | undefined> {
    const selected = this.#considered.selected.filter(({ name }) => name === found.catalog);
    const alone = { ...this.#considered, selected, findings: [{ ...found, later: [], allowed: [candidate], best: candidate }] };
    if (policyOf(this.#question) === "Install" && !(await this.#chosen(alone)).unfit) return undefined;
    const { resolution, unfit } = await this.#chosen(alone, "Require");
    if (!unfit) return undefined;
    const [why = "", ...rest] = unfit.clauses;
    const objection = resolution.considered?.findings.map((one) => unfitOf(one).get(candidate))[0];
    return why === objection && rest.length > 0 ? { text: why, remedy: rest.join("; ") } : { text: unfit.clauses.join("; ") };
  }

  #unjudged({ bundle }: Candidate, because: string, { text, remedy }: Found): string {
    const wanted = enumerated(this.#constraints.read(bundle).constraints.map(describe));
    const alone = remedy ?? `with nothing else installed: ${text}`;
    return `whether there is what bundle ${goQuote(bundle.name)} depends on (${wanted}): ${because}; ${alone}`;
  }
}

function short(text: string): string {
  return truncate(text, RESOLUTION_MESSAGE_MAX);
}

function policyOf({ extension }: Question): DependencyPolicy {
  return extension.spec.dependencies?.policy ?? "Require";
}

function questionedIn({ findings }: Considered, version: string): Ranked[] {
  return findings
    .flatMap((found) => candidatesMeant(found.all, version).map((candidate) => ({ found, candidate })))
    .slice(0, MAX_QUESTIONED);
}

function winnersIn({ findings }: Considered, { catalog }: { catalog: string }): Ranked[] {
  return findings.flatMap((found) => (found.catalog === catalog && found.best ? [{ found, candidate: found.best }] : []));
}

function ignoring(resolution: Resolution): JudgedResolution {
  const notes =
    resolution.kind === "resolved" && dependenciesOf(resolution.bundle).length > 0
      ? [`the dependencies of bundle ${goQuote(resolution.bundle.name)} are not checked: spec.dependencies.policy is Ignore`]
      : [];
  return { resolution, notes, unjudged: [] };
}

function notesOn({ resolution, pending, unfit }: Chosen): string[] {
  const notes: string[] = [];
  if (pending) {
    const needs = pending.needs.map(
      ({ bundle, version }) => `${goQuote(bundle.packageName)}${version === "" ? "" : ` ${version}`} (bundle ${goQuote(bundle.name)})`,
    );
    notes.push(`what it depends on is installed first, by ClusterExtensions of packages ${enumerated(needs)}`);
  }
  if (unfit) {
    const cannot = resolution.kind === "resolved" ? "is not chosen" : "cannot be installed";
    notes.push(`bundle ${goQuote(unfit.bundle)} ${cannot}: ${unfit.clauses.join("; ")}`);
  }
  return notes;
}

/** The record of a resolution with what is to say about dependencies. */
export function judgedRecord(packageName: string, { resolution, notes, unjudged }: JudgedResolution): ResolutionRecord {
  const record = recordOf(packageName, resolution);
  const { outcome } = record;
  const all = [...(outcome.notes ?? []), ...notes];
  return {
    ...record,
    outcome: all.length > 0 ? { ...outcome, notes: all } : outcome,
    ...(unjudged.length > 0 ? { unjudged } : {}),
  };
}

/** A line that names the packages that may have been meant by one that is in none of the catalogs; empty where there is none. */
export async function nearPackages({ request, catalogs, whole }: Question, record: ResolutionRecord): Promise<string> {
  if (record.catalogs.length === 0 || record.catalogs.some(({ state }) => state !== "withoutPackage")) return "";
  const refs = catalogs.flatMap(({ status }) => status?.resolvedSource?.image?.ref ?? []);
  const names = await Promise.all(refs.map(async (ref) => [...(await whole.of(ref)).index.packages]));
  const near = closestNames(request.source.packageName, [...new Set(names.flat())]);
  return near.length === 0 ? "" : `did you mean ${near.join(" or ")}?\n`;
}
