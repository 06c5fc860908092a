import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { Candidate } from "../../resolve/candidates.ts";
import type { BundleConstraint } from "../../resolve/constraint/constraint.ts";
import { isDependency, providerFrom } from "../../resolve/constraint/parse.ts";
import { type Environment, type Objection, objectionClause, objectionTo } from "../../resolve/dependencies/dependencyCheck.ts";
import { type Judge, unfitAbove, withoutUnfit } from "../../resolve/dependencies/dependencyFilter.ts";
import { dependencyRange } from "../../resolve/dependencies/dependencyRange.ts";
import type { OfferedBundle } from "../../resolve/dependencies/offerIndex.ts";
import { type Offering, packagesInReach } from "../../resolve/dependencies/reach.ts";
import { clausesFor, type Silent, type Supply, supplyFor } from "../../resolve/dependencies/resolutionHints.ts";
import { type Market, solverBundles } from "../../resolve/dependencies/solverProblem.ts";
import type { Findings } from "../../resolve/filters.ts";
import type { Considered, Resolution, Resolved } from "../../resolve/resolution.ts";
import { choose } from "../../resolve/resolve.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import type { CatalogOffers } from "../catalogs/catalogOffers.ts";
import type { DependencyNeed, PendingDependencies } from "../state/reconcileState.ts";
import type { IsOver } from "../state/waiting.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { canBeNamed } from "./dependencyExtensions.ts";
import type { InstallContextReader } from "./installContext.ts";

/** What a choice among bundles with dependencies is made with. */
export interface DependencyChoiceOptions {
  surroundings: Pick<InstallContextReader, "of" | "matterTo" | "isKnown">;
  markets: Pick<MarketReader, "read">;
  constraints: ConstraintCache;
}

/** What came of a choice. */
export interface Chosen {
  readonly resolution: Resolution;
  readonly pending?: PendingDependencies | undefined;
  readonly unfit?: LeftOut | undefined;
}

/** The best bundle that was left out. */
export interface LeftOut {
  readonly bundle: string;
  /** All that is to say about it. */
  readonly clauses: readonly string[];
  /** Whether what speaks against it has changed. */
  readonly isOver: IsOver;
}

/** Searches for dependencies that may end without an answer before no more are made; each takes a second. */
const MAX_UNDECIDED = 2;

/** One choice under way. */
interface Case {
  readonly extension: ClusterExtension;
  readonly considered: Considered;
  readonly catalogs: readonly ClusterCatalog[];
  readonly environment: Environment;
  /** Of each candidate that was left out. */
  readonly objections: ReadonlyMap<Candidate, Objection>;
  readonly signal: AbortSignal;
}

/**
 * Chooses, of what the other filters of a resolution left, the best bundle whose dependencies are met and that takes nothing away from others;
 * with policy Install the best whose dependencies can be installed. Catalogs are asked for what is missing only where something is.
 */
export class DependencyChoice {
  readonly #options: DependencyChoiceOptions;
  readonly #waiting = new Set<string>();

  constructor(options: DependencyChoiceOptions) {
    this.#options = options;
  }

  /** Names of the extensions for which a better bundle was left out, or has to wait, when they were looked at last. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** Drops what is known of an extension that is gone. */
  forget(extension: string): void {
    this.#waiting.delete(extension);
  }

  /** What speaks against a bundle with these properties, whatever catalogs say; undefined where nothing does. */
  async objectionOf(
    { metadata: { name } }: ClusterExtension,
    bundle: OfferedBundle,
  ): Promise<{ readonly text: string; readonly isOver: IsOver } | undefined> {
    const { constraints, surroundings } = this.#options;
    await constraints.prepare([bundle.properties]);
    const now = async (): Promise<string | undefined> => {
      const environment = await surroundings.of(name);
      const objection = constraints.bounded(() => this.#objectionTo(bundle, environment));
      return objection && objectionClause(objection);
    };
    const text = await now();
    if (text === undefined) return undefined;
    this.#waiting.add(name);
    return { text, isOver: async () => (await now()) !== text };
  }

  /** @param catalogs those that the extension selects. @throws as `InstallContextReader.of`. */
  async choose(
    extension: ClusterExtension,
    considered: Considered,
    catalogs: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<Chosen> {
    const { name } = extension.metadata;
    this.#waiting.add(name);
    const chosen = await this.#choose(extension, considered, catalogs, signal);
    if (!chosen.unfit && !chosen.pending) this.#waiting.delete(name);
    return chosen;
  }

  async #choose(
    extension: ClusterExtension,
    considered: Considered,
    catalogs: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<Chosen> {
    const { constraints, surroundings } = this.#options;
    const { name } = extension.metadata;
    const resolution = choose(considered);
    if (resolution.kind === "resolved" && isKept(resolution, considered)) return { resolution };
    const candidates = considered.findings.flatMap(({ allowed }) => allowed);
    const declares = candidates.some(({ bundle }) => bundle.properties.some(({ type }) => isDependency(type)));
    // What is new takes nothing away from those who are not known yet.
    const known = surroundings.isKnown || considered.query.keeps === undefined;
    if (!declares && known && !(await surroundings.matterTo(name))) return { resolution };
    await constraints.prepare(candidates.map(({ bundle }) => bundle.properties));
    const environment = await surroundings.of(name);
    const objections = new Map<Candidate, Objection>();
    const judge: Judge = (candidate) => {
      const objection = this.#objectionTo(candidate.bundle, environment);
      if (objection) objections.set(candidate, objection);
      return objection && objectionClause(objection);
    };
    const narrowed = constraints.bounded(() => narrowedBy(considered, judge));
    if (objections.size === 0) return { resolution: choose(narrowed) };
    const work = { extension, considered, catalogs, environment, objections, signal };
    return extension.spec.dependencies?.policy === "Install" ? this.#install(work) : this.#require(work, narrowed);
  }

  /** Goes without what is missing, and finds out what would help the best of what was left out. */
  async #require(work: Case, narrowed: Considered): Promise<Chosen> {
    const resolution = choose(narrowed);
    const best = unfitAbove(resolution, narrowed.findings);
    if (!best) return { resolution };
    const { candidate, found } = best;
    const read = await this.#market(work, [candidate]);
    const objection = work.objections.get(candidate);
    const supply = this.#options.constraints.bounded(() => this.#supply(candidate, found, work, read));
    const clauses = objection ? clausesFor(objection, supply, read.silent) : [best.clause];
    return { resolution, unfit: this.#leftOut(candidate, clauses, work) };
  }

  /** Judges once more, with what catalogs offer. */
  async #install(work: Case): Promise<Chosen> {
    const { considered, objections } = work;
    const read = await this.#market(work, [...objections.keys()]);
    const needs = new Map<Candidate, readonly SolverBundle[]>();
    let undecided = 0;
    const judge: Judge = (candidate, found) => {
      const objection = objections.get(candidate);
      if (!objection) return undefined;
      if (undecided >= MAX_UNDECIDED) return "it was not tried, since for better ones the search took too long";
      const supply = this.#supply(candidate, found, work, read);
      if (supply?.kind === "undecided") undecided++;
      if (supply?.kind !== "offered") return clausesFor(objection, supply, read.silent).join("; ");
      needs.set(candidate, supply.bundles);
      return undefined;
    };
    const narrowed = this.#options.constraints.bounded(() => narrowedBy(considered, judge));
    const resolution = choose(narrowed);
    const best = unfitAbove(resolution, narrowed.findings);
    const chosen = [...needs].find(([{ bundle }]) => resolution.kind === "resolved" && bundle === resolution.bundle);
    const pending = chosen && {
      needs: this.#needs(chosen[0], chosen[1], work, read),
      isOver: this.#isOver(chosen[0], work),
    };
    return { resolution, pending, unfit: best && this.#leftOut(best.candidate, [best.clause], work) };
  }

  #needs({ bundle }: Candidate, added: readonly SolverBundle[], { environment }: Case, { market }: ReadMarket): DependencyNeed[] {
    const wanted = { ...providerFrom(bundle), constraints: market.read(bundle).constraints };
    return added.map((one) => {
      const others = [wanted, ...added.filter((other) => other !== one)];
      const version = dependencyRange({
        bundle: one,
        others: [...others, ...environment.neighbours.map(({ provider }) => provider)],
        served: environment.served.map(({ gvk }) => gvk),
        constraints: [...others, one].flatMap(({ constraints }) => constraints),
        content: market.packageOf(one.catalog ?? "", one.packageName),
      });
      return { bundle: one, version };
    });
  }

  #leftOut(candidate: Candidate, clauses: readonly string[], work: Case): LeftOut {
    return { bundle: candidate.bundle.name, clauses, isOver: this.#isOver(candidate, work) };
  }

  #isOver(candidate: Candidate, { extension, objections }: Case): IsOver {
    const before = objections.get(candidate);
    return async () => {
      const environment = await this.#options.surroundings.of(extension.metadata.name);
      const now = this.#options.constraints.bounded(() => this.#objectionTo(candidate.bundle, environment));
      return (now && objectionClause(now)) !== (before && objectionClause(before));
    };
  }

  #objectionTo(bundle: OfferedBundle, environment: Environment): Objection | undefined {
    return objectionTo({ provider: providerFrom(bundle), declared: this.#options.constraints.read(bundle) }, environment);
  }

  /** Undefined where the author of the catalog has to help. */
  #supply(
    candidate: Candidate,
    found: Findings,
    { environment, objections }: Case,
    { market, packages, isComplete }: ReadMarket,
  ): Supply | undefined {
    if (objections.get(candidate)?.kind === "faulty") return undefined;
    const { catalog, priority, content } = found;
    const source = { packageOf: () => content, read: market.read };
    const [bundle] = solverBundles(candidate.bundle.package, [candidate.bundle], { catalog, priority }, source);
    const supply = bundle && supplyFor(bundle, environment, packages, market);
    if (isComplete || supply?.kind !== "none") return supply;
    return { kind: "undecided", because: "more packages may have a part in it than are looked at" };
  }

  /** What catalogs offer for the candidates, and for those that would lose something by one of them. */
  #market({ catalogs, considered, environment, objections, signal }: Case, candidates: readonly Candidate[]): Promise<ReadMarket> {
    const { constraints, markets } = this.#options;
    const breaks = candidates.some((candidate) => objections.get(candidate)?.kind === "breaks");
    const wanted = [
      ...candidates.flatMap(({ bundle }) => constraints.read(bundle).constraints),
      ...(breaks ? environment.neighbours.flatMap(({ declared }) => declared.constraints) : []),
    ];
    return markets.read(catalogs, wanted, new Set([considered.query.packageName]), signal);
  }
}

/** Whether what is installed is the best there is: nothing stands against that. */
function isKept({ bundle, edge }: Resolved, { query }: Considered): boolean {
  return bundle.name === query.keeps && edge?.via === "stay";
}

function narrowedBy(considered: Considered, judge: Judge): Considered {
  return { ...considered, findings: considered.findings.map((found) => withoutUnfit(found, considered.query, judge)) };
}

/** Where offers of catalogs, contents of packages and constraints of bundles are read. */
export interface MarketReaderOptions {
  offers: Pick<CatalogOffers, "of">;
  contents: Pick<CatalogContents, "of">;
  constraints: ConstraintCache;
}

/** What catalogs offer for some constraints. */
interface ReadMarket {
  readonly market: Market;
  /** The packages that may have a part in a solution. */
  readonly packages: ReadonlySet<string>;
  /** False where there are more than can be looked at. */
  readonly isComplete: boolean;
  /** Catalogs that could not be asked. */
  readonly silent: readonly Silent[];
}

/** Packages asked for at once. */
const PARALLEL_PACKAGES = 8;

/** Reads from catalogs what may meet constraints: who provides what in all of them, and of the packages in question channels and deprecations. */
export class MarketReader {
  readonly #options: MarketReaderOptions;

  constructor(options: MarketReaderOptions) {
    this.#options = options;
  }

  /** @param settled packages that are given, of which nothing needs to be known. */
  async read(
    catalogs: readonly ClusterCatalog[],
    wanted: readonly BundleConstraint[],
    settled: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ReadMarket> {
    const { offers, constraints } = this.#options;
    const answers = await offers.of(catalogs, signal);
    const silent = answers.flatMap(({ name, unavailable }) => (unavailable === undefined ? [] : [{ name, unavailable }]));
    const offerings = answers.flatMap(({ name, priority, index }): Offering[] => (index ? [{ catalog: name, priority, index }] : []));
    if (offerings.some(({ index }) => index.mentionsCel)) await constraints.prepareCel();
    const reached = await constraints.inTurns(packagesInReach(wanted, offerings, constraints.read, settled), signal);
    const packages = new Set([...reached.packages].filter(canBeNamed));
    const contents = await this.#contents(catalogs, [...packages], offerings, signal);
    const packageOf = (catalog: string, packageName: string): PackageContent | undefined => contents.get(`${catalog}/${packageName}`);
    return { market: { offerings, packageOf, read: constraints.read }, packages, isComplete: reached.isComplete, silent };
  }

  async #contents(
    catalogs: readonly ClusterCatalog[],
    packages: readonly string[],
    offerings: readonly Offering[],
    signal: AbortSignal,
  ): Promise<Map<string, PackageContent | undefined>> {
    const pairs = packages.flatMap((packageName) =>
      offerings.filter(({ index }) => index.bundlesOf(packageName).length > 0).map(({ catalog }) => ({ catalog, packageName })),
    );
    const read = await mapInParallel(pairs, PARALLEL_PACKAGES, async ({ catalog, packageName }) => {
      const asked = catalogs.filter(({ metadata }) => metadata.name === catalog);
      const [answer] = await this.#options.contents.of(asked, packageName, signal);
      return [`${catalog}/${packageName}`, answer?.content] as const;
    });
    return new Map(read);
  }
}
