import { formatClusterVersionConflict } from "../bundle/maxOpenShiftVersion.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { formatCount } from "../text/lists.ts";
import { truncate } from "../text/truncate.ts";
import { getVersionStep } from "../version/step.ts";
import type { Candidate } from "./candidates.ts";
import { type FilterResult, findClusterConflict, findEdge, type ResolutionQuery } from "./filters.ts";
import { findSkippingEntries } from "./successors.ts";
import { formatCandidateVersion, formatGoList, formatQuery } from "./wording.ts";

/**
 * Explains why `best` was chosen, in one sentence of a few hundred characters, such as `bundle "x.v1.2.0" (version 1.2.0) of catalog "c": highest of
 * 3 versions in channels [stable] matching ">=1.0", successor of "x.v1.1.0" by replaces in channel "stable"`. Adds remarks about: a major upgrade or
 * downgrade, a higher version without an upgrade edge, a channel entry that skips the bundle, catalogs that were not chosen or are unavailable, and a
 * cluster version that the bundle does not support. `rejections` are sentences about bundles that clusterVersionPolicy or
 * supportPolicy excludes.
 */
export function explainChoice(
  result: FilterResult,
  best: Candidate,
  query: ResolutionQuery,
  passedOver: readonly FilterResult[],
  unavailable: readonly string[],
  rejections: readonly string[],
): string {
  const remarks = [
    ...findStepWarning(best, query),
    ...findUnreachedRemark(result, best, query),
    ...findSkipWarning(result, best),
    ...findClusterWarning(best, query),
    ...rejections,
    ...findNotChosenRemark(passedOver, result, best),
    ...(unavailable.length > 0 ? [`unavailable catalogs: ${unavailable.join(", ")}`] : []),
  ];
  const subject = `bundle ${goQuote(best.bundle.name)} (version ${formatCandidateVersion(best)}) of catalog ${goQuote(result.catalog)}`;
  return [`${subject}: ${describeRank(result, best, query)}${describeEdge(result, best, query)}`, ...remarks].join("; ");
}

/** Describes the rank of `best` among the candidates that the filters left. */
function describeRank({ allowed }: FilterResult, best: Candidate, query: ResolutionQuery): string {
  const supported = allowed.filter((candidate) => !candidate.deprecated).length;
  const count = best.deprecated ? allowed.length : supported;
  const versions = `${count === 1 ? "the only version" : `highest of ${formatCount(count, "version")}`}${formatQuery(query)}`;
  if (best.deprecated) return `${versions}, ${count === 1 ? "deprecated" : "all deprecated"}`;
  return supported < allowed.length ? `${versions} that ${count === 1 ? "is" : "are"} not deprecated` : versions;
}

function describeEdge({ edges }: FilterResult, best: Candidate, query: ResolutionQuery): string {
  const { installed } = query;
  if (!installed) return "";
  const edge = findEdge(best, query, edges);
  const from = goQuote(installed.name);
  if (!edge) return `, without an upgrade edge from ${from}: upgradeConstraintPolicy SelfCertified allows it`;
  return edge.via === "stay" ? ", already installed" : `, successor of ${from} by ${edge.via} in channel ${goQuote(edge.channel)}`;
}

/** Returns a warning for a major upgrade or a downgrade, which may lose data or break users of the operator. */
function findStepWarning(best: Candidate, { installed }: ResolutionQuery): string[] {
  const step = installed && getVersionStep(installed.version, formatCandidateVersion(best));
  return step === "major" || step === "rollback"
    ? [`warning: ${step === "major" ? "major upgrade" : "downgrade"} from version ${installed?.version}`]
    : [];
}

/** Returns a remark about the highest version that only the upgrade edges exclude. */
function findUnreachedRemark({ inRange, reachable }: FilterResult, best: Candidate, { installed }: ResolutionQuery): string[] {
  if (!installed) return [];
  const kept = new Set(reachable);
  const [highest] = inRange.filter((candidate) => !kept.has(candidate) && compareNewestFirst(candidate, best) < 0).sort(compareNewestFirst);
  return highest?.version
    ? [`version ${formatCandidateVersion(highest)} is higher, but has no upgrade edge from ${goQuote(installed.name)}`]
    : [];
}

/** Returns a warning if the chosen bundle does not support the cluster's version; empty if that version is unknown. */
function findClusterWarning(best: Candidate, query: ResolutionQuery): string[] {
  const conflict = findClusterConflict(best, query);
  return conflict && conflict.kind !== "unknown" ? [`warning: ${formatClusterVersionConflict(conflict)}`] : [];
}

function findSkipWarning({ channels }: FilterResult, best: Candidate): string[] {
  const [first] = findSkippingEntries(channels, best.bundle.name);
  return first ? [`warning: entry ${goQuote(first.entry)} of channel ${goQuote(first.channel)} skips this bundle`] : [];
}

function findNotChosenRemark(passedOver: readonly FilterResult[], { priority }: FilterResult, best: Candidate): string[] {
  const deprecated = passedOver.filter((other) => other.best?.deprecated && !best.deprecated).map(({ catalog }) => catalog);
  const lower = passedOver.filter((other) => !deprecated.includes(other.catalog)).map(({ catalog }) => catalog);
  return [
    ...(lower.length > 0 ? [`its catalog has priority ${priority}, which is higher than that of catalogs ${formatGoList(lower)}`] : []),
    ...(deprecated.length > 0 ? [`catalogs ${formatGoList(deprecated)} contain only deprecated bundles`] : []),
  ];
}

/** Maximum length of a warning in characters. A warning quotes names from the catalog. */
const MAX_WARNING = 600;

/**
 * Lists warnings about choosing `best`, one sentence each: it has no upgrade edge, which only SelfCertified allows, or an entry of the requested
 * channels skips it. Empty for the installed bundle.
 */
export function findWarnings(
  { edges, channels }: Pick<FilterResult, "edges" | "channels">,
  best: Candidate,
  query: ResolutionQuery,
): string[] {
  const edge = findEdge(best, query, edges);
  if (edge?.via === "stay") return [];
  const subject = `bundle ${goQuote(best.bundle.name)} (version ${formatCandidateVersion(best)}) was chosen although`;
  const warnings: string[] = [];
  const { installed } = query;
  if (installed && !edge) {
    const step = getVersionStep(installed.version, formatCandidateVersion(best));
    const kind = step === "rollback" ? "a downgrade" : step === "major" ? "a major upgrade" : undefined;
    const risk = kind ? `; ${kind} may lose data: check the release notes` : "";
    const from = `${goQuote(installed.name)} (version ${installed.version})`;
    warnings.push(`${subject} it has no upgrade edge from ${from}: upgradeConstraintPolicy SelfCertified allows it${risk}`);
  }
  const [first] = findSkippingEntries(channels, best.bundle.name);
  if (first) warnings.push(`${subject} entry ${goQuote(first.entry)} of channel ${goQuote(first.channel)} skips it`);
  return warnings.map((warning) => truncate(warning, MAX_WARNING));
}
