import type { Candidate } from "./candidates.ts";
import { type CatalogContent, hasContent } from "./catalogContent.ts";
import { type Findings, findIn } from "./filters.ts";
import type { Considered } from "./resolution.ts";

/** The best of what one catalog has left. */
export type Offer = Findings & { readonly best: Candidate };

/** What catalogs offer, highest priority first and else in the order given; deprecated bundles only where there are no others. */
export function offersOf(findings: readonly Findings[]): Offer[] {
  const offers = findings.flatMap((found) => (found.best ? [{ ...found, best: found.best }] : []));
  const sound = offers.filter(({ best }) => !best.deprecated);
  return (sound.length > 0 ? sound : offers).sort((a, b) => b.priority - a.priority);
}

/** Returns the first selected catalog, by name, that cannot answer and whose answer could change the choice. */
export function blockingCatalog(considered: Considered): CatalogContent | undefined {
  const [first] = offersOf(considered.findings);
  return considered.selected.find((one) => one.unavailable !== undefined && couldChange(one, first, considered));
}

/**
 * Reports whether the answer of a catalog that cannot answer could change the choice. The first row that matches decides:
 *
 * | when it last answered, no bundle of it passed the filters                           | no  |
 * | it never answered, and the best offer comes from the catalog of the installed bundle | no  |
 * | nothing else is offered, or only what is deprecated                                 | yes |
 * | its priority is not lower than that of the best offer                               | yes |
 *
 * The second row keeps updates coming from the catalog that the installed bundle came from while another catalog is new or broken. A catalog that
 * the installed bundle did not come from never replaces one that is out of reach: that could install content from a source that nobody chose.
 */
function couldChange(catalog: CatalogContent, first: Offer | undefined, { query, installedFrom }: Considered): boolean {
  const { lastKnown, priority } = catalog;
  if (lastKnown && !(hasContent(lastKnown.content) && findIn(catalog, lastKnown.content, query).best)) return false;
  if (!lastKnown && first && first.catalog === installedFrom) return false;
  return !first || first.best.deprecated || priority >= first.priority;
}
