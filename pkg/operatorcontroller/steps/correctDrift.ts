import type { Step } from "../../controller/reconcile.ts";
import { messageOf } from "../../errors/errors.ts";
import type { ApplyDependencies } from "../apply/applyDependencies.ts";
import { ApplyPass } from "../apply/applyPass.ts";
import type { PassFacts } from "../facts.ts";

/**
 * Puts back at once what was seen to be deleted or changed, before anything is resolved: neither catalogs nor registries are needed for it.
 * A failure is left to the steps that follow, which try again: what they are about to install may be the cure.
 */
export function correctDrift(deps: ApplyDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "CorrectDrift",
    async run(facts, context) {
      const { extension, scoped, history, installed } = facts;
      const [latest] = history.current;
      if (!scoped || !installed || latest?.status !== "deployed") return undefined;
      if ((deps.watches?.suspects(extension.metadata.name) ?? []).length === 0) return undefined;
      try {
        await new ApplyPass(deps, facts, scoped, context).maintain();
      } catch (err) {
        context.signal.throwIfAborted();
        facts.began = false;
        context.log.debug({ reason: messageOf(err) }, "drift not corrected at once");
      }
      return undefined;
    },
  };
}
