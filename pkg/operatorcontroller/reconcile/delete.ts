import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import {
  ANNOTATION_DROP_CONVERSION,
  ANNOTATION_FORCE_DELETE,
  ANNOTATION_FORCE_UNINSTALL,
  CLUSTER_EXTENSION,
  FINALIZER_ORPHAN,
  LABEL_OWNER_KIND,
  LABEL_OWNER_NAME,
  Reason,
} from "../../api/constants.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { isApiService } from "../../bundle/apiServices.ts";
import { writeFinalizers } from "../../controller/finalizers.ts";
import { type Ended, fail, type StepContext, stop, stopWithoutStatus } from "../../controller/stepSequence.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { CRD, describeObject, getObjectKey, isCrd } from "../../release/identity.ts";
import { determineOwnership } from "../../release/ownership.ts";
import { type CrdPolicy, getCrdPolicy, sortForUninstall } from "../../release/plan.ts";
import type { LeftObject } from "../../release/record.ts";
import type { Dependent } from "../../resolve/dependencies/dependents.ts";
import { formatList } from "../../text/lists.ts";
import { Applier } from "../apply/applier.ts";
import { takeOver } from "../apply/handovers.ts";
import { filterOwned, formatKeptCrd, isKept, recheckKept, removeCrds, toKubeObject } from "../apply/keptCrds.ts";
import { type CustomResourceKind, findOtherServer, listServedKinds } from "../crds/crdUse.ts";
import { dropConversions } from "../crds/lostConversions.ts";
import { findUnsavedChange, requiresBackup } from "../crds/unsavedChanges.ts";
import { ServiceAccountMissing } from "../permissions/identity.ts";
import { type ReleaseHistory, requireReadable } from "../releases/releaseStore.ts";
import { createUnknownReleases } from "../state/clusterChanges.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { hasSpec } from "../state/extensionSpec.ts";
import { formatFirst, selectChanges, summarizeActions } from "../state/objectActions.ts";
import type { Deleting, Phase, ReconcileStep, Started } from "../state/phases.ts";
import { CHANGED_MS, isUninstallFinalizer } from "./finalizers.ts";
import { readReleases } from "./retrieveReleases.ts";
import type { Services } from "./services.ts";
import { listKnownObjects } from "./status.ts";

/** Result of one reconcile of an uninstall. The applier's actions list the deleted objects. */
export interface UninstallProgress {
  /** Objects such as "Deployment ns/x"; empty if the uninstall waits for nothing. */
  waitingFor: string[];
  /** Kept CRDs, each with the reason, for Events. */
  kept: { readonly text: string }[];
}

type Stage = () => Promise<string[]>;

/** Deleted first. The uninstall waits until they are deleted; otherwise the webhook of a stopped operator could block later deletions. */
const WEBHOOKS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
/** The uninstall waits until they and their Pods are deleted; otherwise the operator would run without its permissions. */
const WORKLOADS: ReadonlySet<string> = new Set([
  "CronJob",
  "DaemonSet",
  "Deployment",
  "Job",
  "Pod",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
]);

/**
 * Deletes the objects of an extension as its ServiceAccount, in stages. Each run continues until it must wait. Skips objects that no longer belong to
 * the extension. The stages:
 * - conversion webhooks of CRDs
 * - webhook configurations
 * - with policy Delete, the custom resources, while the operator still runs
 * - APIServices
 * - workloads
 * - all other objects
 * - the CRDs
 */
export class Uninstaller {
  readonly #client: Client;
  readonly #applier: Applier;
  readonly #extension: Readonly<ClusterExtension>;
  readonly #signal: AbortSignal;
  readonly #policy: CrdPolicy;

  /** @param policy decides about the CRDs; the policy of the extension by default. */
  constructor(
    client: Client,
    applier: Applier,
    extension: Readonly<ClusterExtension>,
    signal: AbortSignal,
    policy: CrdPolicy = getCrdPolicy(extension.spec),
  ) {
    this.#client = client;
    this.#applier = applier;
    this.#extension = extension;
    this.#signal = signal;
    this.#policy = policy;
  }

  /**
   * Runs the stages until one of them must wait.
   * @param recorded every object that a release may have created.
   * @param onConversionDropped called for each conversion webhook that is removed from a definition.
   * @throws WaitingError ConversionNeeded before anything is removed, see `checkConversions`.
   * @throws RetryableError Retrying with every rejected request of the failed stage. Later stages do not run.
   */
  async run(recorded: readonly LeftObject[], onConversionDropped: (text: string) => void = () => undefined): Promise<UninstallProgress> {
    const policy = this.#policy;
    const before = recorded.filter((one) => policy !== "Delete" && isKept(one));
    const isBefore = (object: KubeObject): boolean => before.some((one) => getObjectKey(one) === getObjectKey(object));
    const { objects: keptBefore } = await this.#applier.readEach(before);
    const rest = recorded.filter((one) => !before.includes(one));
    const live = new Map([
      ...(await this.#applier.read(rest.filter(isCrd))),
      ...(await this.#applier.read(
        rest.filter((one) => !isCrd(one)),
        { metadataOnly: true },
      )),
      ...keptBefore,
    ]);
    const { name, uid = "" } = this.#extension.metadata;
    const owner = { name, uid, installNamespace: getNamespace(this.#extension) };
    const ours = sortForUninstall([...live.values()].filter((object) => determineOwnership(object, owner).kind === "ours"));
    const crds = ours.filter(isCrd);
    const others = ours.filter((object) => !isCrd(object));
    const kept: { text: string }[] = [];
    const { annotations } = this.#extension.metadata;
    const isForced = annotations?.[ANNOTATION_DROP_CONVERSION] === "true";
    const conversions = { extension: name, crds, policy, recorded, isForced, refusal: "not uninstalled" };
    const stages: Stage[] = [
      async () => {
        for (const text of await dropConversions(this.#client, conversions, this.#signal)) onConversionDropped(text);
        return [];
      },
      () => this.#delete(others.filter(({ kind }) => WEBHOOKS.has(kind))),
      () => (policy === "Delete" ? this.#deleteCustomResources(crds) : Promise.resolve([])),
      // Deleted before the workloads that serve them, because discovery, garbage collection and namespace deletion fail
      // if an APIService is unavailable.
      () => this.#delete(others.filter(isApiService)),
      () =>
        this.#delete(
          others.filter(({ kind }) => WORKLOADS.has(kind)),
          "Foreground",
        ),
      () => this.#delete(others.filter((object) => !WEBHOOKS.has(object.kind) && !WORKLOADS.has(object.kind) && !isApiService(object))),
      async () => {
        const leaving = crds.filter((crd) => !isBefore(crd));
        const removal = await removeCrds(this.#applier, this.#client, leaving, { policy }, this.#signal);
        const request = { policy, owner, isWanted: () => false };
        const still = await recheckKept(this.#applier, this.#client, before, request, this.#signal);
        const staying = [...removal.kept, ...still.map(({ left, ...rest }) => ({ text: formatKeptCrd(left), ...rest }))];
        const unsure = staying.find(({ retry }) => retry !== undefined);
        if (unsure) throw new RetryableError(Reason.Retrying, unsure.text, { cause: unsure.retry?.cause });
        const keeping = removal.kept.map(({ crd }) => crd);
        await takeOver(this.#client, keeping, uid, this.#signal);
        kept.push(...staying);
        return this.#left(removal.deleting);
      },
    ];
    for (const stage of stages) {
      const waitingFor = await stage();
      if (waitingFor.length > 0) return { waitingFor, kept: [] };
    }
    return { waitingFor: [], kept };
  }

  /** Deletes the objects that are not being deleted yet. @returns those that still exist. */
  async #delete(objects: readonly KubeObject[], propagation?: "Foreground"): Promise<string[]> {
    return (await this.#remove(objects, propagation)) ? this.#left(objects) : objects.map(describeObject);
  }

  /** Deletes the objects that are not being deleted yet. @returns whether there were any; if not, the objects need not be read again. */
  async #remove(objects: readonly KubeObject[], propagation?: "Foreground"): Promise<boolean> {
    const remaining = objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    await this.#applier.remove(remaining, propagation);
    return remaining.length > 0;
  }

  /** Returns the objects that still exist, as text. */
  async #left(objects: readonly KubeObject[]): Promise<string[]> {
    const left = await this.#applier.read(objects.map(toObjectRef), { metadataOnly: true });
    return objects.filter((object) => left.get(getObjectKey(object))?.metadata.uid === object.metadata.uid).map(describeObject);
  }

  async #deleteCustomResources(crds: readonly KubeObject[]): Promise<string[]> {
    const waitingFor: string[] = [];
    for (const crd of crds) {
      const kind = await this.#ownKindOf(crd);
      if (!kind) continue;
      const found = await this.#customResources(kind);
      // Ignores custom resources that the operator creates again meanwhile: it still runs.
      const left = (await this.#remove(found)) ? new Set((await this.#customResources(kind)).map(getUid)) : undefined;
      waitingFor.push(...found.filter((one) => left?.has(getUid(one)) ?? true).map(describeObject));
    }
    return waitingFor;
  }

  /**
   * Returns a version that the CRD itself serves. Skips versions that an aggregated API server serves, because its objects would be listed and
   * deleted. Undefined if there is no such version; in this case, the custom resources are deleted with the CRD.
   */
  async #ownKindOf(crd: KubeObject): Promise<CustomResourceKind | undefined> {
    for (const kind of listServedKinds(crd)) if (!(await findOtherServer(this.#client, crd, kind, this.#signal))) return kind;
    return undefined;
  }

  async #customResources(kind: { apiVersion: string; kind: string }): Promise<KubeObject[]> {
    try {
      return (await this.#client.list(kind, { metadataOnly: true, signal: this.#signal })).items;
    } catch (err) {
      if (err instanceof KindNotServed) return [];
      throw err;
    }
  }
}

function getUid({ metadata: { uid } }: KubeObject): string | undefined {
  return uid;
}

/** Maximum number of dependents in a message, and of constraints of each dependent. */
const MAX_DEPENDENTS = 5;
const MAX_NEEDS = 3;
/** Maximum interval in milliseconds of the check for dependents. All extensions share the request of a check, if one is needed. */
const DEPENDENTS_LOOK_MS = 1_000;

/**
 * Delays an uninstall while installed bundles of other extensions depend on its bundle, unless annotation
 * force-uninstall is "true". An uninstall that has begun is not delayed again.
 * @throws WaitingError RequiredByOthers with the dependents and the next step.
 */
async function holdForDependents(
  { dependents, memory }: Pick<Services, "dependents" | "memory">,
  { extension, releases: { installed } }: Deleting,
): Promise<void> {
  const { name, annotations } = extension.metadata;
  const entry = memory.of(extension);
  if (installed && !entry.uninstalling && annotations?.[ANNOTATION_FORCE_UNINSTALL] !== "true") {
    const found = await dependents.of(name);
    if (!found) throw new RetryableError(Reason.Retrying, "cannot determine yet whether other extensions depend on this extension");
    if (found.length > 0) {
      const dependentsText = formatDependents(found);
      const message = `not uninstalled: other extensions depend on bundle "${installed.name}": ${dependentsText}`;
      const next =
        "uninstall the dependents first, set their spec.dependencies.policy to Ignore, or uninstall anyway: " +
        `kubectl annotate clusterextension ${name} ${ANNOTATION_FORCE_UNINSTALL}=true`;
      const problems = [newProblem("RequiredByOthers", { message, next, details: found.map((one) => one.extension) })];
      const isOver = async (): Promise<boolean> => formatDependents((await dependents.of(name)) ?? []) !== dependentsText;
      throw new WaitingError(Reason.RequiredByOthers, message, { isOver, everyMs: DEPENDENTS_LOOK_MS, problems });
    }
  }
}

/** Maximum interval in milliseconds of the check of custom resources. A backup ends the wait at once, because it changes the extension. */
const BACKUP_LOOK_MS = 10_000;

/**
 * Delays an uninstall that would delete custom resources which the last backup does not contain, if `spec.uninstall.backup` is Required. An uninstall
 * that has begun is not delayed again.
 * @param client uses the extension's identity
 * @throws WaitingError BackupRequired with the CustomResourceDefinitions and the next step.
 */
async function holdForBackup(
  { memory }: Pick<Services, "memory">,
  { extension }: Deleting,
  client: Client,
  { log, signal }: StepContext,
): Promise<void> {
  const { uninstalling, recorded } = memory.of(extension);
  if (uninstalling || !requiresBackup(extension)) return;
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: getNamespace(extension) };
  const crds = recorded.filter(isCrd);
  const findUnsaved = async (abort: AbortSignal): Promise<{ name: string; message: string }[]> => {
    const live = await new Applier(client, log, abort).read(crds);
    const found: { name: string; message: string }[] = [];
    for (const crd of filterOwned(crds.map(toKubeObject), live, owner)) {
      const unsaved = await findUnsavedChange(client, extension, crd, abort);
      if (unsaved !== undefined) found.push({ name: crd.metadata.name, message: unsaved });
    }
    return found;
  };
  const unsaved = await findUnsaved(signal);
  const [first] = unsaved;
  if (!first) return;
  const message = `not uninstalled: spec.uninstall.backup is Required: ${first.message}`;
  const problem = newProblem("BackupRequired", { message, next: `olmv1 backup ${name}`, details: unsaved });
  const isOver = async (abort: AbortSignal): Promise<boolean> => (await findUnsaved(abort)).length === 0;
  throw new WaitingError(Reason.BackupRequired, message, { isOver, everyMs: BACKUP_LOOK_MS, problems: [problem] });
}

/**
 * Formats dependents, such as `ClusterExtension "b" (bundle "b.v1.0.0") needs package "a" >=1.0.0`, separated by
 * semicolons.
 */
function formatDependents(found: readonly Dependent[]): string {
  const texts = found.slice(0, MAX_DEPENDENTS).map(({ extension, bundle, needs }) => {
    const first = formatList(needs, { max: MAX_NEEDS });
    return `ClusterExtension "${extension}" (bundle "${bundle}") needs ${first}`;
  });
  return formatList(texts, { max: MAX_DEPENDENTS, separator: "; ", total: found.length });
}

/** Dependencies of an uninstall. */
export interface DeletionServices
  extends Pick<Services, "client" | "identities" | "releases" | "objectSets" | "events" | "memory" | "dependents" | "now" | "forget"> {
  /** The controller's own identity. */
  discovery: Pick<Client, "list">;
  created: Pick<Services["created"], "release">;
  managed: Pick<Services["managed"], "covers" | "hasAccount">;
}

/**
 * Uninstalls a deleted extension: deletes its objects, then its releases, then removes its finalizer.
 *
 * | deleted                                      | objects                                                      | releases |
 * | while other extensions depend on it          | stay until none depends on it, or force-uninstall is set     | stay     |
 * | without a backup that is required            | stay until a backup contains all custom resources            | stay     |
 * | with --cascade=orphan                        | stay                                                         | stay     |
 * | and its ServiceAccount does not exist        | stay; the condition says what to do                          | stay     |
 * | the same, with annotation force-delete       | left to the garbage collector; CRDs have no owner and stay   | deleted  |
 * | without a ServiceAccount                     | the same                                                     | deleted  |
 * | while a release cannot be read               | stay until its Secret is repaired or deleted                 | stay     |
 * | in any other case                            | deleted as the ServiceAccount, in stages, and waited for     | deleted  |
 */
export function handleDeletion(deps: DeletionServices): ReconcileStep<Started> {
  return {
    name: "HandleDeletion",
    async run(phase, context) {
      if (phase.extension.metadata.deletionTimestamp === undefined) return phase;
      const deleting: Deleting = { ...phase, phase: "deleting", releases: createUnknownReleases(), progress: "uninstalling" };
      try {
        return await finishDeletion(deps, deleting, context);
      } catch (err) {
        return fail(deleting, err);
      }
    },
  };
}

async function finishDeletion(deps: DeletionServices, phase: Deleting, context: StepContext): Promise<Ended<Phase>> {
  const { extension, releases, report } = phase;
  const { name, finalizers = [] } = extension.metadata;
  const { signal } = context;
  const others = finalizers.filter((finalizer) => !isUninstallFinalizer(finalizer));
  if (others.length === finalizers.length) {
    const progress = `uninstalled; waiting for other finalizers to be removed: ${formatFirst(others)}`;
    report.problems.push(newProblem("FinalizersBlockDeletion", { message: progress, details: others }));
    return stop({ ...phase, progress });
  }
  await readReleases(deps, phase, signal);
  const { orphaned } = releases.history;
  if (orphaned || finalizers.includes(FINALIZER_ORPHAN)) {
    deps.events.record(
      extension,
      "Normal",
      "Orphaned",
      "the extension was deleted with --cascade=orphan: its objects and releases are kept",
    );
  } else {
    stopAtUnreadable(phase);
    await holdForDependents(deps, phase);
    const waitingFor = await uninstall(deps, phase, context);
    if (waitingFor.length > 0)
      return stop(
        { ...phase, progress: `uninstalling: waiting for ${formatFirst(waitingFor)} to be deleted` },
        { requeueAfterMs: deps.memory.awaitDeletion(extension, waitingFor, deps.now()) },
      );
    await deps.objectSets?.remove(extension, undefined, signal);
    await removeReleases(deps, name, releases.history, signal);
    releases.installed = undefined;
    await deps.created.release(extension, signal);
  }
  await deps.forget(name);
  const outcome = await writeFinalizers(deps.client, extension, others, signal);
  if (outcome === "changed") return stop(phase, { requeueAfterMs: CHANGED_MS });
  context.log.info("extension removed");
  return stopWithoutStatus(phase);
}

/**
 * Stops an uninstall that could miss objects.
 * @throws ReleaseUnreadable if a release cannot be read, because the objects that it contains are unknown.
 */
function stopAtUnreadable({ releases }: Deleting): void {
  try {
    requireReadable(releases.history);
  } catch (err) {
    releases.unknownBecause = releases.unreadable.join("; ");
    throw err;
  }
}

/** Returns the objects to wait for; empty when all objects that are not kept are deleted. */
async function uninstall(deps: DeletionServices, phase: Deleting, context: StepContext): Promise<readonly string[]> {
  const { extension, releases } = phase;
  deps.memory.record(extension, releases.history.current, { keep: true });
  await recordFromStatus(deps, phase, context.signal);
  const entry = deps.memory.of(extension);
  const client = entry.recorded.length === 0 ? undefined : await clientOrReason(deps, phase, context);
  if (client !== undefined && typeof client !== "string") await holdForBackup(deps, phase, client, context);
  entry.uninstalling = true;
  entry.uninstalledReleases = withoutContent(releases.history);
  if (client === undefined) return [];
  if (typeof client === "string") {
    const text = `the controller leaves the objects to the garbage collector and keeps CustomResourceDefinitions: ${client}`;
    context.log.warn({ reason: client }, "leaving objects to the garbage collector");
    deps.events.record(extension, "Warning", "UninstalledByGarbageCollector", text);
    return [];
  }
  return removeExtensionObjects(deps, extension, client, context);
}

/**
 * Records the objects in the status if no release contains the installed bundle. With foreground deletion, the garbage collector deletes the releases
 * immediately, so that a controller which starts afterwards cannot read them. The uninstall skips objects that do not belong to the extension.
 */
async function recordFromStatus(
  { memory, discovery }: Pick<DeletionServices, "memory" | "discovery">,
  { extension, releases }: Deleting,
  signal: AbortSignal,
): Promise<void> {
  const { status } = extension;
  if (releases.installed || !status?.install) return;
  const { objects, isComplete } = listKnownObjects(status);
  memory.recordMore(extension, objects);
  if (isComplete) return;
  // The garbage collector deletes all other objects, because they have an owner reference.
  const labelSelector = `${LABEL_OWNER_KIND}=${CLUSTER_EXTENSION},${LABEL_OWNER_NAME}=${extension.metadata.name}`;
  const { items } = await discovery.list(CRD, { labelSelector, metadataOnly: true, signal });
  memory.recordMore(extension, items.map(toObjectRef));
}

/** Returns a history without the content of its objects, which `ExtensionCacheEntry.recorded` lists, to save memory during an uninstall. */
function withoutContent(history: ReleaseHistory): ReleaseHistory {
  const current = history.current.map((one) => ({ ...one, objects: one.objects.map((object) => toKubeObject(toObjectRef(object))) }));
  return { ...history, current };
}

/** Deletes the records of all releases of an extension. */
export async function removeReleases(
  { releases }: Pick<Services, "releases">,
  extension: string,
  { current, older, unfinished }: ReleaseHistory,
  signal: AbortSignal,
): Promise<void> {
  const versions = [...[...current, ...older].map(({ version }) => version), ...unfinished];
  for (const version of versions) await releases.remove(extension, version, { signal });
}

/**
 * Deletes the recorded objects of an extension until it has to wait, and records Events. @param client uses the extension's identity
 * @param policy decides about the CRDs; the policy of the extension by default
 * @returns the objects to wait for; empty when all objects that are not kept are deleted
 */
export async function removeExtensionObjects(
  { events, memory }: Pick<Services, "events" | "memory">,
  extension: Readonly<ClusterExtension>,
  client: Client,
  { log, signal }: StepContext,
  policy?: CrdPolicy,
): Promise<readonly string[]> {
  const applier = new Applier(client, log, signal);
  let progress: UninstallProgress;
  try {
    progress = await new Uninstaller(client, applier, extension, signal, policy).run(memory.of(extension).recorded, (text) => {
      log.info({ dropped: text }, "conversion webhook removed");
      events.record(extension, "Normal", "ConversionDropped", text);
    });
  } finally {
    const done = selectChanges(applier.actions);
    if (done.length > 0) events.record(extension, "Normal", "Uninstalled", `objects of the extension: ${summarizeActions(done)}`);
  }
  for (const { text } of progress.kept) {
    log.info({ kept: text }, "custom resource definition kept");
    events.record(extension, "Normal", "Kept", text);
  }
  if (progress.waitingFor.length === 0) delete memory.of(extension).awaited;
  return progress.waitingFor;
}

/**
 * Returns a client to delete the extension's objects, or the reason for leaving the objects to the garbage collector.
 * @throws RetryableError Retrying with the next step if the ServiceAccount does not exist.
 */
async function clientOrReason(deps: DeletionServices, { extension }: Deleting, { signal }: StepContext): Promise<Client | string> {
  if (!hasSpec(extension)) return "spec is missing, so no ServiceAccount is set";
  const { name, annotations } = extension.metadata;
  if (deps.managed.covers(extension) && !(await deps.managed.hasAccount(extension, signal)))
    return "permission-manager has not granted any permissions";
  try {
    return await deps.identities.clientFor(extension, signal);
  } catch (err) {
    const why = getErrorMessage(err);
    if (err instanceof TerminalError) return why;
    if (!(err instanceof ServiceAccountMissing)) throw err;
    if (annotations?.[ANNOTATION_FORCE_DELETE] === "true") return why;
    const next =
      "recreate the ServiceAccount and its roles (olmv1 rbac prints them), or leave the objects to the garbage collector, which keeps " +
      `CustomResourceDefinitions: kubectl annotate clusterextension ${name} ${ANNOTATION_FORCE_DELETE}=true`;
    throw new RetryableError(err.reason, why, { cause: err, problems: err.problems.map((problem) => ({ ...problem, next })) });
  }
}
