import { ANNOTATION_ROLLBACK_TO, Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import type { Step, StepContext } from "../../controller/reconcile.ts";
import { messageOf, RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { formatTime } from "../../golang/time.ts";
import { isPassing } from "../../kube/errors.ts";
import { hasReadyNewPod, replacesPods } from "../../release/health/pods.ts";
import { objectKey } from "../../release/identity.ts";
import { installedFrom } from "../../release/installedBundle.ts";
import { lastDeployed, newestFirst, parseRevision, type ReleaseRecord, requireRevision } from "../../release/record.ts";
import { attemptsOf, heldUntil, type RolledBack, rollbackObjects, shortMessage, waitEnds } from "../../release/rollbackBackoff.ts";
import { Applier } from "../apply/applier.ts";
import type { ApplyDependencies } from "../apply/applyContext.ts";
import { ApplyPass } from "../apply/applyPass.ts";
import { type ReleaseStore, recordOf } from "../releases/releaseStore.ts";
import { changes } from "../state/objectActions.ts";
import type { Held, ReconcileState } from "../state/reconcileState.ts";
import { inputDigest } from "./unpack.ts";

type Context = StepContext<ReconcileState["extension"]>;

/** What rolling back needs beside what applying does. */
export interface RollbackDependencies extends ApplyDependencies {
  /** The content of a catalog by digest; empty where there is none of that name. */
  catalogContent: (name: string | undefined) => string;
}

/**
 * Puts the last deployed release back after an upgrade was refused in the middle, unless a Pod of the upgrade is ready already: then the
 * new version is at work, and going on is the smaller evil. What failed without having been refused is gone on with by the next pass.
 * @returns whether it is back; facts say so then.
 * @throws RetryableError with both causes when it could not be put back; the next pass goes on with that.
 */
export async function undoFailed(deps: RollbackDependencies, facts: ReconcileState, context: Context, cause: unknown): Promise<boolean> {
  const { failed, history, scoped } = facts;
  const base = lastDeployed(history.current);
  if (!failed || !base || !scoped || isRollback(failed.release) || context.signal.aborted) return false;
  const { release, applied } = failed;
  if (isPassing(cause)) {
    context.log.info({ release: release.version }, "failed upgrade not undone: nothing was refused");
    return false;
  }
  if (await newPodsMayWork(facts, context)) {
    context.log.warn({ release: release.version }, "failed upgrade not undone: a Pod of it may be ready");
    return false;
  }
  const given = givenUp(deps, facts, release, { reason: "Retrying", message: messageOf(cause), before: base.rolledBack });
  const others = history.current.filter(({ version }) => version !== release.version);
  facts.history = { ...history, current: newestFirst([release, ...others]), highest: Math.max(history.highest, release.version) };
  const objects = rollbackObjects(base.objects, release.objects, (key) => applied.has(key));
  try {
    await goBack(deps, facts, context, { target: base, objects, given });
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
export async function rollBackOverdue(deps: RollbackDependencies, facts: ReconcileState, context: Context): Promise<boolean> {
  const { overdue, extension, history, scoped } = facts;
  const release = facts.deployed ?? history.current[0];
  if (overdue === undefined || extension.spec.install?.onFailure !== "Rollback") return false;
  if (!scoped || release?.status !== "deployed" || isRollback(release)) return false;
  try {
    const target = await releaseBefore(deps, facts, release, context.signal);
    if (!target) {
      facts.overdue = `${overdue}; there is no earlier release to roll back to`;
      return false;
    }
    const given = givenUp(deps, facts, release, { reason: "ProgressDeadlineExceeded", message: overdue, before: target.rolledBack });
    await goBack(deps, facts, context, { target, objects: rollbackObjects(target.objects, release.objects), given });
    return true;
  } catch (err) {
    context.signal.throwIfAborted();
    context.log.warn({ release: release.version, reason: messageOf(err) }, "rollback failed");
    facts.overdue = `${overdue}; rolling back failed, and is tried again: ${messageOf(err)}`;
    return false;
  }
}

/** Goes on with a rollback that was begun and not completed. */
export async function finishRollback(deps: RollbackDependencies, facts: ReconcileState, context: Context): Promise<void> {
  const [latest] = facts.history.current;
  if (!latest?.rolledBack) throw new RetryableError(Reason.Retrying, "no rollback was begun");
  await goBack(deps, facts, context, { target: latest, objects: latest.objects, given: latest.rolledBack });
}

/** Brings the pinned release to the cluster, unless it is there already; then as `maintain`. */
export async function goToPinned(deps: RollbackDependencies, facts: ReconcileState, context: Context): Promise<void> {
  const { pinned, scoped, history } = facts;
  if (!pinned || !scoped) return;
  const { release, revision } = pinned;
  const bundle = installedFrom(release);
  facts.hidden.add(release.sourced ?? []);
  const given = lastDeployed(history.current)?.objects ?? [];
  await new ApplyPass(deps, facts, scoped, context).release({
    bundle: { ...bundle, explanation: "" },
    objects: release.pinnedTo === revision ? release.objects : rollbackObjects(release.objects, given),
    annotations: release.annotations,
    requirements: release.requirements,
    flaws: release.flaws,
    rollback: { why: { pinnedTo: revision }, inputDigest: release.inputDigest, proxy: release.proxy },
  });
  facts.installed = bundle;
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
  deps: RollbackDependencies,
  facts: ReconcileState,
  context: Context,
  { target, objects, given }: GoBackRequest,
): Promise<void> {
  const { scoped } = facts;
  if (!scoped) return;
  const bundle = installedFrom(target);
  facts.hidden.add(target.sourced ?? []);
  delete facts.failed;
  await new ApplyPass(deps, facts, scoped, context).release({
    bundle: { ...bundle, explanation: "" },
    objects,
    annotations: target.annotations,
    requirements: target.requirements,
    flaws: target.flaws,
    rollback: { why: { rolledBack: given }, inputDigest: target.inputDigest, proxy: target.proxy },
  });
  delete facts.overdue;
  facts.installed = bundle;
  facts.held = heldFrom(given, bundle.name);
}

function givenUp(
  deps: RollbackDependencies,
  { extension, resolved, inputDigest }: ReconcileState,
  release: ReleaseRecord,
  { reason, message, before }: { reason: RolledBack["reason"]; message: string; before: RolledBack | undefined },
): RolledBack {
  const { name: bundle, version } = installedFrom(release);
  const attempt = {
    inputDigest: release.inputDigest ?? inputDigest ?? "",
    generation: extension.metadata.generation ?? 0,
    catalog: deps.catalogContent(resolved?.catalog),
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
  { releases }: RollbackDependencies,
  { history: { older } }: ReconcileState,
  release: ReleaseRecord,
  signal: AbortSignal,
): Promise<ReleaseRecord | undefined> {
  const before = newestFirst(older).filter(({ version, status }) => status === "superseded" && version < release.version);
  let newest: ReleaseRecord | undefined;
  for (const { version } of before) {
    const record = recordOf(await releases.read(release.name, version, { signal }));
    if (record?.rolledOutAt !== undefined) return record;
    newest ??= record;
  }
  return newest;
}

/** What cannot be read counts as at work. */
async function newPodsMayWork({ failed, scoped }: ReconcileState, { log, signal }: Context): Promise<boolean> {
  if (!failed || !scoped) return false;
  const applier = new Applier(scoped, log, signal);
  const written = new Set(
    changes(failed.actions)
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

/** The parts that skipping a rolled back bundle needs. */
export interface SkipRolledBackDependencies extends Pick<RollbackDependencies, "catalogContent" | "now"> {
  /** Queues an extension again after some milliseconds. */
  comeBack: (extension: string, afterMs: number) => void;
}

/** Skips a bundle that was rolled back, until spec, bundle or catalog change or its wait is over. */
export function skipRolledBackBundle({
  catalogContent,
  now,
  comeBack,
}: SkipRolledBackDependencies): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "SkipRolledBackBundle",
    run(facts, { log }) {
      const { extension, resolved, history } = facts;
      const [latest] = history.current;
      const given = latest?.rolledBack;
      if (!resolved || !latest || !given || facts.pinned) return Promise.resolve(undefined);
      const generation = extension.metadata.generation ?? 0;
      const attempt = { inputDigest: inputDigest(facts), generation, catalog: catalogContent(resolved.catalog) };
      const until = heldUntil(given, attempt, now());
      if (until === undefined) {
        log.info({ bundle: resolved.name, attempts: given.attempts }, "bundle that was given up is tried again");
        return Promise.resolve(undefined);
      }
      facts.held = heldFrom(given, installedFrom(latest).name);
      comeBack(extension.metadata.name, until - now());
      return Promise.resolve(undefined);
    },
  };
}

/**
 * Pins an extension to the release that annotation `olm.operatorframework.io/rollback-to` names, for as long as it does. The steps after this one
 * keep that release; catalogs are still asked, for what they say about deprecation.
 * @throws TerminalError Blocked if the annotation does not name a release that can be rolled back to.
 */
export function pinRevision(releases: Pick<ReleaseStore, "read">): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "PinRevision",
    async run(facts, { signal }) {
      const text = facts.extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
      if (text === undefined) return undefined;
      const pinned = await findPinned(releases, facts, text, signal);
      const bundle = installedFrom(pinned.release);
      const why = `annotation ${ANNOTATION_ROLLBACK_TO} keeps bundle "${bundle.name}" of revision ${pinned.revision}; remove it to follow the catalogs again`;
      facts.pinned = pinned;
      facts.resolved = { ...bundle, explanation: why };
      facts.notes = [why];
      return undefined;
    },
  };
}

/** The release that was made for the annotation, or the one that it names. */
async function findPinned(
  releases: Pick<ReleaseStore, "read">,
  { history, extension }: ReconcileState,
  text: string,
  signal: AbortSignal,
): Promise<{ revision: number; release: ReleaseRecord }> {
  let revision: number;
  try {
    revision = parseRevision(text);
    const [latest] = history.current;
    if (latest?.pinnedTo === revision) return { revision, release: latest };
    requireRevision([...history.current, ...history.older], revision);
  } catch (err) {
    throw new TerminalError(Reason.Blocked, `annotation ${ANNOTATION_ROLLBACK_TO}: ${messageOf(err)}`, { cause: err });
  }
  const known = history.current.find(({ version }) => version === revision);
  const release = known ?? recordOf(await releases.read(extension.metadata.name, revision, { signal }));
  if (!release) throw new RetryableError(Reason.Retrying, `annotation ${ANNOTATION_ROLLBACK_TO}: revision ${revision} is gone by now`);
  return { revision, release };
}
