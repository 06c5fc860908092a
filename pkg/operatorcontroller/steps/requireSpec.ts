import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { TerminalError } from "../../errors/errors.ts";
import { hasSpec, type PassFacts } from "../facts.ts";

/** Stops a pass over an extension without spec, which older definitions let in, before any other step reads it. */
export const requireSpec: Step<PassFacts["extension"], PassFacts> = {
  name: "RequireSpec",
  run(facts) {
    if (hasSpec(facts.extension)) return Promise.resolve(undefined);
    const text = "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension";
    return Promise.reject(new TerminalError(Reason.Blocked, text));
  },
};
