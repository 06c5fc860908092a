import { goQuote } from "../golang/quote.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { stepBetween } from "../version/step.ts";
import { type Candidate } from "./candidates.ts";
import { objectionText } from "./clusterObjection.ts";
import { edgeTo, type Findings, objectionOf, type Query } from "./filters.ts";
import { skippedBy } from "./successors.ts";
import { counted, listed, versionOf, wanted } from "./wording.ts";

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
