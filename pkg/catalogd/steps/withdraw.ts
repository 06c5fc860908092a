import { FINALIZER_DELETE_SERVER_CACHE } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import { wrapError } from "../../errors/errors.ts";
import type { CatalogFacts } from "../facts.ts";

/** What keeps things of a catalog that must go with it. */
export interface CatalogKeeper {
  /** Removes everything kept of the catalog; nothing there is fine. */
  remove(name: string): Promise<void>;
}

/**
 * Removes the content of a catalog that is being deleted or is switched off, and ends the pass. The finalizer is let go afterwards, when the
 * status has been written.
 * @param keepers in order: what is served first.
 */
export function withdraw(keepers: readonly CatalogKeeper[]): Step<CatalogFacts["catalog"], CatalogFacts> {
  return {
    name: "Withdraw",
    async run(facts) {
      const { metadata, spec } = facts.catalog;
      const unavailable = spec.availabilityMode === "Unavailable";
      const deleted = metadata.deletionTimestamp !== undefined;
      if (!unavailable && !deleted) return undefined;
      if (deleted && !metadata.finalizers?.includes(FINALIZER_DELETE_SERVER_CACHE)) {
        facts.leave = true;
        return {};
      }
      facts.withdrawn = deleted ? "deleted" : "unavailable";
      try {
        for (const keeper of keepers) await keeper.remove(metadata.name);
      } catch (err) {
        throw unavailable ? err : wrapError(`finalizer "${FINALIZER_DELETE_SERVER_CACHE}" failed: `, err);
      }
      return {};
    },
  };
}
