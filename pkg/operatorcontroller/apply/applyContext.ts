import { getNamespace } from "../../api/clusterExtension.ts";
import type { EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { CertificateTimes } from "../../certificates/rotation.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import type { Client } from "../../kube/client.ts";
import type { ActiveRelease } from "../../openshift/upgradeable.ts";
import { preserveIgnored } from "../../release/drift.ts";
import { getObjectKey } from "../../release/identity.ts";
import { sortLikeLive } from "../../release/liveOrder.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import type { CertificateIssuer } from "../../serving/certificateIssuer.ts";
import type { ObjectChecker } from "../crds/existingObjects.ts";
import { type LostConversionRequest, newConversionRequest } from "../crds/lostConversions.ts";
import type { StorageMigrator } from "../crds/storageMigrator.ts";
import type { DependencyPlans } from "../dependencies/dependencyPlans.ts";
import type { ManagedPermissions } from "../permissions/managedPermissions.ts";
import type { JournalOptions } from "../releases/releaseJournal.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import type { ExtensionMetrics } from "../state/extensionMetrics.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { ActingPhase, ResolvedBundle } from "../state/phases.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";
import { Applier } from "./applier.ts";
import { DryRun } from "./dryRun.ts";
import { type Handovers, type Need, type ObjectLocks, takeOver, takeOverFrom } from "./handovers.ts";
import { getCrdRule } from "./keptCrds.ts";
import { type PreparedObjects, prepareExtension } from "./preparedObjects.ts";
import { listLeavingCrds, type PruneRequest } from "./prune.ts";

/** Applies the objects of one extension during one reconcile, with the extension's identity. */
export class ApplyContext {
  readonly deps: ApplyServices;
  readonly phase: ActingPhase;
  /** Uses the extension's identity. */
  readonly scoped: Client;
  readonly step: StepContext;
  readonly applier: Applier;
  readonly dryRun: DryRun;

  constructor(deps: ApplyServices, phase: ActingPhase, step: StepContext) {
    this.deps = deps;
    this.phase = phase;
    this.scoped = phase.client;
    this.step = step;
    this.applier = new Applier(this.scoped, step.log, step.signal);
    this.dryRun = new DryRun(this.scoped, step.signal);
  }

  /** The owner of the objects. */
  get owner(): Owner {
    const { extension } = this.phase;
    const { name, uid = "" } = extension.metadata;
    return { name, uid, installNamespace: getNamespace(extension) };
  }

  /**
   * Prepares objects for the apply, in apply order.
   * @param bundle see `prepareExtension`.
   * @throws TerminalError Blocked for objects that cannot be applied.
   */
  prepare(objects: readonly KubeObject[], bundle?: ResolvedBundle): Promise<PreparedObjects> {
    return prepareExtension(this.deps.discovery, this.phase.extension, objects, bundle);
  }

  /**
   * Takes over live objects that another operator-controller wrote.
   * @param writers field managers whose fields become ours, as for `takeOver`.
   * @returns the updated live objects, by `getObjectKey`.
   */
  async adoptFields(live: LiveObjects, writers?: readonly string[]): Promise<LiveObjects> {
    const taken = await takeOver(this.scoped, [...live.values()], this.owner.uid, this.step.signal, writers);
    return new Map(taken.map((object) => [getObjectKey(object), object]));
  }

  /**
   * Takes over objects that other extensions give up.
   * @returns `live`, updated with these objects.
   * @throws RetryableError Retrying if the owner of one of them has changed.
   */
  async takeFromOthers(needs: readonly Need[], live: LiveObjects): Promise<LiveObjects> {
    const after = new Map(live);
    for (const need of needs) {
      const taken = await takeOverFrom(this.scoped, need, this.owner, this.step.signal);
      if (taken) after.set(getObjectKey(need.object), taken);
      else after.delete(getObjectKey(need.object));
    }
    return after;
  }

  /**
   * Returns prepared objects in the form in which they are applied: in the same order, without the fields in `spec.drift.ignore`.
   * @param keepsOrder keeps the live order of lists that differ only in order, because a changed order would recreate all Pods.
   */
  toApply(objects: readonly KubeObject[], live: LiveObjects, keepsOrder: boolean): KubeObject[] {
    const { ignore = [] } = this.phase.extension.spec.drift ?? {};
    return objects.map((object) => {
      const current = live.get(getObjectKey(object));
      const target = preserveIgnored(object, current, ignore);
      return keepsOrder ? sortLikeLive(target, current) : target;
    });
  }

  /** Returns the request to prune objects that `desired` does not contain. */
  pruneRequest(desired: readonly KubeObject[]): PruneRequest {
    const { releases, extension } = this.phase;
    const { policy, findReasonToKeep } = getCrdRule(extension, this.scoped, this.step.signal);
    const isWanted = (object: KubeObject): boolean => this.deps.handovers.isWanted(this.owner.name, object);
    return { history: releases.history.current, desired, crdPolicy: policy, findReasonToKeep, owner: this.owner, isWanted };
  }

  /** Returns the request to check the conversion webhooks of CustomResourceDefinitions that `desired` does not contain. */
  async lostConversions(desired: readonly KubeObject[]): Promise<LostConversionRequest> {
    return newConversionRequest(this.phase.extension, await listLeavingCrds(this.applier, this.pruneRequest(desired)));
  }

  /**
   * Runs `work` while these objects are locked against writes by other extensions.
   * @throws RetryableError Retrying if another extension is writing one of them.
   */
  async withLocks(objects: readonly KubeObject[], work: () => Promise<void>): Promise<void> {
    const release = this.deps.locks.lock(this.owner.name, objects.map(getObjectKey));
    try {
      await work();
    } finally {
      release();
    }
  }
}

/** The services that apply releases, shared by all reconciles of the controller. */
export interface ApplyServices {
  /** The controller's own identity, for discovery only: objects are read and written as the extension's ServiceAccount. */
  discovery: Pick<Client, "resourceFor" | "list">;
  releases: JournalOptions["store"];
  events: EventSink;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Interval in milliseconds after which an unwatched object of an unchanged release is compared with the cluster again. */
  driftIntervalMs: number;
  /** Reports whether an extension with this name exists and, if a uid is given, has this uid. */
  extensionExists: ExtensionExists;
  memory: ExtensionCache;
  locks: ObjectLocks;
  /** Checks custom resources. Default: each check starts its own thread. */
  objectChecker?: ObjectChecker;
  /** Stores custom resources in another version before an upgrade. Default: upgrades that need this fail. */
  storageMigrator?: StorageMigrator;
  handovers: Handovers;
  /** The plans in progress. Default: none. */
  plans?: Pick<DependencyPlans, "fail" | "hasReached" | "isApproved" | "isProvidedByPartner" | "listPartners" | "reach">;
  /** Keeps the permissions for objects that are left of an earlier bundle. Default: they are not managed. */
  managed?: Pick<ManagedPermissions, "keepEarlierRules">;
  /** Provides serving certificates. Default: none are provided. */
  certificates?: CertificateServices;
  metrics?: Pick<ExtensionMetrics, "countCorrections">;
  /** Waits until a stored release that blocks cluster upgrades is reported. Default: does not wait. */
  awaitBlock?: (release: ActiveRelease, signal: AbortSignal) => Promise<void>;
  /** Reports objects that may have drifted. Default: no object is watched, and all objects are compared at each interval. */
  watches?: ObjectWatches;
}

/** The services that provide certificates. */
interface CertificateServices {
  issuer: CertificateIssuer;
  times: CertificateTimes;
  /** Enqueues an extension after `inMs` milliseconds. */
  enqueueAfter: (extension: string, inMs: number) => void;
}
