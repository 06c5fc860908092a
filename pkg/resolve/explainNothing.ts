import { goQuote } from "../golang/quote.ts";
import { filterSteps } from "./explanation/filterSteps.ts";
import type { Findings, Query } from "./filters.ts";
import { counted, listed } from "./wording.ts";

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
