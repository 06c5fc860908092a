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
import type { Authenticated, ReconcileStep, Unpacked } from "../state/phases.ts";
import { removeExtensionObjects, removeReleases } from "./delete.ts";
import { type RollbackServices, rollBackToPrevious } from "./rollback.ts";
import type { Services } from "./services.ts";

/** Dependencies of the rollback of a plan. */
export type PlanFailureServices = RollbackServices & Pick<Services, "created" | "plans" | "requeueAfter">;

/** Time until the reconcile after a rollback, which compares the plan with the spec and the catalogs. */
const ROLLED_BACK_MS = 1_000;

/**
 * Rolls back the plan of an extension after one of its extensions failed: uninstalls the extensions that the plan has created, and restores the previous
 * release of the root. Without an earlier release, removes the objects of the root, but no custom resources. Runs before resolution, because the spec or
 * the catalogs may no longer allow the planned bundle.
 * @throws WaitingError Retrying after the rollback, and while it waits for the deletion of objects
 */
export function rollBackPlan(services: PlanFailureServices): ReconcileStep<Authenticated> {
  return {
    name: "RollBackPlan",
    async run(phase, context) {
      const { created, events, memory, now, plans, requeueAfter } = services;
      const { extension, pinned, report } = phase;
      const { name, generation = 0 } = extension.metadata;
      const plan = plans.of(name);
      const message = plans.getFailure(name);
      if (!plan || message === undefined || pinned) return phase;
      await created.abandon(extension, plan, context.signal);
      const waitingFor = await undo(services, phase, plan, message, context);
      if (waitingFor.length > 0) {
        requeueAfter(name, memory.awaitDeletion(extension, waitingFor, now()));
        const text = `rolling back the plan because ${message}: waiting for ${formatFirst(waitingFor)} to be deleted`;
        throw new WaitingError(Reason.Retrying, text, { isOver: () => Promise.resolve(false) });
      }
      plans.recordFailure(name, { message, generation, at: now() });
      events.record(extension, "Warning", "DependencyPlanFailed", `bundles were removed because ${message}`);
      const { status } = plans.of(name) ?? plan;
      report.dependencyPlan = { kind: "plan", plan: status };
      requeueAfter(name, ROLLED_BACK_MS);
      throw newRolledBack(name, status, status.failure ?? { message, retryAt: "" });
    },
  };
}

/**
 * Resumes a plan that was rolled back when the time of the next attempt is reached, or the spec has changed.
 * @throws WaitingError Retrying until then
 */
export function awaitNextAttempt(
  { now, plans, requeueAfter }: Pick<PlanFailureServices, "now" | "plans" | "requeueAfter">,
  { extension: { metadata }, report }: Unpacked,
  plan: KnownPlan,
): void {
  const { name, generation = 0 } = metadata;
  const { status } = plans.of(name) ?? plan;
  const { failure } = status;
  report.dependencyPlan = { kind: "plan", plan: status };
  const left = failure && failure.generation === generation ? Date.parse(failure.retryAt) - now() : 0;
  if (!failure || left <= 0) return plans.resume(name);
  requeueAfter(name, left);
  throw newRolledBack(name, status, failure);
}

function newRolledBack(
  extension: string,
  { bundle }: KnownPlan["status"],
  { message, retryAt }: Pick<NonNullable<KnownPlan["status"]["failure"]>, "message" | "retryAt">,
): WaitingError {
  const text = truncateForCondition(
    `the plan to install bundle ${goQuote(bundle.name)} was rolled back because ${message}; the controller retries after ${retryAt}, or as soon as the spec or a bundle changes`,
    extension,
  );
  return new WaitingError(Reason.Retrying, text, {
    isOver: () => Promise.resolve(false),
    problems: [newProblem("RolledBack", { message: text })],
  });
}

/** Undoes what the root has installed for a plan. @returns the objects to wait for */
async function undo(
  deps: PlanFailureServices,
  phase: Authenticated,
  { status }: KnownPlan,
  message: string,
  context: StepContext,
): Promise<readonly string[]> {
  const { extension, releases, client } = phase;
  const [latest] = releases.history.current;
  if (!latest || readInstalledBundle(latest).name !== status.bundle.name) return [];
  if (await rollBackToPrevious(deps, phase, latest, { message, catalog: status.catalog }, context)) return [];
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
