import type { Step } from "../../controller/reconcile.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";

/**
 * Remembers whether some catalog could not be asked although the pass got on without it. Nothing tells when a server answers again, so such an
 * extension is looked at again soon.
 */
export function lookAgain(memory: ExtensionMemory): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "LookAgain",
    run({ extension, catalogs = [] }) {
      memory.of(extension).missesCatalogs = catalogs.some(({ unavailable }) => unavailable !== undefined);
      return Promise.resolve(undefined);
    },
  };
}
