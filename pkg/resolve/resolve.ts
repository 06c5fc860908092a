import type { CatalogSource } from "../api/clusterExtension.ts";
import { clipped } from "../errors/clipped.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import type { FbcBundle, FbcDeprecations } from "../fbc/types.ts";
import type { ClusterVersion } from "../gate/clusterVersion.ts";
import type { VersionRelease } from "../version/version.ts";
import { bestOf, bundleVersion, type Candidate } from "./candidates.ts";
import { type CatalogContent, hasContent, selectedCatalogs } from "./catalogContent.ts";
import { cautionsOn } from "./cautions.ts";
import { objectionWarning } from "./clusterObjection.ts";
import { explainChoice } from "./explainChoice.ts";
import { explainNothing } from "./explainNothing.ts";
import { explainRuledOut } from "./explainRuledOut.ts";
import { edgeTo, type Findings, findIn, objectionOf, type Query } from "./filters.ts";
import { couldChange, type Offer, offersOf } from "./offers.ts";
import { readQuery } from "./query.ts";
import { selectorError } from "./selector.ts";
import type { Edge, InstalledBundle } from "./successors.ts";
import { enumerated } from "./wording.ts";

const NOTHING_TO_COMPARE =
  "clusterVersionPolicy Enforce has no effect: this is no OpenShift cluster, and operator-controller is told no --cluster-version";
/** Longest reason why a catalog cannot answer, in characters. */
const MAX_REASON = 300;

/**
 * What is asked: the package and its limits, the catalogs (in any order; disabled ones left out), what is installed, and the version of the
 * cluster (without it as on no OpenShift cluster).
 */
export interface ResolveRequest {
  source: CatalogSource;
  catalogs: readonly CatalogContent[];
  installed?: InstalledBundle | undefined;
  cluster?: ClusterVersion | undefined;
}

/** The bundle to install or keep. */
export interface Resolved {
  kind: "resolved";
  bundle: FbcBundle;
  version: VersionRelease;
  /** Name of the catalog it comes from. */
  catalog: string;
  /** What that catalog says about deprecation in the package. */
  deprecations: FbcDeprecations | undefined;
  /** Why this bundle, one sentence. */
  explanation: string;
  /** What clusterVersionPolicy comes to and which selected catalogs could not be asked, one sentence each, for people who look at the extension; often none. */
  notes: string[];
  /** What is disregarded in moving to it, one sentence each; often none. */
  cautions: string[];
  /** How it follows the installed bundle; absent when nothing is installed, or when SelfCertified goes where no edge leads. */
  edge?: Edge;
  /** Highest version of the package in that catalog that is not deprecated; undefined where there is none. Limits of the request do not count. */
  newest: VersionRelease | undefined;
  /** What it was chosen from. */
  considered: Considered;
}

/** Why there is no bundle to install. */
export interface Unresolved {
  kind: "unresolved";
  /** `selector`, `version` and `installed`: that input cannot be read; `catalog`: one that could change the answer cannot be asked. */
  cause: "selector" | "version" | "installed" | "catalog" | "nothing" | "ambiguous" | "bundle";
  /** The Go operator-controller's text. */
  reason: string;
  /** Which filter left nothing, and what would have been near. */
  explanation: string;
  /** `reason`, `; `, `explanation`. */
  message: string;
  retry: true;
  /** What there was to choose from; absent where the selector or the version range cannot be read. */
  considered?: Considered;
}

/** The selected catalogs and what the filters left of each, before one is chosen. */
export interface Considered {
  readonly query: Query;
  readonly installed: InstalledBundle | undefined;
  /** By name. */
  readonly selected: readonly CatalogContent[];
  /** Of those that answer and have the package, in the same order. */
  readonly findings: readonly Findings[];
}

/** The answer to a ResolveRequest. */
export type Resolution = Resolved | Unresolved;

/**
 * Chooses the bundle of a package to install: of each catalog the best one that channels, version range and upgrade edges
 * and, under clusterVersionPolicy Enforce, the cluster's version allow (not deprecated first, then highest version), then of the catalogs those without deprecation first, then the one with
 * the highest priority. Two catalogs of the same highest priority make it ambiguous.
 * A catalog that cannot answer stands in the way only where its answer could be another. Dependencies are not looked at.
 * Pure: no clock, no I/O; the order of catalogs does not matter. Linear in bundles and channel entries.
 * @see operator-controller internal/operator-controller/resolve/catalog.go
 */
export function resolve(request: ResolveRequest): Resolution {
  const considered = consider(request);
  return "kind" in considered ? considered : choose(considered);
}

/** Filters what each selected catalog has, without choosing; or says what cannot be read. */
export function consider({ source, catalogs, installed, cluster = { kind: "none" } }: ResolveRequest): Considered | Unresolved {
  const badSelector = selectorError(source.selector);
  if (badSelector !== undefined) {
    return unresolved(
      "selector",
      `desired catalog selector is invalid: ${badSelector}`,
      "no catalog can be chosen until spec.source.catalog.selector is corrected",
    );
  }
  const read = readQuery(source, installed, cluster);
  if (read.kind === "badRange") {
    const hint = 'a range is written like ">=1.2.0 <2.0.0", "1.2.x", "~1.2", "^1.2" or "1.2.3 || >=2.0.0"';
    return unresolved("version", `desired version range ${goQuote(source.version ?? "")} is invalid: ${read.error.message}`, hint);
  }
  const selected = selectedCatalogs(source.selector, catalogs);
  if (read.kind === "badInstalled" && selected.some(({ content }) => hasContent(content))) {
    const hint =
      "the version of what is installed cannot be read, so its successors are unknown; upgradeConstraintPolicy SelfCertified does without";
    return unresolved("installed", `error walking catalogs: error finding upgrade edges: ${read.error.message}`, hint);
  }
  const { query } = read;
  const asked = selected.filter(({ unavailable }) => unavailable === undefined);
  const findings = asked.flatMap((catalog) => (hasContent(catalog.content) ? [findIn(catalog, catalog.content, query)] : []));
  return { query, installed, selected, findings };
}

/** The best of what the filters left, as `resolve` promises. */
export function choose(considered: Considered): Resolution {
  const answer = choiceFrom(considered);
  return { ...answer, considered };
}

type Answer = Omit<Resolved, "considered"> | Omit<Unresolved, "considered">;

function choiceFrom({ selected, findings, query, installed }: Considered): Answer {
  const silent = selected.filter(({ unavailable }) => unavailable !== undefined);
  const asked = selected.filter(({ unavailable }) => unavailable === undefined);
  const [first, ...rest] = offersOf(findings);
  const blocking = silent.find((catalog) => couldChange(catalog, first));
  if (blocking) return blocked(blocking, silent, query, first);
  if (!first) {
    const reason = notFoundReason(query, installed, []);
    return unresolved("nothing", reason, explainNothing(namesOf(asked), findings, query));
  }
  const tied = rest.filter(({ priority }) => priority === first.priority);
  if (tied.length > 0) {
    const all = [first, ...rest].map(({ catalog }) => catalog).sort();
    return unresolved("ambiguous", notFoundReason(query, installed, all), explainTie([first, ...tied]));
  }
  const passedOver = findings.filter(({ best, catalog }) => best && catalog !== first.catalog);
  const unasked = silent.map(silenceText);
  const ruledOut = explainRuledOut(findings, first);
  const notes = [...ruledOut, ...(unasked.length > 0 ? [`catalogs not asked: ${enumerated(unasked)}`] : [])];
  return resolved(first, query, explainChoice(first, first.best, query, passedOver, unasked, ruledOut), notes);
}

function blocked(
  blocking: CatalogContent,
  silent: readonly CatalogContent[],
  { packageName }: Query,
  first: Offer | undefined,
): Unresolved {
  const { name, priority, unavailable = "" } = blocking;
  const reason = `error walking catalogs: error getting package ${goQuote(packageName)} from catalog ${goQuote(name)}: ${unavailable}`;
  const explanation = first
    ? `catalog ${goQuote(name)} of priority ${priority} may have a better bundle than ${goQuote(first.best.bundle.name)} of catalog ${goQuote(first.catalog)} (priority ${first.priority}); a lower spec.priority, or a selector without it, lets resolution go on`
    : "no other catalog has a bundle that fits";
  const others = silent.filter((catalog) => catalog !== blocking).map(silenceText);
  const more = others.length > 0 ? [`catalogs not asked either: ${enumerated(others)}`] : [];
  return unresolved("catalog", reason, [explanation, ...more].join("; "));
}

/** A catalog that cannot answer, and why, in some hundred characters. */
function silenceText({ name, unavailable = "" }: CatalogContent): string {
  return `${goQuote(name)} (${clipped(unavailable, MAX_REASON)})`;
}

function resolved(found: Offer, query: Query, explanation: string, remarks: readonly string[]): Answer {
  const { best } = found;
  try {
    const version = best.version ?? bundleVersion(best.bundle);
    const edge = edgeTo(best, query, found.edges);
    const { catalog, deprecations } = found;
    const notes = [...clusterNotes(best, query), ...remarks];
    const newest = bestOf(found.all.filter((candidate) => !candidate.deprecated && candidate.version));
    return {
      kind: "resolved",
      bundle: best.bundle,
      version,
      catalog,
      deprecations,
      explanation,
      notes,
      newest: newest?.version,
      cautions: cautionsOn(found, best, query),
      ...(edge ? { edge } : {}),
    };
  } catch (err) {
    const reason = `error getting resolved bundle version for bundle ${goQuote(best.bundle.name)}: ${messageOf(err)}`;
    return unresolved("bundle", reason, `no bundle of catalog ${goQuote(found.catalog)} that fits has a version that can be read`);
  }
}

/** That the policy has nothing to compare with, or that the chosen bundle may not work here. */
function clusterNotes(best: Candidate, query: Query): string[] {
  const { cluster, clusterDecides } = query;
  if (clusterDecides && cluster.kind === "none") return [NOTHING_TO_COMPARE];
  const objection = objectionOf(best, query);
  return objection && objection.kind !== "unknown" ? [objectionWarning(best.bundle.name, objection)] : [];
}

/** Go's text, word for word; `catalogs` are those between which the choice is ambiguous. */
function notFoundReason(
  { packageName, range, channels }: Query,
  installed: InstalledBundle | undefined,
  catalogs: readonly string[],
): string {
  return [
    ...(installed ? [`error upgrading from currently installed version ${goQuote(installed.version)}:`] : []),
    `${catalogs.length > 1 ? "found bundles" : "no bundles found"} for package ${goQuote(packageName)}`,
    ...(range ? [`matching version ${goQuote(range.text)}`] : []),
    ...(channels.length > 0 ? [`in channels [${channels.join(" ")}]`] : []),
    ...(catalogs.length > 1 ? [`in multiple catalogs with the same priority [${catalogs.join(" ")}]`] : []),
  ].join(" ");
}

function explainTie(tied: readonly Offer[]): string {
  const offers = tied.map(({ catalog, best }) => `catalog ${goQuote(catalog)} has ${goQuote(best.bundle.name)}`);
  return `${offers.join(", ")}, each at priority ${tied[0]?.priority ?? 0}: raise spec.priority of one, or select one with spec.source.catalog.selector`;
}

function namesOf(catalogs: readonly CatalogContent[]): string[] {
  return catalogs.map(({ name }) => name);
}

function unresolved(cause: Unresolved["cause"], reason: string, explanation: string): Unresolved {
  return { kind: "unresolved", cause, reason, explanation, message: `${reason}; ${explanation}`, retry: true };
}
