import { goQuote } from "../golang/quote.ts";
import { compareNewestFirst, defaultOf } from "../fbc/bundleOrder.ts";
import { type Candidate } from "./candidates.ts";
import { objectionText } from "./clusterObjection.ts";
import type { Findings, RuledOut } from "./filters.ts";
import { counted } from "./wording.ts";

const MAX_BUNDLES = 3;
const MAX_CATALOGS = 3;

/**
 * What clusterVersionPolicy Enforce rules out that would have been taken in place of `choice`: one sentence for a catalog, at most three.
 * Empty when it rules out nothing better.
 */
export function explainRuledOut(findings: readonly Findings[], choice: Findings & { readonly best: Candidate }): string[] {
  const sentences = findings.flatMap((found) => {
    const better = betterThan(choice, found);
    const where = found.catalog === choice.catalog ? "" : ` of catalog ${goQuote(found.catalog)}`;
    return better.length > 0 ? [`clusterVersionPolicy Enforce does not move to ${listRuledOut(better)}${where}; Warn would`] : [];
  });
  return sentences.slice(0, MAX_CATALOGS);
}

function betterThan({ catalog, priority, best }: Findings & { readonly best: Candidate }, found: Findings): readonly RuledOut[] {
  if (found.catalog === catalog) return found.ruledOut.filter(({ candidate }) => defaultOf([best, candidate]) === candidate);
  return found.best || found.priority < priority ? [] : found.ruledOut;
}

/** Such as `bundle "p.v1.2.0" (its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18), 2 more bundles`; the highest three are told. */
export function listRuledOut(ruledOut: readonly RuledOut[]): string {
  const sorted = ruledOut.toSorted((a, b) => compareNewestFirst(a.candidate, b.candidate));
  const told = sorted
    .slice(0, MAX_BUNDLES)
    .map(({ candidate, objection }) => `bundle ${goQuote(candidate.bundle.name)} (${objectionText(objection)})`);
  const more = sorted.length - MAX_BUNDLES;
  return [...told, ...(more > 0 ? [counted(more, "more bundle")] : [])].join(", ");
}
