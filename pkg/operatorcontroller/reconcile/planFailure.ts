import { Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import { goQuote } from "../../golang/quote.ts";
import { readInstalledBundle } from "../../release/installedBundle.ts";
import { getSafeCrdPolicy } from "../../release/plan.ts";
import { findLastDeployed } from "../../release/record.ts";
import { truncateForCondition } from "../../resolve/wording.ts";
import { newReleaseHistory } from "../releases/releaseStore.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { KnownPlan } from "../state/knownPlan.ts";
import { formatFirst } from "../state/objectActions.ts";
import type { Unpacked } from "../state/phases.ts";
import { removeExtensionObjects, removeReleases } from "./delete.ts";
import { type RollbackServices, rollBackToPrevious } from "./rollback.ts";
import type { Services } from "./services.ts";

/** Dependencies of the rollback of a plan. */
export type PlanFailureServices = RollbackServices & Pick<Services, "created" | "plans" | "requeueAfter">;

/**
 * Rolls back a plan after one of its extensions failed: uninstalls the extensions that the plan has created, and restores the previous release of the
 * root. Without an earlier release, removes the objects of the root, but no custom resources. Then waits until the next attempt, a change of the spec,
 * or another plan.
 * @throws WaitingError Retrying while the plan is rolled back or waits for the next attempt
 */
export async function rollBackFailedPlan(deps: PlanFailureServices, phase: Unpacked, plan: KnownPlan, context: StepContext): Promise<void> {
  const { extension, report } = phase;
  const { name, generation = 0 } = extension.metadata;
  const message = deps.plans.getFailure(name);
  if (message !== undefined) {
    await deps.created.abandon(extension, plan, context.signal);
    const waitingFor = await undo(deps, phase, plan, message, context);
    if (waitingFor.length > 0) {
      deps.requeueAfter(name, deps.memory.awaitDeletion(extension, waitingFor, deps.now()));
      const text = `rolling back the plan because ${message}: waiting for ${formatFirst(waitingFor)} to be deleted`;
      throw new WaitingError(Reason.Retrying, text, { isOver: () => Promise.resolve(false) });
    }
    deps.plans.recordFailure(name, { message, generation, at: deps.now() });
    deps.events.record(extension, "Warning", "DependencyPlanFailed", `bundles were removed because ${message}`);
  }
  const { status } = deps.plans.of(name) ?? plan;
  report.dependencyPlan = { kind: "plan", plan: status };
  const left = status.failure && status.failure.generation === generation ? Date.parse(status.failure.retryAt) - deps.now() : 0;
  if (!status.failure || left <= 0) return deps.plans.resume(name);
  deps.requeueAfter(name, left);
  const text = truncateForCondition(
    `the plan to install bundle ${goQuote(status.bundle.name)} was rolled back because ${status.failure.message}; the controller retries after ${status.failure.retryAt}, or as soon as the spec or a bundle changes`,
    name,
  );
  const problems = [newProblem("RolledBack", { message: text })];
  throw new WaitingError(Reason.Retrying, text, { isOver: () => Promise.resolve(false), problems });
}

/** Undoes what the root has installed for a plan. @returns the objects to wait for */
async function undo(
  deps: PlanFailureServices,
  phase: Unpacked,
  { status }: KnownPlan,
  message: string,
  context: StepContext,
): Promise<readonly string[]> {
  const { extension, releases, client } = phase;
  const [latest] = releases.history.current;
  if (!latest || readInstalledBundle(latest).name !== status.bundle.name) return [];
  if (await rollBackToPrevious(deps, phase, latest, message, context)) return [];
  if (latest.status !== "deployed" && findLastDeployed(releases.history.current)) return [];
  const { name } = extension.metadata;
  // The controller must not restore the objects that it deletes.
  phase.changes.began = true;
  deps.watches?.forget(name);
  deps.memory.record(extension, releases.history.current, { keep: true });
  // No user deleted the extension, so its custom resources stay, even with crdPolicy Delete.
  const waitingFor = await removeExtensionObjects(deps, extension, client, context, getSafeCrdPolicy(extension.spec));
  if (waitingFor.length > 0) return waitingFor;
  await removeReleases(deps, name, releases.history, context.signal);
  releases.history = newReleaseHistory();
  releases.installed = undefined;
  releases.active = [];
  return [];
}
