import { objectionWarning } from "../bundle/maxOpenShiftVersion.ts";
import { messageOf } from "../errors/errors.ts";
import { defaultOf } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { bundleVersion, type Candidate } from "./candidates.ts";
import { blocked, cautionsOn, explainChoice, explainNothing, explainTie, notFoundReason, silenceText, unresolved } from "./explain.ts";
import { explainRuledOut } from "./filterSteps.ts";
import { edgeTo, findIn, objectionOf, type Query, readQuery } from "./filters.ts";
import { selectorError } from "./labelSelector.ts";
import {
  type Answer,
  blockingCatalog,
  type CatalogContent,
  type Considered,
  hasContent,
  type Offer,
  offersOf,
  type Resolution,
  type ResolveRequest,
  selectedCatalogs,
  type Unresolved,
} from "./resolution.ts";
import { enumerated } from "./wording.ts";

const NOTHING_TO_COMPARE =
  "clusterVersionPolicy Enforce has no effect: this is no OpenShift cluster, and operator-controller is told no --cluster-version";

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
export function consider({
  source,
  catalogs,
  installed,
  installedFrom,
  cluster = { kind: "none" },
}: ResolveRequest): Considered | Unresolved {
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
  return { query, installed, installedFrom, selected, findings };
}

/** The best of what the filters left, as `resolve` promises. */
export function choose(considered: Considered): Resolution {
  const answer = choiceFrom(considered);
  return { ...answer, considered };
}

function choiceFrom(considered: Considered): Answer {
  const { selected, findings, query, installed } = considered;
  const silent = selected.filter(({ unavailable }) => unavailable !== undefined);
  const asked = selected.filter(({ unavailable }) => unavailable === undefined);
  const [first, ...rest] = offersOf(findings);
  const blocking = blockingCatalog(considered);
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

function resolved(found: Offer, query: Query, explanation: string, remarks: readonly string[]): Answer {
  const { best } = found;
  try {
    const version = best.version ?? bundleVersion(best.bundle);
    const edge = edgeTo(best, query, found.edges);
    const { catalog, deprecations } = found;
    const notes = [...clusterNotes(best, query), ...remarks];
    const newest = defaultOf(found.all.filter((candidate) => !candidate.deprecated && candidate.version));
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

function namesOf(catalogs: readonly CatalogContent[]): string[] {
  return catalogs.map(({ name }) => name);
}
