import { truncate } from "../text/truncate.ts";
import { goQuote } from "../golang/quote.ts";
import type { CatalogContent } from "./catalogContent.ts";
import type { Query } from "./filters.ts";
import type { Offer } from "./offers.ts";
import type { Unresolved } from "./resolution.ts";
import type { InstalledBundle } from "./successors.ts";
import { enumerated } from "./wording.ts";

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
