import type { Step } from "../../controller/reconcile.ts";
import type { PassFacts } from "../facts.ts";
import { proxyNote } from "../proxy/passProxy.ts";

/** Says where Deployments are not as the proxy of the cluster would have them. */
export const tellProxy: Step<PassFacts["extension"], PassFacts> = {
  name: "TellProxy",
  run(facts) {
    const note = facts.held || facts.pinned || !facts.resolved ? undefined : proxyNote(facts);
    if (note !== undefined) facts.notes.push(note);
    return Promise.resolve(undefined);
  },
};
