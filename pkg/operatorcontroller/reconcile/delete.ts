import type { ClusterExtension } from "../../api/clusterExtension.ts";
import {
  ANNOTATION_DROP_CONVERSION,
  ANNOTATION_FORCE_DELETE,
  ANNOTATION_FORCE_UNINSTALL,
  FINALIZER_ORPHAN,
  FINALIZER_UNINSTALL,
  GO_FINALIZERS,
  Reason,
} from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { isApiService } from "../../bundle/apiServices.ts";
import type { Step, StepContext } from "../../controller/reconcile.ts";
import { messageOf, RetryableError, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { describeObject, isCrd, objectKey } from "../../release/identity.ts";
import { installedOf } from "../../release/installedBundle.ts";
import { ownershipOf } from "../../release/ownership.ts";
import { crdPolicyOf, uninstallOrder } from "../../release/plan.ts";
import type { LeftObject } from "../../release/record.ts";
import { unreadableText } from "../../release/storage/decode.ts";
import type { Dependent } from "../../resolve/dependencies/dependents.ts";
import { Applier } from "../apply/applier.ts";
import { takeOver } from "../apply/handovers.ts";
import { isKept, keptText, recheckKept, removeCrds } from "../apply/keptCrds.ts";
import { type CustomResourceKind, otherServer, servedKindsOf } from "../crds/crdUse.ts";
import { dropConversions } from "../crds/lostConversions.ts";
import type { DependencyExtensions } from "../dependencies/dependencyExtensions.ts";
import type { Dependents } from "../dependencies/installContext.ts";
import { type Identities, ServiceAccountMissing } from "../permissions/identity.ts";
import { type ReleaseStore, requireReadable } from "../releases/releaseStore.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { hideSourced } from "../state/hiddenValues.ts";
import { changes, listed, summary } from "../state/objectActions.ts";
import { hasSpec, type ReconcileState } from "../state/reconcileState.ts";
import { WaitingError } from "../state/waiting.ts";
import { CHANGED_MS, writeFinalizers } from "./finalizers.ts";

/** What one pass of an uninstall came to; what was deleted is in the applier's actions. */
export interface UninstallProgress {
  /** Such as "Deployment ns/x"; empty once nothing is left to wait for. */
  waitingFor: string[];
  /** The definitions that stay, each with the reason, for Events. */
  kept: { readonly text: string }[];
}

type Stage = () => Promise<string[]>;

/** Deleted first and waited for, so that no webhook of a stopped operator blocks the rest. */
const WEBHOOKS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
/** Waited for together with their Pods, so that no operator works on without its rights. */
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
 * Takes an extension's objects off the cluster as its ServiceAccount, in stages; each pass goes as far as it can without waiting:
 * conversion webhooks of the CRDs; webhook configurations; with policy Delete the custom resources, while the operator still runs; APIServices; workloads; everything else;
 * the CRDs.
 * An object that is no longer the extension's is left alone.
 */
export class Uninstaller {
  readonly #client: Client;
  readonly #applier: Applier;
  readonly #extension: Readonly<ClusterExtension>;
  readonly #signal: AbortSignal;

  constructor(client: Client, applier: Applier, extension: Readonly<ClusterExtension>, signal: AbortSignal) {
    this.#client = client;
    this.#applier = applier;
    this.#extension = extension;
    this.#signal = signal;
  }

  /**
   * @param recorded every object that a release may have left behind.
   * @param tell is called with each conversion webhook that is taken from a definition.
   * @throws WaitingError ConversionNeeded before anything is removed, see `requireConversions`.
   * @throws RetryableError Retrying with every refusal of the step at which it stopped; nothing that comes after it was touched.
   */
  async run(recorded: readonly LeftObject[], tell: (text: string) => void = () => undefined): Promise<UninstallProgress> {
    const policy = crdPolicyOf(this.#extension.spec);
    const before = recorded.filter((one) => policy !== "Delete" && isKept(one));
    const isBefore = (object: KubeObject): boolean => before.some((one) => objectKey(one) === objectKey(object));
    const { objects: keptBefore } = await this.#applier.readEach(before);
    const live = new Map([...(await this.#applier.read(recorded.filter((one) => !before.includes(one)))), ...keptBefore]);
    const { name, uid = "" } = this.#extension.metadata;
    const owner = { name, uid, installNamespace: this.#extension.spec.namespace };
    const ours = uninstallOrder([...live.values()].filter((object) => ownershipOf(object, owner).kind === "ours"));
    const crds = ours.filter(isCrd);
    const others = ours.filter((object) => !isCrd(object));
    const kept: { text: string }[] = [];
    const { annotations } = this.#extension.metadata;
    const isForced = annotations?.[ANNOTATION_DROP_CONVERSION] === "true";
    const conversions = { extension: name, crds, policy, recorded, isForced, refusal: "not uninstalled" };
    const stages: Stage[] = [
      async () => {
        for (const text of await dropConversions(this.#client, conversions, this.#signal)) tell(text);
        return [];
      },
      () => this.#delete(others.filter(({ kind }) => WEBHOOKS.has(kind))),
      () => (policy === "Delete" ? this.#deleteCustomResources(crds) : Promise.resolve([])),
      // Never without what serves them: the whole cluster's discovery, garbage collection and namespaces that end would wait for it.
      () => this.#delete(others.filter(isApiService)),
      () =>
        this.#delete(
          others.filter(({ kind }) => WORKLOADS.has(kind)),
          "Foreground",
        ),
      () => this.#delete(others.filter((object) => !WEBHOOKS.has(object.kind) && !WORKLOADS.has(object.kind) && !isApiService(object))),
      async () => {
        const leaving = crds.filter((crd) => !isBefore(crd));
        const removal = await removeCrds(this.#applier, this.#client, leaving, policy, this.#signal);
        const request = { policy, owner, isWanted: () => false };
        const still = await recheckKept(this.#applier, this.#client, before, request, this.#signal);
        const staying = [...removal.kept, ...still.map(({ left, ...rest }) => ({ text: keptText(left), ...rest }))];
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

  /** Deletes what is not being deleted yet. @returns what is still there. */
  async #delete(objects: readonly KubeObject[], propagation?: "Foreground"): Promise<string[]> {
    await this.#applier.remove(
      objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
      propagation,
    );
    return this.#left(objects);
  }

  /** @returns those of the objects that are still there. */
  async #left(objects: readonly KubeObject[]): Promise<string[]> {
    const left = await this.#applier.read(objects.map(refOf));
    return objects.filter((object) => left.get(objectKey(object))?.metadata.uid === object.metadata.uid).map(describeObject);
  }

  async #deleteCustomResources(crds: readonly KubeObject[]): Promise<string[]> {
    const waitingFor: string[] = [];
    for (const crd of crds) {
      const kind = await this.#ownKindOf(crd);
      if (kind) waitingFor.push(...(await this.#delete(await this.#customResources(kind))));
    }
    return waitingFor;
  }

  /**
   * A version through which the definition itself serves. Through one that another API server answers for, the objects of that server would be
   * deleted; without any, the custom resources go with the definition.
   */
  async #ownKindOf(crd: KubeObject): Promise<CustomResourceKind | undefined> {
    for (const kind of servedKindsOf(crd)) if (!(await otherServer(this.#client, crd, kind, this.#signal))) return kind;
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

/** What holding up an uninstall needs from the outside. */
export interface HoldDependencies {
  dependents: Pick<Dependents, "of">;
  memory: ExtensionCache;
}

/** Dependents that are named, and constraints of one. */
const MAX_DEPENDENTS = 5;
const MAX_NEEDS = 3;
/** Longest time between two looks; they cost no request, or one that many share. */
const DEPENDENTS_LOOK_MS = 1_000;

/**
 * Lets an uninstall begin: not while installed bundles of other extensions depend on what would go, unless it is annotated with
 * force-uninstall "true". One that has begun is not held up any more.
 * @throws WaitingError RequiredByOthers that names them and says what to do.
 */
async function holdUninstall({ dependents, memory }: HoldDependencies, { extension, installed }: ReconcileState): Promise<void> {
  const { name, annotations } = extension.metadata;
  const remembered = memory.of(extension);
  if (installed && !remembered.uninstalling && annotations?.[ANNOTATION_FORCE_UNINSTALL] !== "true") {
    const found = await dependents.of(name);
    if (!found)
      throw new RetryableError(Reason.Retrying, "what other extensions have installed, and may need of this one, is still being read");
    if (found.length > 0) {
      const listed = listOf(found);
      const text =
        `not uninstalled, since other extensions depend on bundle "${installed.name}": ${listed}; nothing was removed, and it goes on by itself once they are ` +
        `deleted, need it no longer or have spec.dependencies.policy Ignore; to remove it nevertheless: kubectl annotate clusterextension ${name} ${ANNOTATION_FORCE_UNINSTALL}=true`;
      const isOver = async (): Promise<boolean> => listOf((await dependents.of(name)) ?? []) !== listed;
      throw new WaitingError(Reason.RequiredByOthers, text, { isOver, everyMs: DEPENDENTS_LOOK_MS });
    }
  }
  remembered.uninstalling = true;
}

/** Such as `ClusterExtension "b" (bundle "b.v1.0.0") needs package "a" >=1.0.0`; several with semicolons between them. */
function listOf(found: readonly Dependent[]): string {
  const named = found
    .slice(0, MAX_DEPENDENTS)
    .map(({ extension, bundle, needs }) => `ClusterExtension "${extension}" (bundle "${bundle}") needs ${needsOf(needs)}`);
  const more = found.length - MAX_DEPENDENTS;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function needsOf(needs: readonly string[]): string {
  const more = needs.length - MAX_NEEDS;
  return `${needs.slice(0, MAX_NEEDS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** What removal needs from the outside. */
export interface DeletionDependencies {
  client: Pick<Client, "patch">;
  identities: Pick<Identities, "clientFor">;
  releases: Pick<ReleaseStore, "history" | "remove">;
  events: EventSink;
  memory: ExtensionCache;
  dependents: Pick<Dependents, "of">;
  /** Lets go what policy Install made for the extension. */
  dependencies: Pick<DependencyExtensions, "release">;
  /** Drops what is kept for an extension of that name, such as unpacked images. */
  forget: (extension: string) => Promise<void>;
}

type Context = StepContext<ReconcileState["extension"]>;

/** How soon an uninstall that waits for objects to go looks again. */
const UNINSTALL_POLL_MS = 250;

/**
 * Takes a deleted extension's objects off the cluster, removes its releases and then lets it go:
 *
 * | deleted                                  | objects                                                       | releases |
 * | while others depend on it                | stay until they do not, or it is annotated, see holdUninstall | stay     |
 * | with --cascade=orphan                    | stay                                                          | stay     |
 * | naming a ServiceAccount that is gone     | are waited for: the condition says what to do                 | stay     |
 * | the same, with annotation force-delete   | go by their ownerReferences; CRDs, which carry none, stay     | go       |
 * | naming no ServiceAccount                 | the same                                                      | go       |
 * | while a release cannot be read           | stay until its Secret is repaired or deleted                  | stay     |
 * | in any other way                         | are deleted as the ServiceAccount, in stages, and waited for  | go       |
 */
export function handleDeletion(deps: DeletionDependencies): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "HandleDeletion",
    async run(facts, context) {
      const { extension } = facts;
      const { name, uid = "", deletionTimestamp, finalizers = [] } = extension.metadata;
      if (deletionTimestamp === undefined) return undefined;
      facts.deleting = "uninstalling";
      const others = finalizers.filter((finalizer) => finalizer !== FINALIZER_UNINSTALL && !GO_FINALIZERS.includes(finalizer));
      if (others.length === finalizers.length) {
        facts.deleting = `uninstalled; it goes when these finalizers of others are removed: ${listed(others)}`;
        return {};
      }
      const { signal } = context;
      try {
        facts.history = await deps.releases.history({ name, uid }, { signal });
      } catch (err) {
        facts.unknownBecause = messageOf(err);
        throw err;
      }
      hideSourced(facts);
      deps.memory.of(extension).hidden = facts.hidden;
      facts.installed = installedOf(facts.history.current);
      facts.unreadable = facts.history.unreadable.map(unreadableText);
      deps.memory.of(extension).awaitsReleases = facts.unreadable.length > 0;
      const { current, older, unfinished, orphaned } = facts.history;
      if (orphaned || finalizers.includes(FINALIZER_ORPHAN)) {
        deps.events.record(extension, "Normal", "Orphaned", "deleted with --cascade=orphan: objects and releases are left as they are");
      } else {
        stopAtUnreadable(facts);
        await holdUninstall(deps, facts);
        if (!(await uninstall(deps, facts, context))) return { requeueAfterMs: UNINSTALL_POLL_MS };
        const versions = [...[...current, ...older].map(({ version }) => version), ...unfinished];
        for (const version of versions) await deps.releases.remove(name, version, { signal });
        facts.installed = undefined;
        await deps.dependencies.release(extension, signal);
      }
      await deps.forget(name);
      const outcome = await writeFinalizers(deps.client, extension, others, signal);
      if (outcome === "changed") return { requeueAfterMs: CHANGED_MS };
      facts.leave = true;
      context.log.info("extension removed");
      return {};
    },
  };
}

/**
 * Stops an uninstallation that would leave objects behind.
 * @throws ReleaseUnreadable when some release cannot be read: the objects that it may own are not known.
 */
function stopAtUnreadable(facts: ReconcileState): void {
  try {
    requireReadable(facts.history);
  } catch (err) {
    facts.unknownBecause = facts.unreadable?.join("; ") ?? messageOf(err);
    throw err;
  }
}

/** @returns whether everything that is to go is gone. */
async function uninstall(deps: DeletionDependencies, facts: ReconcileState, context: Context): Promise<boolean> {
  const { extension, history } = facts;
  deps.memory.record(extension, history.current, { keep: true });
  const { recorded } = deps.memory.of(extension);
  if (recorded.length === 0) return true;
  const client = await clientOrReason(deps, facts, context);
  if (typeof client === "string") {
    const text = `objects are left to the garbage collector and CustomResourceDefinitions stay: ${client}`;
    context.log.warn({ reason: client }, "objects are left to the garbage collector");
    deps.events.record(extension, "Warning", "UninstalledByGarbageCollector", text);
    return true;
  }
  const applier = new Applier(client, context.log, context.signal);
  let progress: UninstallProgress;
  try {
    progress = await new Uninstaller(client, applier, extension, context.signal).run(recorded, (text) => {
      context.log.info({ dropped: text }, "conversion webhook dropped");
      deps.events.record(extension, "Normal", "ConversionDropped", text);
    });
  } finally {
    const done = changes(applier.actions);
    if (done.length > 0) deps.events.record(extension, "Normal", "Uninstalled", summary(done));
  }
  if (progress.waitingFor.length > 0) {
    facts.deleting = `uninstalling: waiting for ${listed(progress.waitingFor)} to be gone`;
    return false;
  }
  for (const { text } of progress.kept) {
    context.log.info({ kept: text }, "custom resource definition kept");
    deps.events.record(extension, "Normal", "Kept", text);
  }
  return true;
}

/**
 * The client that may delete the extension's objects, or why it is to go without one.
 * @throws RetryableError Retrying when the one it names does not exist, with what to do about it.
 */
async function clientOrReason(deps: DeletionDependencies, { extension }: ReconcileState, { signal }: Context): Promise<Client | string> {
  if (!hasSpec(extension)) return "spec is missing, so that no ServiceAccount is named";
  const { name, annotations } = extension.metadata;
  try {
    return await deps.identities.clientFor(extension, signal);
  } catch (err) {
    const why = messageOf(err);
    if (err instanceof TerminalError) return why;
    if (!(err instanceof ServiceAccountMissing)) throw err;
    if (annotations?.[ANNOTATION_FORCE_DELETE] === "true") return why;
    const text =
      `${why}; nobody may delete the objects of the bundle: create the ServiceAccount and its rules again (olmv1 rbac prints them), or leave ` +
      `the objects to the garbage collector, CustomResourceDefinitions staying: kubectl annotate clusterextension ${name} ${ANNOTATION_FORCE_DELETE}=true`;
    throw new RetryableError(err.reason, text, { cause: err });
  }
}
