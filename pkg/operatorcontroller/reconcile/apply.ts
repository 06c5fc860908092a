import { getNamespace } from "../../api/clusterExtension.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { isPassing, isQuotaExceeded } from "../../kube/errors.ts";
import { getObjectKey, isCrd } from "../../release/identity.ts";
import { getSafeCrdPolicy, sortForUninstall } from "../../release/plan.ts";
import { findLastDeployed } from "../../release/record.ts";
import { listConfigNotes } from "../../render/configNotes.ts";
import { Applier, RequestsFailed } from "../apply/applier.ts";
import type { ApplyServices } from "../apply/applyContext.ts";
import { filterOwned, removeCrds } from "../apply/keptCrds.ts";
import { ObjectReconciler } from "../apply/objectReconciler.ts";
import { renderExtension } from "../apply/preparedObjects.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import { formatConditionLimit } from "../permissions/conditionPermission.ts";
import { getConfiguration } from "../state/extensionSpec.ts";
import { revealNamespaces } from "../state/hiddenValues.ts";
import { selectChanges, summarizeActions } from "../state/objectActions.ts";
import { chooseOperatorCondition } from "../state/operatorConditionUse.ts";
import { type Applied, type Authenticated, hasClient, type Phase, type ReconcileStep, type Unpacked } from "../state/phases.ts";
import { chooseProxyVariables } from "../state/proxyVariables.ts";
import { requireCurrentCrds } from "./check.ts";
import { applyPinnedRelease, finishRollback, type RollbackServices, undoFailedUpgrade } from "./rollback.ts";
import type { Services } from "./services.ts";

function exceedsQuota(err: unknown): boolean {
  return err instanceof RequestsFailed && err.failures.some((failure) => isQuotaExceeded(failure.err));
}

/**
 * Removes the objects that a first install created in this reconcile if a ResourceQuota rejected the others: otherwise
 * a partially installed operator would occupy the quota. After any other failure the objects are kept, and the next
 * reconcile continues. Keeps CustomResourceDefinitions in use, and objects that now belong to another owner.
 * @throws RetryableError Retrying with the cause, and with the removed objects or the reason why they were not removed.
 */
async function removeAfterQuotaExceeded(
  deps: Pick<Services, "events">,
  { changes: { failed }, releases, client, extension }: Unpacked,
  { log, signal }: StepContext,
  cause: unknown,
): Promise<void> {
  if (!failed || findLastDeployed(releases.history.current) || signal.aborted || !exceedsQuota(cause)) return;
  const created = new Set(failed.actions.filter(({ verb }) => verb === "created").map(({ ref }) => getObjectKey(ref)));
  if (created.size === 0) return;
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: getNamespace(extension) };
  const applier = new Applier(client, log, signal);
  const written = sortForUninstall(failed.release.objects.filter((object) => created.has(getObjectKey(object))));
  let outcome: string;
  try {
    const live = await applier.read(written.map(toObjectRef));
    const ours = filterOwned(written, live, owner);
    await applier.remove(ours.filter((object) => !isCrd(object)));
    const { kept } = await removeCrds(applier, client, ours.filter(isCrd), { policy: getSafeCrdPolicy(extension.spec) }, signal);
    const keptText = kept.length === 0 ? "" : `; kept: ${kept.map(({ text }) => text).join("; ")}`;
    outcome = `the controller removed the objects that it had created: ${summarizeActions(selectChanges(applier.actions))}${keptText}`;
  } catch (err) {
    signal.throwIfAborted();
    outcome = `removing the created objects also failed: ${getErrorMessage(err)}`;
  }
  deps.events.record(extension, "Warning", "InstallRolledBack", `the install exceeded a ResourceQuota; ${outcome}`);
  const advice =
    "to detect this before objects are created, grant the ServiceAccount the list permission on resourcequotas in its namespace";
  throw new RetryableError("Retrying", `${getErrorMessage(cause)}; ${outcome}; ${advice}`, { cause });
}

/**
 * Applies the resolved bundle as a numbered release:
 *
 * | release on record           | bundle content | action                                              |
 * | deployed, same input        | not needed     | compare and correct objects if the interval is over |
 * | deployed                    | not available  | maintain the installed objects                      |
 * | none, failed or interrupted | any            | preflight, then apply as a release                  |
 * | deployed, other objects     | available      | preflight, then apply as a new release and prune    |
 * | a rollback, bundle held     | not needed     | complete the rollback, then compare and correct     |
 *
 * A pinned release is applied or maintained instead. If an upgrade is rejected midway, `undoFailedUpgrade` rolls it
 * back. If a first install exceeds a quota, `removeAfterQuotaExceeded` removes its objects.
 */
export function applyBundle(deps: RollbackServices): ReconcileStep<Unpacked, Applied> {
  return {
    name: "ApplyBundle",
    async run(phase, context) {
      const { content, pinned, held, releases } = phase;
      const [latest] = releases.history.current;
      if (pinned) await applyPinnedRelease(deps, pinned, phase, context);
      else if (held && latest?.status !== "deployed") await finishRollback(deps, phase, context);
      else if (content) await applyContent(deps, phase, content, context);
      else {
        if (latest?.inputDigest === phase.inputDigest) warnOfConfig(phase, latest?.objects ?? []);
        await new ObjectReconciler(deps, phase, context).keep(true);
      }
      return { ...phase, phase: "applied" };
    },
  };
}

async function applyContent(deps: RollbackServices, phase: Unpacked, content: RenderableBundle, context: StepContext): Promise<void> {
  const { bundle, certProvider, inputDigest, flaws, hidden, releases } = phase;
  const proxy = chooseProxyVariables(phase);
  const objects = await renderExtension(phase, content, certProvider, { proxy, operatorCondition: chooseOperatorCondition(phase) });
  revealNamespaces(hidden, objects);
  warnOfConfig(phase, objects);
  requireCurrentCrds(bundle.name, content);
  try {
    const { annotations, requirements } = content;
    await new ObjectReconciler(deps, phase, context).release({ bundle, objects, annotations, requirements, flaws, inputDigest, proxy });
    releases.installed = bundle;
    if (phase.conditionSupport === "NotPermitted")
      deps.events.record(phase.extension, "Warning", "OperatorConditionSkipped", formatConditionLimit(phase));
  } catch (err) {
    await removeAfterQuotaExceeded(deps, phase, context, err);
    failPlan(deps, phase, err);
    if (!(await undoFailedUpgrade(deps, phase, context, err))) throw err;
  }
}

/** Lets the root roll back the plan of an extension whose objects were rejected while the bundles of its wave were being written. */
function failPlan({ plans }: Pick<RollbackServices, "plans">, { extension, changes, plan }: Unpacked, err: unknown): void {
  const { name } = extension.metadata;
  const hasPartners = plan?.members.some(
    ({ extension: other, wave }) => other !== name && wave === plan.members.find((one) => one.extension === name)?.wave,
  );
  if (changes.failed && hasPartners && !isPassing(err))
    plans?.fail(name, `ClusterExtension ${goQuote(name)} failed: ${getErrorMessage(err)}`);
}

/** Reports configuration that has no effect on the objects. */
function warnOfConfig(phase: Unpacked, objects: readonly KubeObject[]): void {
  phase.report.problems.push(
    ...listConfigNotes(getConfiguration(phase), objects).map((message) => newProblem("ConfigurationWarning", { message })),
  );
}

/**
 * Maintains the installed objects in a reconcile that did not reach a newer bundle: resolving, pulling, rendering or
 * applying it failed. Does nothing after the apply of a new release has begun, because restoring the old objects would
 * partially revert the new release.
 */
export async function keepInstalled(deps: RollbackServices, phase: Phase, context: StepContext): Promise<void> {
  if (!hasClient(phase) || phase.isWithoutAccount || phase.changes.began) return;
  const { installed, history } = phase.releases;
  const [latest] = history.current;
  if (latest?.rolledBack && latest.status !== "deployed") return finishRollback(deps, phase, context);
  if (!installed || latest?.status !== "deployed") return;
  await new ObjectReconciler(deps, phase, context).keep(false);
}

/**
 * Corrects deleted and changed objects before the bundle is resolved, because this requires no catalogs or registries.
 * Ignores failures: later steps retry, and the bundle that they install may fix the cause.
 */
export function correctDrift(deps: ApplyServices): ReconcileStep<Authenticated> {
  return {
    name: "CorrectDrift",
    async run(phase, context) {
      const { extension, releases, changes: done } = phase;
      const [latest] = releases.history.current;
      if (!releases.installed || latest?.status !== "deployed" || phase.isWithoutAccount) return phase;
      if ((deps.watches?.suspects(extension.metadata.name) ?? []).length === 0) return phase;
      try {
        await new ObjectReconciler(deps, phase, context).maintain();
      } catch (err) {
        context.signal.throwIfAborted();
        done.began = false;
        context.log.debug({ reason: getErrorMessage(err) }, "drift not corrected before resolution");
      }
      return phase;
    },
  };
}
