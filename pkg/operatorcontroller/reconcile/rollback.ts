import { ANNOTATION_ROLLBACK_TO, Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepContext } from "../../controller/story.ts";
import { messageOf, RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { formatTime } from "../../golang/time.ts";
import { isPassing } from "../../kube/errors.ts";
import { hasReadyNewPod, replacesPods } from "../../release/health/pods.ts";
import { objectKey } from "../../release/identity.ts";
import { installedFrom } from "../../release/installedBundle.ts";
import { lastDeployed, newestFirst, parseRevision, type ReleaseRecord, requireRevision } from "../../release/record.ts";
import { attemptsOf, heldUntil, type RolledBack, rollbackObjects, shortMessage, waitEnds } from "../../release/rollbackBackoff.ts";
import { Applier } from "../apply/applier.ts";
import type { ApplyServices } from "../apply/applyContext.ts";
import { ApplyPass } from "../apply/applyPass.ts";
import { recordOf } from "../releases/releaseStore.ts";
import type { FailedRelease, Held } from "../state/clusterChanges.ts";
import { selectChanges } from "../state/objectActions.ts";
import {
  type ActingPhase,
  type Authenticated,
  hasBundle,
  hasClient,
  type Phase,
  type PinnedRevision,
  type ReconcileStep,
  type Resolved,
  type Unpacked,
} from "../state/phases.ts";
import type { Services } from "./services.ts";
import { inputDigest } from "./unpack.ts";

/** What a rollback works with. */
export type RollbackServices = ApplyServices & Pick<Services, "catalogContent" | "releases">;

/**
 * Puts the last deployed release back after an upgrade was refused in the middle, unless a Pod of the upgrade is ready already: then the
 * new version is at work, and going on is the smaller evil. What failed without having been refused is gone on with by the next pass.
 * @returns whether it is back; `selectChanges` says so then.
 * @throws RetryableError with both causes when it could not be put back; the next pass goes on with that.
 */
export async function undoFailed(deps: RollbackServices, phase: Unpacked, context: StepContext, cause: unknown): Promise<boolean> {
  const { releases, changes: done } = phase;
  const { failed } = done;
  const { history } = releases;
  const base = lastDeployed(history.current);
  if (!failed || !base || isRollback(failed.release) || context.signal.aborted) return false;
  const { release, applied } = failed;
  if (isPassing(cause)) {
    context.log.info({ release: release.version }, "failed upgrade not undone: nothing was refused");
    return false;
  }
  if (await newPodsMayWork(failed, phase, context)) {
    context.log.warn({ release: release.version }, "failed upgrade not undone: a Pod of it may be ready");
    return false;
  }
  const given = givenUp(deps, phase, release, { reason: "Retrying", message: messageOf(cause), before: base.rolledBack });
  const others = history.current.filter(({ version }) => version !== release.version);
  releases.history = { ...history, current: newestFirst([release, ...others]), highest: Math.max(history.highest, release.version) };
  const objects = rollbackObjects(base.objects, release.objects, (key) => applied.has(key));
  try {
    await goBack(deps, phase, context, { target: base, objects, given });
  } catch (err) {
    context.signal.throwIfAborted();
    throw wrapError(`${messageOf(cause)}; putting bundle "${installedFrom(base).name}" back failed as well: `, err);
  }
  return true;
}

/**
 * Goes back to the release before, when the rollout of the deployed one has missed its deadline and `spec.install.onFailure` is Rollback.
 * What keeps it from that is told behind the deadline's message; it is tried again in the next pass.
 * @returns whether another release is deployed now.
 */
export async function rollBackOverdue(deps: RollbackServices, phase: Phase, context: StepContext): Promise<boolean> {
  const { extension, report } = phase;
  const { overdue } = report;
  if (overdue === undefined || extension.spec.install?.onFailure !== "Rollback" || !hasClient(phase)) return false;
  const release = phase.changes.deployed ?? phase.releases.history.current[0];
  if (release?.status !== "deployed" || isRollback(release)) return false;
  try {
    const target = await releaseBefore(deps, phase, release, context.signal);
    if (!target) {
      report.overdue = `${overdue}; there is no earlier release to roll back to`;
      return false;
    }
    const given = givenUp(deps, phase, release, { reason: "ProgressDeadlineExceeded", message: overdue, before: target.rolledBack });
    await goBack(deps, phase, context, { target, objects: rollbackObjects(target.objects, release.objects), given });
    return true;
  } catch (err) {
    context.signal.throwIfAborted();
    context.log.warn({ release: release.version, reason: messageOf(err) }, "rollback failed");
    report.overdue = `${overdue}; rolling back failed, and is tried again: ${messageOf(err)}`;
    return false;
  }
}

/** Goes on with a rollback that was begun and not completed. */
export async function finishRollback(deps: RollbackServices, phase: ActingPhase, context: StepContext): Promise<void> {
  const [latest] = phase.releases.history.current;
  if (!latest?.rolledBack) throw new RetryableError(Reason.Retrying, "no rollback was begun");
  await goBack(deps, phase, context, { target: latest, objects: latest.objects, given: latest.rolledBack });
}

/** Brings the pinned release to the cluster, unless it is there already; then as `maintain`. */
export async function goToPinned(
  deps: RollbackServices,
  { release, revision }: PinnedRevision,
  phase: Unpacked,
  context: StepContext,
): Promise<void> {
  const { releases, hidden } = phase;
  const bundle = installedFrom(release);
  hidden.add(release.sourced ?? []);
  const given = lastDeployed(releases.history.current)?.objects ?? [];
  await new ApplyPass(deps, phase, context).release({
    bundle: { ...bundle, explanation: "" },
    objects: release.pinnedTo === revision ? release.objects : rollbackObjects(release.objects, given),
    annotations: release.annotations,
    requirements: release.requirements,
    flaws: release.flaws,
    inputDigest: release.inputDigest,
    proxy: release.proxy,
    rollback: { pinnedTo: revision },
  });
  releases.installed = bundle;
}

function isRollback({ rolledBack, pinnedTo }: ReleaseRecord): boolean {
  return rolledBack !== undefined || pinnedTo !== undefined;
}

/** What condition Progressing says while something that was given up is not tried again. */
function heldFrom(given: RolledBack, back: string): Held {
  const until = formatTime(new Date(waitEnds(given)));
  const [about, what] =
    given.reason === "Retrying"
      ? [`error for resolved bundle "${given.bundle}" with version "${given.version}": `, "was put back"]
      : ["", "was rolled back to"];
  const again = `bundle "${given.bundle}" is tried again after ${until}, or as soon as spec, bundle or catalog change`;
  return { reason: given.reason, message: `${about}${given.message}; bundle "${back}" ${what}; ${again}` };
}

interface GoBackRequest {
  target: ReleaseRecord;
  objects: KubeObject[];
  given: RolledBack;
}

async function goBack(
  deps: RollbackServices,
  phase: ActingPhase,
  context: StepContext,
  { target, objects, given }: GoBackRequest,
): Promise<void> {
  const { hidden, releases, report } = phase;
  const bundle = installedFrom(target);
  hidden.add(target.sourced ?? []);
  delete phase.changes.failed;
  await new ApplyPass(deps, phase, context).release({
    bundle: { ...bundle, explanation: "" },
    objects,
    annotations: target.annotations,
    requirements: target.requirements,
    flaws: target.flaws,
    inputDigest: target.inputDigest,
    proxy: target.proxy,
    rollback: { rolledBack: given },
  });
  delete report.overdue;
  releases.installed = bundle;
  phase.changes.held = heldFrom(given, bundle.name);
}

function givenUp(
  deps: RollbackServices,
  phase: ActingPhase,
  release: ReleaseRecord,
  { reason, message, before }: { reason: RolledBack["reason"]; message: string; before: RolledBack | undefined },
): RolledBack {
  const { name: bundle, version } = installedFrom(release);
  const wanted = hasBundle(phase) ? phase : undefined;
  const attempt = {
    inputDigest: release.inputDigest ?? wanted?.inputDigest ?? "",
    generation: phase.extension.metadata.generation ?? 0,
    catalog: deps.catalogContent(wanted?.bundle.catalog),
  };
  return {
    release: release.version,
    bundle,
    version,
    ...attempt,
    reason,
    message: shortMessage(message),
    attempts: attemptsOf(attempt, before),
    at: formatTime(new Date(deps.now())),
  };
}

/** The newest release before that was rolled out; where none is known to have been, the newest that was applied completely. */
async function releaseBefore(
  { releases: store }: Pick<RollbackServices, "releases">,
  { releases: { history } }: ActingPhase,
  release: ReleaseRecord,
  signal: AbortSignal,
): Promise<ReleaseRecord | undefined> {
  const before = newestFirst(history.older).filter(({ version, status }) => status === "superseded" && version < release.version);
  let newest: ReleaseRecord | undefined;
  for (const { version } of before) {
    const record = recordOf(await store.read(release.name, version, { signal }));
    if (record?.rolledOutAt !== undefined) return record;
    newest ??= record;
  }
  return newest;
}

/** What cannot be read counts as at work. */
async function newPodsMayWork(failed: FailedRelease, { client }: ActingPhase, { log, signal }: StepContext): Promise<boolean> {
  const applier = new Applier(client, log, signal);
  const written = new Set(
    selectChanges(failed.actions)
      .filter(({ labelsOnly }) => !labelsOnly)
      .map(({ ref }) => objectKey(ref)),
  );
  const workloads = failed.release.objects.filter((object) => replacesPods(object) && written.has(objectKey(object)));
  try {
    return [...(await applier.read(workloads.map(refOf))).values()].some(hasReadyNewPod);
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

/** Skips a bundle that was rolled back, until spec, bundle or catalog change or its wait is over. */
export function skipRolledBackBundle({
  catalogContent,
  now,
  requeueAfter,
}: Pick<Services, "catalogContent" | "now" | "requeueAfter">): ReconcileStep<Resolved> {
  return {
    name: "SkipRolledBackBundle",
    run(phase, { log }) {
      const { extension, bundle, releases, pinned } = phase;
      const [latest] = releases.history.current;
      const given = latest?.rolledBack;
      if (!given || pinned) return Promise.resolve(phase);
      const generation = extension.metadata.generation ?? 0;
      const attempt = { inputDigest: inputDigest(phase), generation, catalog: catalogContent(bundle.catalog) };
      const until = heldUntil(given, attempt, now());
      if (until === undefined) {
        log.info({ bundle: bundle.name, attempts: given.attempts }, "bundle that was given up is tried again");
        return Promise.resolve(phase);
      }
      requeueAfter(extension.metadata.name, until - now());
      return Promise.resolve({ ...phase, held: heldFrom(given, installedFrom(latest).name) });
    },
  };
}

/**
 * Pins an extension to the release that annotation `olm.operatorframework.io/rollback-to` names, for as long as it does. The steps after this one
 * keep that release; catalogs are still asked, for what they say about deprecation.
 * @throws TerminalError Blocked if the annotation does not name a release that can be rolled back to.
 */
export function pinRevision({ releases: store }: Pick<Services, "releases">): ReconcileStep<Authenticated> {
  return {
    name: "PinRevision",
    async run(phase, { signal }) {
      const text = phase.extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
      if (text === undefined) return phase;
      const { revision, release } = await findPinned(store, phase, text, signal);
      const bundle = installedFrom(release);
      const explanation = `annotation ${ANNOTATION_ROLLBACK_TO} keeps bundle "${bundle.name}" of revision ${revision}; remove it to follow the catalogs again`;
      phase.report.problems.push(newProblem("RevisionPinned", { message: explanation }));
      return { ...phase, pinned: { revision, release, bundle: { ...bundle, explanation } } };
    },
  };
}

/** The release that was made for the annotation, or the one that it names. */
async function findPinned(
  store: Services["releases"],
  { releases: { history }, extension }: Authenticated,
  text: string,
  signal: AbortSignal,
): Promise<Omit<PinnedRevision, "bundle">> {
  let revision: number;
  try {
    revision = parseRevision(text);
    const [latest] = history.current;
    if (latest?.pinnedTo === revision) return { revision, release: latest };
    requireRevision([...history.current, ...history.older], revision);
  } catch (err) {
    const message = `annotation ${ANNOTATION_ROLLBACK_TO}: ${messageOf(err)}`;
    throw new TerminalError(Reason.Blocked, message, { cause: err, problems: [newProblem("InvalidSpec", { message })] });
  }
  const known = history.current.find(({ version }) => version === revision);
  const release = known ?? recordOf(await store.read(extension.metadata.name, revision, { signal }));
  if (!release) throw new RetryableError(Reason.Retrying, `annotation ${ANNOTATION_ROLLBACK_TO}: revision ${revision} is gone by now`);
  return { revision, release };
}
