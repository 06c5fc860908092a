import { type KubeObject, refOf } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepContext } from "../../controller/story.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { isQuotaExceeded } from "../../kube/errors.ts";
import { isCrd, objectKey } from "../../release/identity.ts";
import { uninstallOrder } from "../../release/plan.ts";
import { lastDeployed } from "../../release/record.ts";
import { configNotes } from "../../render/configNotes.ts";
import { Applier, RequestsFailed } from "../apply/applier.ts";
import type { ApplyServices } from "../apply/applyContext.ts";
import { ApplyPass } from "../apply/applyPass.ts";
import { oursOf, removeCrds } from "../apply/keptCrds.ts";
import { renderFor } from "../apply/preparedObjects.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import { configOf } from "../state/extensionSpec.ts";
import { revealNamespaces } from "../state/hiddenValues.ts";
import { selectChanges, summarizeActions } from "../state/objectActions.ts";
import { type Applied, type Authenticated, hasClient, type Phase, type ReconcileStep, type Unpacked } from "../state/phases.ts";
import { proxyOf } from "../state/proxyVariables.ts";
import { requireCurrentCrds } from "./check.ts";
import { finishRollback, goToPinned, type RollbackServices, undoFailed } from "./rollback.ts";
import type { Services } from "./services.ts";

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
  deps: Pick<Services, "events">,
  { changes: { failed }, releases, client, extension }: Unpacked,
  { log, signal }: StepContext,
  cause: unknown,
): Promise<void> {
  if (!failed || lastDeployed(releases.history.current) || signal.aborted || !exceedsQuota(cause)) return;
  const created = new Set(failed.actions.filter(({ verb }) => verb === "created").map(({ ref }) => objectKey(ref)));
  if (created.size === 0) return;
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: extension.spec.namespace };
  const applier = new Applier(client, log, signal);
  const written = uninstallOrder(failed.release.objects.filter((object) => created.has(objectKey(object))));
  let outcome: string;
  try {
    const live = await applier.read(written.map(refOf));
    const ours = oursOf(written, live, owner);
    await applier.remove(ours.filter((object) => !isCrd(object)));
    const { kept } = await removeCrds(applier, client, ours.filter(isCrd), "DeleteIfUnused", signal);
    const stays = kept.length === 0 ? "" : `; kept: ${kept.map(({ text }) => text).join("; ")}`;
    outcome = `what had been created was removed again: ${summarizeActions(selectChanges(applier.actions))}${stays}`;
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
export function applyBundle(deps: RollbackServices): ReconcileStep<Unpacked, Applied> {
  return {
    name: "ApplyBundle",
    async run(phase, context) {
      const { content, pinned, held, releases } = phase;
      const [latest] = releases.history.current;
      if (pinned) await goToPinned(deps, pinned, phase, context);
      else if (held && latest?.status !== "deployed") await finishRollback(deps, phase, context);
      else if (content) await applyContent(deps, phase, content, context);
      else {
        if (latest?.inputDigest === phase.inputDigest) warnOfConfig(phase, latest?.objects ?? []);
        await new ApplyPass(deps, phase, context).keep(true);
      }
      return { ...phase, phase: "applied" };
    },
  };
}

async function applyContent(deps: RollbackServices, phase: Unpacked, content: RenderableBundle, context: StepContext): Promise<void> {
  const { bundle, certProvider, inputDigest, flaws, hidden, releases } = phase;
  const proxy = proxyOf(phase);
  const objects = await renderFor(phase, content, certProvider, proxy);
  revealNamespaces(hidden, objects);
  warnOfConfig(phase, objects);
  requireCurrentCrds(bundle.name, content);
  try {
    const { annotations, requirements } = content;
    await new ApplyPass(deps, phase, context).release({ bundle, objects, annotations, requirements, flaws, inputDigest, proxy });
    releases.installed = bundle;
  } catch (err) {
    await withdrawRefused(deps, phase, context, err);
    if (!(await undoFailed(deps, phase, context, err))) throw err;
  }
}

/** Reports what of the configuration has no effect on the objects. */
function warnOfConfig(phase: Unpacked, objects: readonly KubeObject[]): void {
  phase.report.problems.push(...configNotes(configOf(phase), objects).map((message) => newProblem("ConfigurationWarning", { message })));
}

/**
 * Keeps what is installed as it is in a pass that could not get to anything newer: no bundle was found, or it cannot be fetched, rendered or
 * applied. Once a release of something newer has begun there is nothing to keep: putting the old objects back would undo it half.
 */
export async function keepInstalled(deps: RollbackServices, phase: Phase, context: StepContext): Promise<void> {
  if (!hasClient(phase) || phase.changes.began) return;
  const { installed, history } = phase.releases;
  const [latest] = history.current;
  if (latest?.rolledBack && latest.status !== "deployed") return finishRollback(deps, phase, context);
  if (!installed || latest?.status !== "deployed") return;
  await new ApplyPass(deps, phase, context).keep(false);
}

/**
 * Puts back at once what was seen to be deleted or changed, before anything is resolved: neither catalogs nor registries are needed for it.
 * A failure is left to the steps that follow, which try again: what they are about to install may be the cure.
 */
export function correctDrift(deps: ApplyServices): ReconcileStep<Authenticated> {
  return {
    name: "CorrectDrift",
    async run(phase, context) {
      const { extension, releases, changes: done } = phase;
      const [latest] = releases.history.current;
      if (!releases.installed || latest?.status !== "deployed") return phase;
      if ((deps.watches?.suspects(extension.metadata.name) ?? []).length === 0) return phase;
      try {
        await new ApplyPass(deps, phase, context).maintain();
      } catch (err) {
        context.signal.throwIfAborted();
        done.began = false;
        context.log.debug({ reason: messageOf(err) }, "drift not corrected at once");
      }
      return phase;
    },
  };
}
