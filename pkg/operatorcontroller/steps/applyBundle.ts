import type { Step, StepContext } from "../../controller/reconcile.ts";
import { configNotes } from "../../render/configNotes.ts";
import { ApplyPass } from "../apply/applyPass.ts";
import { renderFor } from "../apply/preparedObjects.ts";
import { requireCurrentCrds } from "../apply/requireCurrentCrds.ts";
import { withdrawRefused } from "../apply/withdraw.ts";
import { revealNamespaces } from "../configuration/hiding.ts";
import { configOf, type PassFacts } from "../facts.ts";
import { proxyOf } from "../proxy/passProxy.ts";
import { finishRollback, goToPinned, type RollbackDependencies, undoFailed } from "../releases/rollback.ts";

/**
 * Brings the cluster to what the resolved bundle says, as a numbered release:
 *
 * | release on record           | bundle content | action                                              |
 * | deployed, same input        | not needed     | compare and correct objects when the interval is up |
 * | deployed                    | not available  | the same (maintain what is installed)               |
 * | none, failed or left behind | any            | preflight, then apply as a release                  |
 * | deployed, other objects     | available      | preflight, then apply as a new release and prune    |
 * | a rollback, bundle held     | not needed     | complete the rollback, then compare and correct     |
 *
 * A pinned release is applied, or maintained, in place of all this. An upgrade that is refused in the middle is undone, see
 * `undoFailed`, and so is an install that exceeds a quota, see `withdrawRefused`.
 */
export function applyBundle(deps: RollbackDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "ApplyBundle",
    async run(facts, context) {
      const { resolved, scoped, content } = facts;
      if (!resolved || !scoped) return undefined;
      if (facts.pinned) {
        await goToPinned(deps, facts, context);
        return undefined;
      }
      const pass = new ApplyPass(deps, facts, scoped, context);
      if (facts.held && facts.history.current[0]?.status !== "deployed") {
        await finishRollback(deps, facts, context);
        return undefined;
      }
      const config = configOf(facts);
      if (!content) {
        const [latest] = facts.history.current;
        if (latest?.inputDigest === facts.inputDigest) facts.notes.push(...configNotes(config, latest?.objects ?? []));
        await pass.keep(true);
        return undefined;
      }
      const objects = await renderFor(facts, content, facts.certProvider, proxyOf(facts));
      revealNamespaces(facts.hidden, objects);
      facts.notes.push(...configNotes(config, objects));
      requireCurrentCrds(resolved.name, content);
      try {
        const { annotations, requirements } = content;
        await pass.release({ bundle: resolved, objects, annotations, requirements, flaws: facts.flaws });
        facts.installed = resolved;
      } catch (err) {
        await withdrawRefused(deps, facts, context, err);
        if (!(await undoFailed(deps, facts, context, err))) throw err;
      }
      return undefined;
    },
  };
}

/**
 * Keeps what is installed as it is in a pass that could not get to anything newer: no bundle was found, or it cannot be fetched, rendered or
 * applied. Once a release of something newer has begun there is nothing to keep: putting the old objects back would undo it half.
 */
export async function keepInstalled(
  deps: RollbackDependencies,
  facts: PassFacts,
  context: StepContext<PassFacts["extension"]>,
): Promise<void> {
  const { scoped, history, began, deleting, installed } = facts;
  const [latest] = history.current;
  if (scoped && latest?.rolledBack && latest.status !== "deployed" && !began && deleting === undefined)
    return finishRollback(deps, facts, context);
  if (!scoped || !installed || began || deleting !== undefined || latest?.status !== "deployed") return;
  await new ApplyPass(deps, facts, scoped, context).keep(false);
}
