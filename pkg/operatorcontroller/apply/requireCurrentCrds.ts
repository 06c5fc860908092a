import { Reason } from "../../api/constants.ts";
import type { BundleSummary } from "../../bundle/bundleSummary.ts";
import { legacyCrdFaults } from "../../bundle/legacyCrds.ts";
import { TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";

/** Definitions that need the same are one finding. */
const MAX_TOLD = 3;

/**
 * Refuses a bundle for definitions that no API server takes any more.
 * @param name the bundle's, as its catalog has it.
 * @throws TerminalError Blocked that names each of them and what its author has to do.
 */
export function requireCurrentCrds(name: string, bundle: Pick<BundleSummary, "legacyCrds">): void {
  const faults = legacyCrdFaults(bundle);
  if (faults.length === 0) return;
  const more = faults.length > MAX_TOLD ? [`${faults.length - MAX_TOLD} more such findings, which olmv1 bundle validate tells`] : [];
  const told = [...faults.slice(0, MAX_TOLD), ...more].join(", and ");
  const text = `bundle ${goQuote(name)} cannot be applied: ${told}; nothing was changed, and another version can be chosen with spec.source.catalog.version`;
  throw new TerminalError(Reason.Blocked, text);
}
