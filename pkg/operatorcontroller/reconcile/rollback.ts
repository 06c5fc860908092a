import { ANNOTATION_ROLLBACK_TO, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME, Reason } from "../../api/constants.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import { getErrorMessage, RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatTime } from "../../golang/time.ts";
import { isPassing } from "../../kube/errors.ts";
import { hasReadyNewPod, replacesPods } from "../../release/health/pods.ts";
import { getObjectKey, isCrd } from "../../release/identity.ts";
import { readInstalledBundle } from "../../release/installedBundle.ts";
import { findLastDeployed, parseRevision, type ReleaseRecord, requireRevision, sortNewestFirst } from "../../release/record.ts";
import {
  computeRollbackObjects,
  countAttempts,
  getHoldEnd,
  getRetryTime,
  type RolledBack,
  truncateRollbackMessage,
} from "../../release/rollbackBackoff.ts";
import { Applier } from "../apply/applier.ts";
import type { ApplyServices } from "../apply/applyContext.ts";
import { ObjectReconciler } from "../apply/objectReconciler.ts";
import { getRecord } from "../releases/releaseStore.ts";
import type { BundleHold, FailedRelease } from "../state/clusterChanges.ts";
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
import { computeInputDigest } from "./unpack.ts";

/** The labels of an object with the bundle that contains it. */
const BUNDLE_LABELS = [LABEL_PACKAGE_NAME, LABEL_BUNDLE_VERSION];

/** Dependencies of a rollback. */
export type RollbackServices = ApplyServices & Pick<Services, "catalogContent" | "releases">;

/**
 * Restores the last deployed release after an upgrade was rejected midway. Does nothing if a Pod of the new version may
 * be ready, because the new version already works in this case. After transient errors, the next reconcile continues
 * the upgrade instead.
 * @returns whether the release was restored. If so, `phase.changes` contains the changes.
 * @throws RetryableError with both causes if the release cannot be restored. The next reconcile continues.
 */
export async function undoFailedUpgrade(deps: RollbackServices, phase: Unpacked, context: StepContext, cause: unknown): Promise<boolean> {
  const { releases, changes: done } = phase;
  const { failed } = done;
  const { history } = releases;
  const base = findLastDeployed(history.current);
  if (!failed || !base || isRollback(failed.release) || context.signal.aborted) return false;
  const { release } = failed;
  if (isPassing(cause)) {
    context.log.info({ release: release.version }, "failed upgrade not rolled back: the error is transient");
    return false;
  }
  if (await newPodsMayWork(failed, phase, context)) {
    context.log.warn({ release: release.version }, "failed upgrade not rolled back: a Pod of the new release may be ready");
    return false;
  }
  const attempt = describeAttempt(deps, phase, release, { reason: "Retrying", message: getErrorMessage(cause), before: base.rolledBack });
  const others = history.current.filter(({ version }) => version !== release.version);
  releases.history = { ...history, current: sortNewestFirst([release, ...others]), highest: Math.max(history.highest, release.version) };
  try {
    const applied = await listApplied(failed, phase, context);
    const objects = computeRollbackObjects(base.objects, release.objects, (key) => applied.has(key));
    await applyRollback(deps, phase, context, { target: base, objects, attempt });
  } catch (err) {
    context.signal.throwIfAborted();
    throw wrapError(`${getErrorMessage(cause)}; restoring bundle "${readInstalledBundle(base).name}" also failed: `, err);
  }
  return true;
}

/**
 * Rolls back to the previous release if the rollout missed its deadline and `spec.install.onFailure` is Rollback. If
 * the rollback fails, adds the error to the deadline's message, and the next reconcile retries.
 * @returns whether another release is deployed now.
 */
export async function rollBackOverdue(deps: RollbackServices, phase: Phase, context: StepContext): Promise<boolean> {
  const { extension, report } = phase;
  const { overdue } = report;
  if (overdue === undefined || extension.spec.install?.onFailure !== "Rollback" || !hasClient(phase)) return false;
  if (deps.plans?.fail(extension.metadata.name, `ClusterExtension ${goQuote(extension.metadata.name)} failed: ${overdue}`)) return false;
  const release = phase.changes.deployed ?? phase.releases.history.current[0];
  if (release?.status !== "deployed" || isRollback(release)) return false;
  try {
    const target = await findPreviousRelease(deps, phase, release, context.signal);
    if (!target) {
      report.overdue = `${overdue}; there is no earlier release to roll back to`;
      return false;
    }
    const attempt = describeAttempt(deps, phase, release, {
      reason: "ProgressDeadlineExceeded",
      message: overdue,
      before: target.rolledBack,
    });
    await applyRollback(deps, phase, context, { target, objects: computeRollbackObjects(target.objects, release.objects), attempt });
    return true;
  } catch (err) {
    context.signal.throwIfAborted();
    context.log.warn({ release: release.version, reason: getErrorMessage(err) }, "rollback failed");
    report.overdue = `${overdue}; rollback failed, retrying: ${getErrorMessage(err)}`;
    return false;
  }
}

/**
 * Restores the release before `release`, the newest one, because the plan that contains it failed.
 * @param catalog the catalog of the planned bundle
 * @returns whether there is an earlier release to restore
 */
export async function rollBackToPrevious(
  deps: RollbackServices,
  phase: ActingPhase,
  release: ReleaseRecord,
  { message, catalog }: { readonly message: string; readonly catalog: string },
  context: StepContext,
): Promise<boolean> {
  const deployed = findLastDeployed(phase.releases.history.current);
  const target = deployed === release ? await findPreviousRelease(deps, phase, release, context.signal) : deployed;
  if (!target || isRollback(release)) return false;
  const attempt = describeAttempt(deps, phase, release, {
    reason: "ProgressDeadlineExceeded",
    message,
    before: target.rolledBack,
    catalog,
  });
  await applyRollback(deps, phase, context, { target, objects: computeRollbackObjects(target.objects, release.objects), attempt });
  return true;
}

/** Continues an incomplete rollback. */
export async function finishRollback(deps: RollbackServices, phase: ActingPhase, context: StepContext): Promise<void> {
  const [latest] = phase.releases.history.current;
  if (!latest?.rolledBack) throw new RetryableError(Reason.Retrying, "no rollback is in progress");
  await applyRollback(deps, phase, context, { target: latest, objects: latest.objects, attempt: latest.rolledBack });
}

/** Applies the pinned release, or maintains it if it is deployed. */
export async function applyPinnedRelease(
  deps: RollbackServices,
  { release, revision }: PinnedRevision,
  phase: Unpacked,
  context: StepContext,
): Promise<void> {
  const { releases, hidden } = phase;
  const bundle = readInstalledBundle(release);
  hidden.add(release.sourced ?? []);
  const current = findLastDeployed(releases.history.current)?.objects ?? [];
  await new ObjectReconciler(deps, phase, context).release({
    bundle: { ...bundle, explanation: "" },
    objects: release.pinnedTo === revision ? release.objects : computeRollbackObjects(release.objects, current),
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

/** Returns the reason and message of condition Progressing while a failed bundle is on hold. */
function toHold(attempt: RolledBack, restored: string): BundleHold {
  const until = formatTime(new Date(getRetryTime(attempt)));
  const [prefix, outcome] =
    attempt.reason === "Retrying"
      ? [`error for resolved bundle "${attempt.bundle}" with version "${attempt.version}": `, `bundle "${restored}" was restored`]
      : ["", `rolled back to bundle "${restored}"`];
  const retry = `the controller retries bundle "${attempt.bundle}" after ${until}, or as soon as the spec, bundle or catalog changes`;
  return { reason: attempt.reason, message: `${prefix}${attempt.message}; ${outcome}; ${retry}` };
}

interface RollbackRequest {
  target: ReleaseRecord;
  objects: KubeObject[];
  attempt: RolledBack;
}

async function applyRollback(
  deps: RollbackServices,
  phase: ActingPhase,
  context: StepContext,
  { target, objects, attempt }: RollbackRequest,
): Promise<void> {
  const { hidden, releases, report } = phase;
  const bundle = readInstalledBundle(target);
  hidden.add(target.sourced ?? []);
  delete phase.changes.failed;
  await new ObjectReconciler(deps, phase, context).release({
    bundle: { ...bundle, explanation: "" },
    objects,
    annotations: target.annotations,
    requirements: target.requirements,
    flaws: target.flaws,
    inputDigest: target.inputDigest,
    proxy: target.proxy,
    rollback: { rolledBack: attempt },
  });
  delete report.overdue;
  releases.installed = bundle;
  phase.changes.held = toHold(attempt, bundle.name);
}

function describeAttempt(
  deps: RollbackServices,
  phase: ActingPhase,
  release: ReleaseRecord,
  { reason, message, before, catalog }: Pick<RolledBack, "reason" | "message"> & { before: RolledBack | undefined; catalog?: string },
): RolledBack {
  const { name: bundle, version } = readInstalledBundle(release);
  const desired = hasBundle(phase) ? phase : undefined;
  const input = {
    inputDigest: release.inputDigest ?? desired?.inputDigest ?? "",
    generation: phase.extension.metadata.generation ?? 0,
    catalog: deps.catalogContent(catalog ?? desired?.bundle.catalog),
  };
  return {
    release: release.version,
    bundle,
    version,
    ...input,
    reason,
    message: truncateRollbackMessage(message),
    attempts: countAttempts(input, before),
    at: formatTime(new Date(deps.now())),
  };
}

/**
 * Returns the newest earlier release that was rolled out. If no release is recorded as rolled out, returns the newest
 * completely applied release.
 */
async function findPreviousRelease(
  { releases: store }: Pick<RollbackServices, "releases">,
  { releases: { history } }: ActingPhase,
  release: ReleaseRecord,
  signal: AbortSignal,
): Promise<ReleaseRecord | undefined> {
  const before = sortNewestFirst(history.older).filter(({ version, status }) => status === "superseded" && version < release.version);
  let newest: ReleaseRecord | undefined;
  for (const { version } of before) {
    const record = getRecord(await store.read(release.name, version, { signal }));
    if (record?.rolledOutAt !== undefined) return record;
    newest ??= record;
  }
  return newest;
}

/** Reports whether a Pod of the failed release may be ready. True if the workloads cannot be read. */
async function newPodsMayWork(failed: FailedRelease, { client }: ActingPhase, { log, signal }: StepContext): Promise<boolean> {
  const applier = new Applier(client, log, signal);
  const written = new Set(
    selectChanges(failed.actions)
      .filter(({ labelsOnly }) => !labelsOnly)
      .map(({ ref }) => getObjectKey(ref)),
  );
  const workloads = failed.release.objects.filter((object) => replacesPods(object) && written.has(getObjectKey(object)));
  try {
    return [...(await applier.read(workloads.map(toObjectRef))).values()].some(hasReadyNewPod);
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

/**
 * Returns the keys of the objects that the failed release applied, with CustomResourceDefinitions that an earlier attempt of the same release applied.
 * Their live labels contain its package and version. @throws RequestsFailed if they cannot be read
 */
async function listApplied(
  { release, applied }: FailedRelease,
  { client }: ActingPhase,
  { log, signal }: StepContext,
): Promise<ReadonlySet<string>> {
  const others = release.objects.filter((object) => isCrd(object) && !applied.has(getObjectKey(object)));
  const live = others.length === 0 ? undefined : await new Applier(client, log, signal).read(others.map(toObjectRef));
  const isOfRelease = (crd: KubeObject): boolean => {
    const found = live?.get(getObjectKey(crd))?.metadata;
    return found !== undefined && BUNDLE_LABELS.every((label) => found.labels?.[label] === crd.metadata.labels?.[label]);
  };
  return new Set([...applied.keys(), ...others.filter(isOfRelease).map(getObjectKey)]);
}

/** Skips a bundle that was rolled back until spec, bundle or catalog change, or its hold ends. */
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
      const failed = latest?.rolledBack;
      if (!failed || pinned) return Promise.resolve(phase);
      const generation = extension.metadata.generation ?? 0;
      // The failed release had no OperatorCondition if its ServiceAccount may not create one. `unpackBundle` asks for that permission only later.
      const digests = [phase, { ...phase, conditionSupport: "NotPermitted" } as const].map(computeInputDigest);
      const inputDigest = digests.find((digest) => digest === failed.inputDigest) ?? "";
      const input = { inputDigest, generation, catalog: catalogContent(bundle.catalog) };
      const until = getHoldEnd(failed, input, now());
      if (until === undefined) {
        log.info({ bundle: bundle.name, attempts: failed.attempts }, "retrying a bundle that was rolled back");
        return Promise.resolve(phase);
      }
      requeueAfter(extension.metadata.name, until - now());
      return Promise.resolve({ ...phase, held: toHold(failed, readInstalledBundle(latest).name) });
    },
  };
}

/**
 * Pins an extension to the release in annotation `olm.operatorframework.io/rollback-to` while it is set. Later steps
 * keep that release. Catalogs are still read for deprecations.
 * @throws TerminalError Blocked if the annotation does not contain the revision of a release that can be restored.
 */
export function pinRevision({ releases: store }: Pick<Services, "releases">): ReconcileStep<Authenticated> {
  return {
    name: "PinRevision",
    async run(phase, { signal }) {
      const text = phase.extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
      if (text === undefined) return phase;
      const { revision, release } = await findPinned(store, phase, text, signal);
      const bundle = readInstalledBundle(release);
      const explanation = `annotation ${ANNOTATION_ROLLBACK_TO} pins bundle "${bundle.name}" of revision ${revision}; remove the annotation to follow the catalogs again`;
      phase.report.problems.push(newProblem("RevisionPinned", { message: explanation }));
      return { ...phase, pinned: { revision, release, bundle: { ...bundle, explanation } } };
    },
  };
}

/**
 * Returns the release that was already applied for the annotation, otherwise the release with the revision in the
 * annotation.
 */
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
    const message = `annotation ${ANNOTATION_ROLLBACK_TO}: ${getErrorMessage(err)}`;
    throw new TerminalError(Reason.Blocked, message, { cause: err, problems: [newProblem("InvalidSpec", { message })] });
  }
  const known = history.current.find(({ version }) => version === revision);
  const release = known ?? getRecord(await store.read(extension.metadata.name, revision, { signal }));
  if (!release) throw new RetryableError(Reason.Retrying, `annotation ${ANNOTATION_ROLLBACK_TO}: revision ${revision} no longer exists`);
  return { revision, release };
}
