import type { Step } from "../../controller/reconcile.ts";
import { messageOf } from "../../errors/errors.ts";
import type { PassFacts } from "../facts.ts";
import type { Identities } from "../rights/identity.ts";

/** Makes sure that the pass can act as the extension's ServiceAccount before it looks for anything to do. */
export function validate(identities: Pick<Identities, "clientFor">): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "Validate",
    async run(facts, { signal }) {
      try {
        const { extension, hidden } = facts;
        const client = await identities.clientFor(extension, signal);
        const hides = extension.spec.config?.valuesFrom !== undefined || !hidden.isEmpty;
        facts.scoped = hides ? client.telling((text) => hidden.hide(text)) : client;
      } catch (err) {
        facts.unknownBecause = messageOf(err);
        throw err;
      }
      return undefined;
    },
  };
}
