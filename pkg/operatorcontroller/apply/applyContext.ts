import type { EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { CertificateTimes } from "../../certificates/rotation.ts";
import type { StepContext } from "../../controller/story.ts";
import type { Client } from "../../kube/client.ts";
import { withIgnored } from "../../release/drift.ts";
import { objectKey } from "../../release/identity.ts";
import { inLiveOrder } from "../../release/liveOrder.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import type { CertificateIssuer } from "../../serving/certificateIssuer.ts";
import type { ObjectChecker } from "../crds/existingObjects.ts";
import { type LostConversionRequest, upgradeConversions } from "../crds/lostConversions.ts";
import type { JournalOptions } from "../releases/releaseJournal.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import type { ExtensionMetrics } from "../state/extensionMetrics.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { ActingPhase, ResolvedBundle } from "../state/phases.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";
import { Applier } from "./applier.ts";
import { DryRun } from "./dryRun.ts";
import { type Handovers, type Need, type ObjectClaims, takeFrom, takeOver } from "./handovers.ts";
import { type PreparedObjects, prepareFor } from "./preparedObjects.ts";
import { leavingCrds, type PruneRequest } from "./prune.ts";

/** The objects of one extension in one pass: what the parts of the pass do with them, and with whose identity. */
export class ApplyContext {
  readonly deps: ApplyServices;
  readonly phase: ActingPhase;
  /** With the extension's identity. */
  readonly scoped: Client;
  readonly context: StepContext;
  readonly applier: Applier;
  readonly dryRun: DryRun;

  constructor(deps: ApplyServices, phase: ActingPhase, context: StepContext) {
    this.deps = deps;
    this.phase = phase;
    this.scoped = phase.client;
    this.context = context;
    this.applier = new Applier(this.scoped, context.log, context.signal);
    this.dryRun = new DryRun(this.scoped, context.signal);
  }

  /** Whose the objects are. */
  get owner(): Owner {
    const { metadata, spec } = this.phase.extension;
    const { name, uid = "" } = metadata;
    return { name, uid, installNamespace: spec.namespace };
  }

  /**
   * Objects as they are applied, in that order.
   * @param bundle as of `prepareFor`.
   * @throws TerminalError Blocked for objects that cannot be applied.
   */
  prepare(objects: readonly KubeObject[], bundle?: ResolvedBundle): Promise<PreparedObjects> {
    return prepareFor(this.deps.discovery, this.phase.extension, objects, bundle);
  }

  /**
   * Makes live objects ours that another operator-controller wrote.
   * @param writers field managers whose fields become ours, as of `takeOver`.
   * @returns the objects as they are now, by `objectKey`.
   */
  async take(live: LiveObjects, writers?: readonly string[]): Promise<LiveObjects> {
    const taken = await takeOver(this.scoped, [...live.values()], this.owner.uid, this.context.signal, writers);
    return new Map(taken.map((object) => [objectKey(object), object]));
  }

  /**
   * Makes objects ours that other extensions give up.
   * @returns `live` with these as they are now.
   * @throws RetryableError Retrying if one has become someone else's.
   */
  async takeFromOthers(needs: readonly Need[], live: LiveObjects): Promise<LiveObjects> {
    const after = new Map(live);
    for (const need of needs) {
      const taken = await takeFrom(this.scoped, need, this.owner, this.context.signal);
      if (taken) after.set(objectKey(need.object), taken);
      else after.delete(objectKey(need.object));
    }
    return after;
  }

  /**
   * What is applied for prepared objects, in their order: without the fields that `spec.drift.ignore` leaves to others.
   * @param keepsOrder lists that are only sorted otherwise stay as they are live, or all Pods are made anew for the order of a list.
   */
  applied(objects: readonly KubeObject[], live: LiveObjects, keepsOrder: boolean): KubeObject[] {
    const { ignore = [] } = this.phase.extension.spec.drift ?? {};
    return objects.map((object) => {
      const there = live.get(objectKey(object));
      const wanted = withIgnored(object, there, ignore);
      return keepsOrder ? inLiveOrder(wanted, there) : wanted;
    });
  }

  /** What would be pruned for `desired`, and for whom. */
  pruneRequest(desired: readonly KubeObject[]): PruneRequest {
    const { releases, extension } = this.phase;
    const isWanted = (object: KubeObject): boolean => this.deps.handovers.isWanted(this.owner.name, object);
    return { history: releases.history.current, desired, crdPolicy: crdPolicyOf(extension.spec), owner: this.owner, isWanted };
  }

  /** What becomes of the custom resources of definitions that `desired` leaves out. */
  async lostConversions(desired: readonly KubeObject[]): Promise<LostConversionRequest> {
    return upgradeConversions(this.phase.extension, await leavingCrds(this.applier, this.pruneRequest(desired)));
  }

  /**
   * Runs `work` while no other extension writes these objects.
   * @throws RetryableError Retrying when another one writes one of them just now.
   */
  async claiming(objects: readonly KubeObject[], work: () => Promise<void>): Promise<void> {
    const release = this.deps.claims.claim(this.owner.name, objects.map(objectKey));
    try {
      await work();
    } finally {
      release();
    }
  }
}

/** What applying works with, one for each controller. */
export interface ApplyServices {
  /** The controller's own identity, for discovery only: objects are read and written as the extension's ServiceAccount. */
  discovery: Pick<Client, "resourceFor">;
  releases: JournalOptions["store"];
  events: EventSink;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** How long an object of an unchanged release that is not watched is trusted before it is compared with the cluster again. */
  driftIntervalMs: number;
  /** Whether an extension of that name, and of that uid where one is given, exists. */
  extensionExists: ExtensionExists;
  memory: ExtensionCache;
  claims: ObjectClaims;
  /** Without it each check of custom resources starts a thread of its own. */
  objectChecker?: ObjectChecker;
  handovers: Handovers;
  /** Without it no certificates are provided. */
  certificates?: CertificateServices;
  metrics?: Pick<ExtensionMetrics, "corrected">;
  /** Tells between comparisons what may have drifted; without it everything is compared at each interval. */
  watches?: ObjectWatches;
}

/** What providing certificates works with. */
interface CertificateServices {
  issuer: CertificateIssuer;
  times: CertificateTimes;
  /** Asks for a pass over an extension, in so many milliseconds. */
  wake: (extension: string, inMs: number) => void;
}
