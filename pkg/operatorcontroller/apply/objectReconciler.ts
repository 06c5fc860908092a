import { CLUSTER_EXTENSION, FIELD_MANAGER, LABEL_BUNDLE_NAME, Reason } from "../../api/constants.ts";
import type { GroupVersionKind } from "../../api/k8s.ts";
import { CLASSIC_FIELD_MANAGERS, isMigrated } from "../../api/migration.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { isForbidden } from "../../kube/errors.ts";
import { toActiveRelease } from "../../openshift/upgradeable.ts";
import { preserveDrift } from "../../release/drift.ts";
import { describeObject, isCrd } from "../../release/identity.ts";
import { GO_FIELD_MANAGER } from "../../release/managedFields.ts";
import { findLastDeployed, isOfAnotherWriter, type LeftObject, listActiveReleases, type ReleaseRecord } from "../../release/record.ts";
import { truncateForCondition } from "../../resolve/wording.ts";
import { dropConversions } from "../crds/lostConversions.ts";
import type { WaveStage } from "../dependencies/dependencyPlans.ts";
import { findWatchPermissions } from "../permissions/ownRules.ts";
import { formatRbacCommand } from "../permissions/permissions.ts";
import { ReleaseJournal } from "../releases/releaseJournal.ts";
import { replaceCurrent } from "../releases/releaseStore.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { getConfiguration } from "../state/extensionSpec.ts";
import { formatFirst, selectChanges, summarizeActions } from "../state/objectActions.ts";
import type { ActingPhase } from "../state/phases.ts";
import { ApplyContext, type ApplyServices } from "./applyContext.ts";
import { needsNoApproval, requireApproval } from "./approval.ts";
import { ExtensionCertificates } from "./certificates.ts";
import { followRelease, reconcileDrift } from "./drift.ts";
import { HandoverPending, type Need, ObjectsLocked } from "./handovers.ts";
import { isKept } from "./keptCrds.ts";
import { followLeft, pruneLeft } from "./leftObjects.ts";
import { buildNextRelease, describeCompletion, describeProgress, type NextRelease, type RenderedBundle } from "./nextRelease.ts";
import { PermissionCheck, type PermissionSubject } from "./permissionCheck.ts";
import { KIND_CHECKS, newChecked, OBJECT_CHECKS, PERMISSION_CHECKS, preflight } from "./preflight.ts";
import type { Checked, PreflightRequest } from "./preflightRequest.ts";
import type { PreparedObjects } from "./preparedObjects.ts";
import { listUndesired, prune } from "./prune.ts";
import { ReleaseEvents } from "./releaseEvents.ts";

/** The services that write a release. */
interface WriteTools {
  context: ApplyContext;
  certificates: ExtensionCertificates;
  events: ReleaseEvents;
}

/** The result of writing a release. */
interface WriteResult {
  /** Whether drift was left uncorrected. */
  isDriftLeft: boolean;
  /** Kept objects that the release does not contain: objects that other extensions need, and CustomResourceDefinitions. */
  left: LeftObject[];
}

/**
 * Writes the objects of a release, including objects that other extensions give up, and prunes objects of earlier releases.
 * @throws RetryableError with all failures of the first kind that had failures, or of the deletions.
 */
async function writeRelease(
  { context, certificates, events }: WriteTools,
  { bundle, objects, base, content, leavesDrift }: NextRelease,
  { live: found, after, needs }: Pick<Checked, "live" | "after" | "needs">,
): Promise<WriteResult> {
  const { applier, phase, deps, scoped, step, owner } = context;
  const live = await context.takeFromOthers(needs, found);
  for (const need of needs) events.record("Normal", "HandedOver", formatHandover(need));
  await certificates.withdraw(objects, live);
  const taken = await context.adoptFields(live, getPreviousWriters(phase, base, content));
  const applied = context.toApply(objects, taken, base === undefined && isMigrated(phase.extension));
  const written = leavesDrift ? preserveDrift(applied, { recorded: base?.objects ?? [], live: taken, after }) : applied;
  await applier.apply(certificates.addCaBundles(written, taken), taken);
  for (const text of await dropConversions(scoped, await context.lostConversions(objects), step.signal))
    events.record("Normal", "ConversionDropped", text);
  const { kept, left } = await prune(applier, scoped, context.pruneRequest(objects), step.signal);
  for (const { text } of kept) events.record("Normal", "Kept", text);
  const given = left.filter((one) => !isKept(one));
  if (given.length > 0)
    events.record("Normal", "HandedOver", `kept objects that other extensions need: ${formatFirst(given.map(describeObject))}`);
  await certificates.keep(objects);
  events.applied(bundle.name, applier.actions, live, owner, deps.extensionExists);
  return { isDriftLeft: written.length < applied.length || written.some((object) => !applied.includes(object)), left };
}

function formatHandover({ object, owner }: Need): string {
  return `took over ${describeObject(object)} from ${CLUSTER_EXTENSION} "${owner}", whose next release does not contain it`;
}

/**
 * Returns the field managers whose updated fields a release takes over:
 * - always those of the Go operator-controller
 * - after an import of object sets, our own name: the Go operator-controller creates objects with it, and makes the fields those of an apply only with
 *   its next write, so not if it stopped in between
 * - for an extension converted from OLM v0, those of OLM v0, but only from the first release of a different bundle, because that release recreates the
 *   Pods anyway
 * @see package-operator/boxcutter d9a1e59f machinery/objects.go migrateFieldManagersToSSA
 */
function getPreviousWriters(
  { extension, releases }: Pick<ActingPhase, "extension" | "releases">,
  base: NextRelease["base"],
  { labels }: NextRelease["content"],
): readonly string[] {
  const isOtherBundle = base !== undefined && base.labels[LABEL_BUNDLE_NAME] !== labels[LABEL_BUNDLE_NAME];
  const isImported = releases.history.current.some(({ objectSet }) => objectSet !== undefined);
  return [
    GO_FIELD_MANAGER,
    ...(isImported ? [FIELD_MANAGER] : []),
    ...(isMigrated(extension) && isOtherBundle ? CLASSIC_FIELD_MANAGERS : []),
  ];
}

/** Reconciles the objects of one extension once, with the extension's identity: maintains the deployed release, or applies a new one. */
export class ObjectReconciler {
  readonly #deps: ApplyServices;
  readonly #phase: ActingPhase;
  readonly #context: ApplyContext;
  readonly #journal: ReleaseJournal;
  readonly #certificates: ExtensionCertificates;
  readonly #events: ReleaseEvents;
  readonly #permissions: PermissionCheck;

  constructor(deps: ApplyServices, phase: ActingPhase, step: StepContext) {
    const { log, signal } = step;
    const { memory, now, driftIntervalMs: intervalMs } = deps;
    this.#deps = deps;
    this.#phase = phase;
    this.#context = new ApplyContext(deps, phase, step);
    this.#certificates = new ExtensionCertificates(deps, phase, step);
    this.#events = new ReleaseEvents(phase.extension, deps.events, memory);
    this.#journal = new ReleaseJournal({
      store: deps.releases,
      owner: this.#context.owner,
      history: phase.releases.history,
      now,
      signal,
      log,
    });
    this.#permissions = new PermissionCheck({ phase, events: this.#events, memory, intervalMs, now, signal });
  }

  /**
   * Corrects drift of the last deployed release, if a comparison is due. Maintains its certificates and left objects even if that fails.
   * @throws RetryableError with all objects that could not be corrected or pruned, and certificates that could not be provided.
   */
  async maintain(): Promise<void> {
    const deployed = findLastDeployed(this.#phase.releases.history.current);
    if (!deployed) throw new RetryableError(Reason.Retrying, "catalog content unavailable and no release installed");
    if (this.#journal.isUnsettled) await this.#journal.settle(deployed);
    await this.#permissions.warn(() => this.#permissionSubject(deployed));
    const objects = reconcileDrift(deployed, this.#context);
    await objects.catch(() => undefined);
    this.#context.step.signal.throwIfAborted();
    const outcomes = await Promise.allSettled([
      objects,
      this.#certificates.maintain(deployed),
      pruneLeft(deployed, this.#context, this.#journal),
    ]);
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === "rejected" ? [outcome.reason] : []));
    if (failures.some((err) => err instanceof Error && isForbidden(err.cause))) {
      await this.#permissions.warnAfterDenial(() => this.#permissionSubject(deployed)).catch(() => undefined); // the error below reports the failure anyway
    }
    if (failures.length > 1) throw new RetryableError(Reason.Retrying, failures.map(getErrorMessage).join("\n"), { cause: failures[0] });
    if (failures.length === 1) throw failures[0];
  }

  /**
   * Maintains the deployed release if it is the target of the extension, or if the reconcile could not determine the target.
   * @param isTarget whether the deployed release is known to be the target.
   */
  async keep(isTarget: boolean): Promise<void> {
    const { extension, releases, changes } = this.#phase;
    const deployed = findLastDeployed(releases.history.current);
    const isUnpacking = this.#phase.phase === "unpacking";
    if (deployed && isUnpacking && isOfAnotherWriter(deployed)) return; // the next reconcile adopts the release unchanged
    if (deployed && isTarget) this.#deps.handovers.settle(extension, deployed.objects);
    else if (deployed && !isUnpacking) this.#deps.handovers.assume(extension, deployed.objects);
    if (isTarget) changes.isAimed = true;
    await this.maintain();
  }

  /**
   * Applies a bundle as a new release. If the newest deployed release contains exactly the same objects, maintains the deployed release instead. If
   * the reconcile is aborted, the release stays pending and the next reconcile resumes it.
   * @throws RetryableError with the failures of the objects; TerminalError for a bundle that cannot be applied, and AwaitingApproval.
   */
  async release(rendered: RenderedBundle): Promise<void> {
    if (!rendered.rollback) await this.#joinWave(rendered);
    const prepared = await this.#context.prepare(rendered.objects, rendered.bundle);
    const request = this.#preflightRequest(prepared, rendered.bundle.image);
    const checked = newChecked();
    await preflight(request, { mode: "stop", checks: KIND_CHECKS, checked });
    const next = buildNextRelease(this.#phase, rendered, prepared);
    const { state, bundle, objects } = next;
    const { extension, releases, changes } = this.#phase;
    const { handovers } = this.#deps;
    if (state.kind === "Unchanged") {
      const renewed = await this.#journal.renew(state.release, next.content);
      releases.history = replaceCurrent(releases.history, renewed);
      handovers.settle(extension, state.release.objects);
      changes.isAimed = true;
      return this.maintain();
    }
    handovers.setTarget(extension, objects, next.base?.objects ?? []);
    changes.isAimed = true;
    this.#context.step.log.info({ state: state.kind, reason: state.reason }, "release needed");
    let written: WriteResult | undefined;
    try {
      await preflight(request, { mode: "stop", checks: PERMISSION_CHECKS, checked });
      this.#permissions.report(checked.tolerated);
      await this.#context.withLocks([...objects, ...listUndesired(this.#context.pruneRequest(objects))], async () => {
        await preflight(this.#withStorage(request, rendered, next), { mode: "stop", checks: OBJECT_CHECKS, checked });
        this.#events.preflight(bundle.name, next.content.inputDigest, checked.notes, this.#context.dryRun.warnings);
        if (next.kind !== "RolledBack") await requireApproval(this.#context, this.#events, rendered, next, checked);
        this.#requireHandovers(checked);
        await this.#certificates.keep(objects);
        const record = await this.#begin(next);
        try {
          written = await writeRelease({ context: this.#context, certificates: this.#certificates, events: this.#events }, next, checked);
        } catch (err) {
          if (!this.#context.step.signal.aborted) await this.#recordFailure(next, record, err);
          throw err;
        }
        await this.#recordSuccess(record, written);
      });
    } catch (err) {
      if (!(err instanceof HandoverPending) && !(err instanceof ObjectsLocked)) handovers.blocked(extension.metadata.name);
      throw err;
    }
    if (written?.isDriftLeft) {
      this.#recordEvents(next);
      await this.#reportDrift();
    } else {
      await this.#follow(next);
      this.#recordEvents(next);
    }
  }

  /**
   * Installs a bundle together with the other bundles of its wave, if a plan contains others that are not installed: checks everything before the
   * first write, waits until all bundles of the wave are checked and other extensions give up its objects, applies the CustomResourceDefinitions, and
   * waits until those of all are applied. A bundle without CustomResourceDefinitions is checked in each reconcile until then, because it must still agree
   * to give up objects that partners need.
   * @throws WaitingError Retrying while it waits for others. The release stays pending meanwhile.
   */
  async #joinWave(rendered: RenderedBundle): Promise<void> {
    const { plans } = this.#deps;
    const { name } = this.#phase.extension.metadata;
    if (!plans || plans.listPartners(name).length === 0) return;
    const isDefined = plans.hasReached(name, "defined");
    if (isDefined) this.#phase.changes.isAimed = true; // the target is still that of the reconcile that reached the stage
    const hasDefinitions = rendered.objects.some(isCrd);
    if (!isDefined || (!hasDefinitions && plans.reach(name, "defined").length > 0)) await this.#applyDefinitions(rendered);
    if (!isDefined && hasDefinitions) {
      plans.reach(name, "defined");
      const text = `applied the CustomResourceDefinitions of bundle ${goQuote(rendered.bundle.name)}; its other objects are next`;
      throw new WaitingError(Reason.Retrying, text, { isOver: () => Promise.resolve(true) }); // the next reconcile continues the release
    }
    this.#awaitPartners(rendered, "defined", "have applied their CustomResourceDefinitions");
  }

  /** Checks a bundle of a wave, and applies its CustomResourceDefinitions. @throws WaitingError as `#joinWave` */
  async #applyDefinitions(rendered: RenderedBundle): Promise<void> {
    const { handovers, plans } = this.#deps;
    const { extension, changes } = this.#phase;
    const { name } = extension.metadata;
    const prepared = await this.#context.prepare(rendered.objects, rendered.bundle);
    const isAwaited = (gvk: GroupVersionKind): boolean => plans?.isProvidedByPartner(name, gvk) ?? false;
    const served = prepared.objects.filter((object) => prepared.kinds.resourceOf(object) !== undefined);
    const request = { ...this.#preflightRequest({ ...prepared, objects: served }, rendered.bundle.image), isAwaited };
    const checked = newChecked();
    await preflight(request, { mode: "stop", checks: KIND_CHECKS, checked });
    const next = buildNextRelease(this.#phase, rendered, prepared);
    handovers.setTarget(extension, next.objects, next.base?.objects ?? []); // partners may need objects that the target no longer contains
    changes.isAimed = true;
    try {
      await preflight(request, { mode: "stop", checks: PERMISSION_CHECKS, checked });
      await this.#context.withLocks(served, async () => {
        await preflight(this.#withStorage(request, rendered, next), { mode: "stop", checks: OBJECT_CHECKS, checked });
        await requireApproval(this.#context, this.#events, rendered, next, checked);
        this.#awaitPartners(rendered, "checked", "are ready to be installed together with it");
        this.#requireHandovers(checked);
        const definitions = next.objects.filter(isCrd);
        if (definitions.length === 0) return;
        await this.#certificates.keep(next.objects);
        await this.#begin(next);
        const taken = checked.needs.filter(({ object }) => isCrd(object));
        const live = await this.#context.takeFromOthers(taken, checked.live);
        for (const need of taken) this.#events.record("Normal", "HandedOver", formatHandover(need));
        await this.#certificates.withdraw(definitions, live);
        const applied = this.#context.toApply(definitions, live, false);
        await this.#context.applier.apply(this.#certificates.addCaBundles(applied, live), live);
        await this.#certificates.keep(next.objects);
      });
    } catch (err) {
      if (!(err instanceof HandoverPending) && !(err instanceof ObjectsLocked)) handovers.blocked(name);
      throw err;
    }
  }

  /** @throws WaitingError Retrying until all bundles of the wave have reached a stage */
  #awaitPartners({ bundle }: RenderedBundle, stage: WaveStage, condition: string): void {
    const { plans } = this.#deps;
    const { name } = this.#phase.extension.metadata;
    const missing = plans?.reach(name, stage) ?? [];
    if (missing.length === 0) return;
    const before = missing.join("; ");
    const text = truncateForCondition(`waiting until the bundles that need bundle ${goQuote(bundle.name)} ${condition}: ${before}`, name);
    throw new WaitingError(Reason.Retrying, text, {
      isOver: () => Promise.resolve((plans?.reach(name, stage) ?? []).join("; ") !== before),
      problems: [newProblem("DependenciesInstalling", { message: text, details: missing.map((message) => ({ message })) })],
    });
  }

  /**
   * Checks that other extensions give up the objects that the release needs.
   * @throws HandoverPending with these objects and their owners until all owners can give up the objects.
   */
  #requireHandovers({ needs }: Pick<Checked, "needs">): void {
    const { name } = this.#phase.extension.metadata;
    const { handovers } = this.#deps;
    handovers.ready(name, needs);
    if (!handovers.isAgreed(name)) throw new HandoverPending(needs, () => handovers.isAgreed(name));
  }

  #preflightRequest({ objects: desired, kinds }: PreparedObjects, image: string): PreflightRequest {
    const { extension, releases } = this.#phase;
    const { applier, dryRun, owner, scoped: client, step } = this.#context;
    const images = this.#images(image);
    return {
      desired,
      kinds,
      base: findLastDeployed(releases.history.current),
      owner,
      extensionExists: this.#deps.extensionExists,
      extension,
      handovers: this.#deps.handovers,
      applier,
      dryRun,
      client,
      discovery: this.#deps.discovery,
      permissions: () => this.#permissions.find({ desired, images, kinds }),
      advice: `print the exact roles: ${formatRbacCommand(extension, images, { objects: desired, config: getConfiguration(this.#phase) })}`,
      pruning: this.#context.pruneRequest(desired),
      objects: this.#deps.objectChecker,
      signal: step.signal,
    };
  }

  /** Lets the preflight change the stored versions of custom resources and CRDs, but not before the release is approved. */
  #withStorage(request: PreflightRequest, rendered: RenderedBundle, next: NextRelease): PreflightRequest {
    return { ...request, migrator: this.#deps.storageMigrator, onlyTries: !needsNoApproval(this.#context, rendered, next) };
  }

  /** Stores that the release has begun. Afterwards, the reconcile must record how the release ended. */
  async #begin({ content, state }: NextRelease): Promise<ReleaseRecord> {
    const { extension, releases, changes } = this.#phase;
    const { current } = releases.history;
    const { changedBy } = this.#deps.memory.of(extension);
    const { generation } = extension.metadata;
    const cause = { ...(generation === undefined ? {} : { generation }), ...(changedBy === undefined ? {} : { changedBy }) };
    const record = await this.#journal.begin({ ...content, ...cause }, state);
    changes.began = true;
    releases.active = listActiveReleases([record, ...current.filter(({ version }) => version !== record.version)]);
    releases.unreadable = [];
    delete releases.unknownBecause;
    this.#deps.memory.record(extension, [record, ...current]);
    this.#deps.handovers.writing(extension.metadata.name);
    this.#deps.watches?.hold(extension.metadata.name);
    await this.#deps.awaitBlock?.(toActiveRelease(extension.metadata.name, record), this.#context.step.signal);
    return record;
  }

  async #recordFailure(next: NextRelease, record: ReleaseRecord, err: unknown): Promise<void> {
    const { actions, applied } = this.#context.applier;
    const done = selectChanges(actions).filter(({ labelsOnly }) => !labelsOnly);
    const text = `${describeProgress(next)} failed${done.length > 0 ? ` (objects so far: ${summarizeActions(done)})` : ""}: ${getErrorMessage(err)}`;
    const release = await this.#journal.markFailed(record, text);
    this.#phase.changes.failed = { release, applied, actions };
    this.#events.record("Warning", "ApplyFailed", text);
  }

  async #recordSuccess(record: ReleaseRecord, { left }: WriteResult): Promise<void> {
    const deployed = await this.#journal.markDeployed(left.length > 0 ? { ...record, left } : record);
    this.#deps.handovers.settle(this.#phase.extension, deployed.objects);
    await followLeft(deployed, this.#context);
    this.#certificates.noteComplete(record);
    const { changes, releases } = this.#phase;
    changes.deployed = deployed;
    changes.live = this.#context.applier.applied;
    releases.active = [deployed];
  }

  async #follow({ objects, kinds }: NextRelease): Promise<void> {
    const { scoped, step } = this.#context;
    const mayWatchAll = this.#deps.watches && (await findWatchPermissions(scoped, objects, (gvk) => kinds.resourceOf(gvk), step.signal));
    followRelease(this.#context, mayWatchAll);
  }

  #recordEvents(next: NextRelease): void {
    this.#events.record(
      "Normal",
      next.kind,
      `${describeCompletion(next, this.#phase.releases.installed?.name)}: ${summarizeActions(this.#context.applier.actions)}`,
    );
    this.#events.proxy(next, this.#phase);
    for (const note of next.notes) this.#events.record("Normal", "ManifestNormalized", note);
  }

  /**
   * Compares all objects of the new release, to report drift that the release left uncorrected. Until this succeeds, the objects do not count as
   * compared, so the next reconcile compares all of them again. The apply's outcomes are not used, because it has left the drift out.
   */
  async #reportDrift(): Promise<void> {
    const { deployed } = this.#phase.changes;
    if (!deployed) return;
    const { deps, phase, step } = this.#context;
    delete deps.memory.of(phase.extension).checkedAt;
    await reconcileDrift(deployed, new ApplyContext(deps, phase, step));
  }

  /** Returns the objects of a deployed release whose kinds are served, to check the permissions for them. */
  async #permissionSubject({ objects }: ReleaseRecord): Promise<PermissionSubject> {
    const { objects: prepared, kinds } = await this.#context.prepare(objects);
    return { desired: prepared.filter((object) => kinds.resourceOf(object) !== undefined), images: this.#images(), kinds };
  }

  /** Returns the images of the installed and the new bundle, if they exist, because printed roles must cover both. */
  #images(image?: string): string[] {
    return [this.#phase.releases.installed?.image, image].filter((found) => found !== undefined);
  }
}
