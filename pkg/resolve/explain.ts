import { objectionText } from "../bundle/maxOpenShiftVersion.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate } from "../text/truncate.ts";
import { stepBetween } from "../version/step.ts";
import type { Candidate } from "./candidates.ts";
import { filterSteps } from "./filterSteps.ts";
import { edgeTo, type Findings, objectionOf, type Query } from "./filters.ts";
import type { CatalogContent, Offer, Unresolved } from "./resolution.ts";
import { type InstalledBundle, skippedBy } from "./successors.ts";
import { counted, enumerated, listed, versionOf, wanted } from "./wording.ts";

/**
 * Why `best` was chosen, in one sentence of some hundred characters, such as
 * `bundle "x.v1.2.0" (version 1.2.0) of catalog "c": highest of 3 versions in channels [stable] matching ">=1.0", successor of
 * "x.v1.1.0" by replaces in channel "stable"`, followed by what a user may wonder at: a major step, a higher version that no edge leads to,
 * a target that another entry skips, an upgrade constraint that was overridden, catalogs that were passed over, a cluster that is beyond what
 * the bundle supports. `ruledOut` are sentences about what the cluster's version rules out.
 */
export function explainChoice(
  findings: Findings,
  best: Candidate,
  query: Query,
  passedOver: readonly Findings[],
  unasked: readonly string[],
  ruledOut: readonly string[],
): string {
  const remarks = [
    ...stepRemark(best, query),
    ...unreachedRemark(findings, best, query),
    ...skipRemark(findings, best),
    ...clusterRemark(best, query),
    ...ruledOut,
    ...passedOverRemark(passedOver, findings, best),
    ...(unasked.length > 0 ? [`catalogs not asked: ${unasked.join(", ")}`] : []),
  ];
  const subject = `bundle ${goQuote(best.bundle.name)} (version ${versionOf(best)}) of catalog ${goQuote(findings.catalog)}`;
  return [`${subject}: ${rankOf(findings, best, query)}${relation(findings, best, query)}`, ...remarks].join("; ");
}

/** Where `best` stands among what the filters left, `wanted` being what they ask for. */
function rankOf({ allowed }: Findings, best: Candidate, query: Query): string {
  const sound = allowed.filter((candidate) => !candidate.deprecated).length;
  const count = best.deprecated ? allowed.length : sound;
  const versions = `${count === 1 ? "the only version" : `highest of ${counted(count, "version")}`}${wanted(query)}`;
  if (best.deprecated) return `${versions}, ${count === 1 ? "deprecated" : "all deprecated"}`;
  return sound < allowed.length ? `${versions} that ${count === 1 ? "is" : "are"} not deprecated` : versions;
}

function relation({ edges }: Findings, best: Candidate, query: Query): string {
  const { installed } = query;
  if (!installed) return "";
  const edge = edgeTo(best, query, edges);
  const from = goQuote(installed.name);
  if (!edge) return `, no successor of ${from} by the catalog's edges: upgradeConstraintPolicy SelfCertified overrides them`;
  return edge.via === "stay" ? ", already installed" : `, successor of ${from} by ${edge.via} in channel ${goQuote(edge.channel)}`;
}

/** Steps that may lose data or break what users built on the operator. */
function stepRemark(best: Candidate, { installed }: Query): string[] {
  const step = installed && stepBetween(installed.version, versionOf(best));
  return step === "major" || step === "rollback"
    ? [`warning: a ${step === "major" ? "major step" : step} from version ${installed?.version}`]
    : [];
}

/** The highest version that only the edges rule out. */
function unreachedRemark({ inRange, eligible }: Findings, best: Candidate, { installed }: Query): string[] {
  if (!installed) return [];
  const kept = new Set(eligible);
  const [highest] = inRange.filter((candidate) => !kept.has(candidate) && compareNewestFirst(candidate, best) < 0).sort(compareNewestFirst);
  return highest?.version ? [`version ${versionOf(highest)} is higher, but no edge leads to it from ${goQuote(installed.name)}`] : [];
}

/** The cluster is beyond what the chosen bundle supports; where its version is not known there is nothing to warn of. */
function clusterRemark(best: Candidate, query: Query): string[] {
  const objection = objectionOf(best, query);
  return objection && objection.kind !== "unknown" ? [`warning: ${objectionText(objection)}`] : [];
}

function skipRemark({ channels }: Findings, best: Candidate): string[] {
  const [first] = skippedBy(channels, best.bundle.name);
  return first ? [`warning: entry ${goQuote(first.entry)} of channel ${goQuote(first.channel)} skips this bundle`] : [];
}

function passedOverRemark(passedOver: readonly Findings[], { priority }: Findings, best: Candidate): string[] {
  const deprecated = passedOver.filter((other) => other.best?.deprecated && !best.deprecated).map(({ catalog }) => catalog);
  const lower = passedOver.filter((other) => !deprecated.includes(other.catalog)).map(({ catalog }) => catalog);
  return [
    ...(lower.length > 0 ? [`its priority ${priority} comes before that of catalogs ${listed(lower)}`] : []),
    ...(deprecated.length > 0 ? [`catalogs ${listed(deprecated)} have deprecated bundles only`] : []),
  ];
}

const MAX_SENTENCES = 3;

/**
 * Why no catalog has a bundle for the query: for each catalog how many candidates every filter left, up to the one that left none,
 * and what would have been near. Catalogs of which the same is true share a sentence; there are at most three.
 * @param asked names of the catalogs that answered, in order.
 * @param findings of those that have the package, in order; each without a best candidate.
 */
export function explainNothing(asked: readonly string[], findings: readonly Findings[], query: Query): string {
  if (asked.length === 0) return "there is no catalog to resolve from: none is available that spec.source.catalog.selector selects";
  if (findings.length === 0) return `package ${goQuote(query.packageName)} is in none of the catalogs ${listed(asked)}`;
  const catalogsBySentence = new Map<string, string[]>();
  for (const one of findings) {
    const sentence = emptied(one, query);
    catalogsBySentence.set(sentence, [...(catalogsBySentence.get(sentence) ?? []), one.catalog]);
  }
  const sentences = [...catalogsBySentence].map(([sentence, catalogs]) => {
    const [only = "", ...others] = catalogs;
    return `${others.length === 0 ? `catalog ${goQuote(only)}` : `catalogs ${listed(catalogs)}`}: ${sentence}`;
  });
  const more = sentences.length - MAX_SENTENCES;
  return [...sentences.slice(0, MAX_SENTENCES), ...(more > 0 ? [`${counted(more, "more catalog")} without one`] : [])].join("; ");
}

/** Such as `6 bundles, 2 in channels [beta], none matching "3.0.0": the highest there is 1.0.2`. */
function emptied(findings: Findings, query: Query): string {
  const { all } = findings;
  if (all.length === 0) return "the package has no bundles";
  const left = [counted(all.length, "bundle")];
  for (const step of filterSteps(findings, query)) {
    left.push(`${step.left.length === 0 ? "none" : step.left.length} ${step.asks}`);
    if (step.left.length === 0) return `${left.join(", ")}: ${step.near().join(", ")}`;
  }
  return left.join(", ");
}

/** Longest sentence, in characters; it quotes what a catalog says. */
const MAX_CAUTION = 600;

/**
 * What is disregarded when `best` is moved to, a sentence each: that no upgrade edge leads to it, which only SelfCertified allows, and that an
 * entry of the channels that count skips it. Nothing for the bundle that is installed already.
 */
export function cautionsOn({ edges, channels }: Pick<Findings, "edges" | "channels">, best: Candidate, query: Query): string[] {
  const edge = edgeTo(best, query, edges);
  if (edge?.via === "stay") return [];
  const subject = `bundle ${goQuote(best.bundle.name)} (version ${versionOf(best)}) was chosen although`;
  const cautions: string[] = [];
  const { installed } = query;
  if (installed && !edge) {
    const step = stepBetween(installed.version, versionOf(best));
    const kind = step === "rollback" ? "a rollback" : step === "major" ? "a major step" : undefined;
    const risk = kind ? `; ${kind} may lose data: see what its author says of it` : "";
    const from = `${goQuote(installed.name)} (version ${installed.version})`;
    cautions.push(`${subject} no upgrade edge leads to it from ${from}: upgradeConstraintPolicy SelfCertified overrides the edges${risk}`);
  }
  const [first] = skippedBy(channels, best.bundle.name);
  if (first) cautions.push(`${subject} entry ${goQuote(first.entry)} of channel ${goQuote(first.channel)} skips it`);
  return cautions.map((caution) => truncate(caution, MAX_CAUTION));
}

/** Longest reason why a catalog cannot answer, in characters. */
const MAX_REASON = 300;

/** The answer when there is no bundle to install. @param reason in Go's words. @param explanation in ours. */
export function unresolved(cause: Unresolved["cause"], reason: string, explanation: string): Unresolved {
  return { kind: "unresolved", cause, reason, explanation, message: `${reason}; ${explanation}`, retry: true };
}

/**
 * The answer while a catalog cannot be asked that could change it.
 * @param silent all that cannot be asked. @param first the best that the others offer.
 */
export function blocked(
  blocking: CatalogContent,
  silent: readonly CatalogContent[],
  { packageName }: Query,
  first: Offer | undefined,
): Unresolved {
  const { name, priority, unavailable = "", reports } = blocking;
  const reason = `error walking catalogs: error getting package ${goQuote(packageName)} from catalog ${goQuote(name)}: ${unavailable}`;
  const explanation = first
    ? `catalog ${goQuote(name)} of priority ${priority} may have a better bundle than ${goQuote(first.best.bundle.name)} of catalog ${goQuote(first.catalog)} (priority ${first.priority}); a lower spec.priority, or a selector without it, lets resolution go on`
    : "no other catalog has a bundle that fits";
  const others = silent.filter((catalog) => catalog !== blocking).map(silenceText);
  const more = others.length > 0 ? [`catalogs not asked either: ${enumerated(others)}`] : [];
  const own = reports === undefined ? [] : [truncate(reports, MAX_REASON)];
  return unresolved("catalog", reason, [...own, explanation, ...more].join("; "));
}

/** Go's text, word for word; `catalogs` are those between which the choice is ambiguous. */
export function notFoundReason(
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

/** Between which bundles it is a tie, and how to decide it. */
export function explainTie(tied: readonly Offer[]): string {
  const offers = tied.map(({ catalog, best }) => `catalog ${goQuote(catalog)} has ${goQuote(best.bundle.name)}`);
  return `${offers.join(", ")}, each at priority ${tied[0]?.priority ?? 0}: raise spec.priority of one, or select one with spec.source.catalog.selector`;
}

/** A catalog that cannot answer, and why, in some hundred characters. */
export function silenceText(catalog: CatalogContent): string {
  return `${goQuote(catalog.name)} (${truncate(silenceReason(catalog), MAX_REASON)})`;
}

/** Why a catalog cannot answer, and what it reports about itself; empty for one that can. Not clipped. */
export function silenceReason({ unavailable = "", reports }: CatalogContent): string {
  return reports === undefined ? unavailable : `${unavailable}; ${reports}`;
}
