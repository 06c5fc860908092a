import type { Step } from "../../controller/reconcile.ts";
import type { PassFacts } from "../facts.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";

/** Ends the pass over an extension that somebody suspended. Nothing of it is watched either: once it goes on, everything is compared. */
export function holdSuspended(watches: readonly Pick<ObjectWatches, "forget">[]): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "HoldSuspended",
    run(facts) {
      const { metadata, spec } = facts.extension;
      if (!spec.suspend) return Promise.resolve(undefined);
      facts.isSuspended = true;
      for (const one of watches) one.forget(metadata.name);
      return Promise.resolve({});
    },
  };
}
