import { refOf } from "../../api/k8s.ts";
import type { Step, StepContext } from "../../controller/reconcile.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { isQuotaExceeded } from "../../kube/errors.ts";
import { isCrd, objectKey } from "../../release/identity.ts";
import { uninstallOrder } from "../../release/plan.ts";
import { lastDeployed } from "../../release/record.ts";
import { configNotes } from "../../render/configNotes.ts";
import { Applier, RequestsFailed } from "../apply/applier.ts";
import type { ApplyDependencies } from "../apply/applyContext.ts";
import { ApplyPass } from "../apply/applyPass.ts";
import { oursOf, removeCrds } from "../apply/keptCrds.ts";
import { renderFor } from "../apply/preparedObjects.ts";
import { revealNamespaces } from "../state/hiddenValues.ts";
import { changes, summary } from "../state/objectActions.ts";
import { proxyOf } from "../state/proxyVariables.ts";
import { configOf, type ReconcileState } from "../state/reconcileState.ts";
import { requireCurrentCrds } from "./check.ts";
import { finishRollback, goToPinned, type RollbackDependencies, undoFailed } from "./rollback.ts";

function exceedsQuota(err: unknown): boolean {
  return err instanceof RequestsFailed && err.failures.some((failure) => isQuotaExceeded(failure.err));
}

/**
 * Takes away again what a first install has created in this pass, when a quota of the namespace refused the rest: half an operator is of no
 * use, and the namespace has no room for the other half. Whatever else refuses a first install leaves it as it is, to go on from there. A
 * CustomResourceDefinition that is in use by now stays, and so does what is somebody else's by now.
 * @throws RetryableError Retrying with the cause, and with what was removed, or why it could not be.
 */
async function withdrawRefused(
  deps: Pick<ApplyDependencies, "events">,
  { failed, history, scoped, extension }: ReconcileState,
  { log, signal }: StepContext<ReconcileState["extension"]>,
  cause: unknown,
): Promise<void> {
  if (!failed || !scoped || lastDeployed(history.current) || signal.aborted || !exceedsQuota(cause)) return;
  const created = new Set(failed.actions.filter(({ verb }) => verb === "created").map(({ ref }) => objectKey(ref)));
  if (created.size === 0) return;
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: extension.spec.namespace };
  const applier = new Applier(scoped, log, signal);
  const written = uninstallOrder(failed.release.objects.filter((object) => created.has(objectKey(object))));
  let outcome: string;
  try {
    const live = await applier.read(written.map(refOf));
    const ours = oursOf(written, live, owner);
    await applier.remove(ours.filter((object) => !isCrd(object)));
    const { kept } = await removeCrds(applier, scoped, ours.filter(isCrd), "DeleteIfUnused", signal);
    const stays = kept.length === 0 ? "" : `; kept: ${kept.map(({ text }) => text).join("; ")}`;
    outcome = `what had been created was removed again: ${summary(changes(applier.actions))}${stays}`;
  } catch (err) {
    signal.throwIfAborted();
    outcome = `removing again what had been created failed as well: ${messageOf(err)}`;
  }
  deps.events.record(extension, "Warning", "InstallUndone", `install did not fit into a quota; ${outcome}`);
  const advice = "with the right to list resourcequotas in its namespace the ServiceAccount finds that out before anything is written";
  throw new RetryableError("Retrying", `${messageOf(cause)}; ${outcome}; ${advice}`, { cause });
}

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
export function applyBundle(deps: RollbackDependencies): Step<ReconcileState["extension"], ReconcileState> {
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
  facts: ReconcileState,
  context: StepContext<ReconcileState["extension"]>,
): Promise<void> {
  const { scoped, history, began, deleting, installed } = facts;
  const [latest] = history.current;
  if (scoped && latest?.rolledBack && latest.status !== "deployed" && !began && deleting === undefined)
    return finishRollback(deps, facts, context);
  if (!scoped || !installed || began || deleting !== undefined || latest?.status !== "deployed") return;
  await new ApplyPass(deps, facts, scoped, context).keep(false);
}

/**
 * Puts back at once what was seen to be deleted or changed, before anything is resolved: neither catalogs nor registries are needed for it.
 * A failure is left to the steps that follow, which try again: what they are about to install may be the cure.
 */
export function correctDrift(deps: ApplyDependencies): Step<ReconcileState["extension"], ReconcileState> {
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
