import { FINALIZER_DELETE_SERVER_CACHE } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import { wrapError } from "../../errors/errors.ts";
import { isConflict } from "../../kube/errors.ts";
import type { CatalogFacts } from "../facts.ts";
import type { CatalogMetadata } from "../metadata.ts";

const CONFLICT_MS = 1_000;

/** Puts finalizer and name label on a catalog before anything is stored for it. */
export function ensureMetadata(metadata: CatalogMetadata): Step<CatalogFacts["catalog"], CatalogFacts> {
  return {
    name: "EnsureMetadata",
    async run(facts, { log, signal }) {
      const finalizers = facts.catalog.metadata.finalizers ?? [];
      const missing = finalizers.includes(FINALIZER_DELETE_SERVER_CACHE) ? undefined : [...finalizers, FINALIZER_DELETE_SERVER_CACHE];
      try {
        if (await metadata.set(facts.catalog, missing, signal)) log.debug("metadata set");
        return undefined;
      } catch (err) {
        if (!isConflict(err)) throw wrapError("error updating finalizers: ", err);
        facts.leave = true; // somebody changed the object; the pass that its event brings works with the new one
        return { requeueAfterMs: CONFLICT_MS };
      }
    },
  };
}
