import { LABEL_BUNDLE_NAME, Reason } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { CLASSIC_FIELD_MANAGERS, isMigrated } from "../../classic/names.ts";
import type { StepContext } from "../../controller/steps.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { widensRights } from "../../rbac/widening.ts";
import { changePlan, planDigest } from "../../release/changePlan.ts";
import { objectKey } from "../../release/identity.ts";
import { withIgnored } from "../../release/ignoreRules.ts";
import { withoutDrifted } from "../../release/leftAsIs.ts";
import { inLiveOrder } from "../../release/liveOrder.ts";
import { GO_FIELD_MANAGER } from "../../release/managedFields.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import { lastDeployed, type ReleaseRecord } from "../../release/record.ts";
import { providerOf } from "../../render/providers.ts";
import { type CertificateDependencies, ExtensionCertificates } from "../certificates/extensionCertificates.ts";
import { configOf, type PassFacts, type ResolvedBundle } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";
import { type JournalOptions, ReleaseJournal } from "../releases/releaseJournal.ts";
import type { LackingPermissions } from "../rights/permissions.ts";
import { rbacCommand } from "../rights/rbacCommand.ts";
import { NOTHING_CHANGED, RightsCheck, type RightsSubject } from "../rights/rightsCheck.ts";
import { watchRights } from "../rights/watchRights.ts";
import type { ExtensionMetrics } from "../status/extensionMetrics.ts";
import { DeniedError, WaitingError, waitingIn } from "../waiting.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";
import { Applier, type LiveObjects } from "./applier.ts";
import { awaitingApproval, isApproved, planStatus } from "./approval.ts";
import { requireServed } from "./kinds.ts";
import { followRelease, maintain } from "./maintain.ts";
import { completed, type NextRelease, nextRelease, type RenderedBundle, underWay } from "./nextRelease.ts";
import { changes, summary } from "./objectAction.ts";
import type { ObjectClaims } from "./objectClaims.ts";
import { preflight } from "./preflight.ts";
import { type PreparedObjects, prepareFor } from "./preparedObjects.ts";
import { leavingObjects, type PruneRequest, prune } from "./prune.ts";
import { ReleaseEvents } from "./releaseEvents.ts";
import { takeOver } from "./takeOver.ts";

/** What applying needs from the outside. */
export interface ApplyDependencies {
  /** For discovery only; content goes through the extension's own client. */
  client: Pick<Client, "resourceFor">;
  releases: JournalOptions["store"];
  events: EventSink;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** How long an object of an unchanged release that is not watched is trusted before it is compared with the cluster again. */
  driftIntervalMs: number;
  /** Whether an extension of that name, and of that uid where one is given, exists. */
  extensionExists: ExtensionExists;
  memory: ExtensionMemory;
  claims: ObjectClaims;
  /** Without it no certificates are provided. */
  certificates?: CertificateDependencies;
  metrics?: Pick<ExtensionMetrics, "corrected">;
  /** Tells between comparisons what may have drifted; without it everything is compared at each interval. */
  watches?: ObjectWatches;
}

/** Objects as they are on the cluster and as they would be. */
interface Seen {
  live: LiveObjects;
  after: LiveObjects;
}

/** One pass over the objects of one extension, with the extension's identity. */
export class ApplyPass {
  readonly #deps: ApplyDependencies;
  readonly #facts: PassFacts;
  readonly #scoped: Client;
  readonly #context: StepContext<PassFacts["extension"]>;
  readonly #applier: Applier;
  readonly #journal: ReleaseJournal;
  readonly #certificates: ExtensionCertificates;
  readonly #events: ReleaseEvents;
  readonly #rights: RightsCheck;

  constructor(deps: ApplyDependencies, facts: PassFacts, scoped: Client, context: StepContext<PassFacts["extension"]>) {
    const { log, signal } = context;
    this.#deps = deps;
    this.#facts = facts;
    this.#scoped = scoped;
    this.#context = context;
    this.#applier = new Applier(scoped, log, signal);
    this.#certificates = new ExtensionCertificates(deps, facts, scoped, context);
    this.#events = new ReleaseEvents(facts.extension, deps.events, deps.memory);
    this.#journal = new ReleaseJournal({ store: deps.releases, owner: this.#owner, history: facts.history, now: deps.now, signal, log });
    const { memory, now, driftIntervalMs: intervalMs } = deps;
    this.#rights = new RightsCheck({ facts, scoped, events: this.#events, memory, intervalMs, now, signal });
  }

  /**
   * Puts back what was deleted or changed since the last deployed release was applied, as far as a comparison is due, and looks after its
   * certificates whatever comes of that.
   * @throws RetryableError with everything that could not be put back, or provided.
   */
  async maintain(): Promise<void> {
    const { history } = this.#facts;
    const deployed = lastDeployed(history.current);
    if (!deployed) throw new RetryableError(Reason.Retrying, "catalog content unavailable and no release installed");
    if (this.#journal.isUnsettled) await this.#journal.settle(deployed);
    await this.#rights.warn(() => this.#rightsSubject(deployed));
    const objects = this.#maintainObjects(deployed);
    await objects.catch(() => undefined);
    this.#context.signal.throwIfAborted();
    const outcomes = await Promise.allSettled([objects, this.#certificates.maintain(deployed)]);
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === "rejected" ? [outcome.reason] : []));
    if (failures.some((err) => err instanceof Error && isForbidden(err.cause))) {
      await this.#rights.warnOfRefusal(() => this.#rightsSubject(deployed)).catch(() => undefined); // what was refused is told in any case
    }
    if (failures.length > 1) throw new RetryableError(Reason.Retrying, failures.map(messageOf).join("\n"), { cause: failures[0] });
    if (failures.length === 1) throw failures[0];
  }

  /**
   * Applies a bundle as a new release, unless the newest deployed one holds exactly its objects; then as `maintain`.
   * An aborted pass leaves the release pending, and the next one goes on with it.
   */
  async release(rendered: RenderedBundle): Promise<void> {
    const prepared = await this.#prepare(rendered.objects, rendered.bundle);
    requireServed(prepared.kinds, this.#deps.client);
    const next = nextRelease(this.#facts, rendered, prepared);
    const { state, bundle, objects } = next;
    if (state.kind === "Unchanged") {
      await this.#journal.renew(state.release, next.content);
      return this.maintain();
    }
    this.#context.log.info({ state: state.kind, reason: state.reason }, "release needed");
    const lacking = await this.#rights.require({ desired: objects, images: this.#images(bundle.image), kinds: next.kinds });
    let isDriftLeft = false;
    await this.#claiming(objects, async () => {
      const seen = await this.#preflight(next, lacking);
      if (next.kind !== "RolledBack") await this.#requireApproval(rendered, next, seen);
      await this.#certificates.keep(objects);
      const record = await this.#begin(next);
      try {
        isDriftLeft = await this.#write(next, seen);
      } catch (err) {
        if (!this.#context.signal.aborted) await this.#failed(next, record, err);
        throw err;
      }
      await this.#deployed(record);
    });
    await this.#follow(next);
    this.#events.record("Normal", next.kind, `${completed(next, this.#facts.installed?.name)}: ${summary(this.#applier.actions)}`);
    this.#events.proxy(next, this.#facts);
    for (const note of next.notes) this.#events.record("Normal", "ManifestAdjusted", note);
    if (isDriftLeft) await this.#reportDrift();
  }

  async #preflight({ bundle, objects, base, kinds, content }: NextRelease, lacking: LackingPermissions | undefined): Promise<Seen> {
    const { extension } = this.#facts;
    const command = rbacCommand(extension, this.#images(bundle.image), providerOf(objects)?.name, configOf(this.#facts));
    const passed = await preflight(this.#applier, {
      desired: objects,
      base,
      owner: this.#ownerOfObjects,
      extensionExists: this.#deps.extensionExists,
      spec: extension.spec,
      client: this.#scoped,
      advice: `print the exact roles: ${command}; ${NOTHING_CHANGED}`,
      resourceOf: (gvk) => kinds.resourceOf(gvk),
      signal: this.#context.signal,
    }).catch((err: unknown) => {
      throw lacking && (err instanceof DeniedError || !waitingIn(err)) ? withLacking(err, lacking) : err;
    });
    this.#events.preflight(bundle.name, content.inputDigest, passed.notes, this.#applier.warnings);
    return passed;
  }

  /** Stores that the release begins: from here on the pass has to come to its end. */
  async #begin({ content, state }: NextRelease): Promise<ReleaseRecord> {
    const { extension, history } = this.#facts;
    const record = await this.#journal.begin(content, state);
    this.#facts.began = true;
    this.#facts.active = [record, ...history.current.filter(({ version }) => version !== record.version)];
    this.#deps.memory.record(extension, [record, ...history.current]);
    this.#deps.watches?.hold(extension.metadata.name);
    return record;
  }

  /** Writes the objects and removes what they replace. @returns whether something is left as somebody changed it. */
  async #write({ bundle, objects, base, content, leavesDrift }: NextRelease, { live, after }: Seen): Promise<boolean> {
    const { ignore = [] } = this.#facts.extension.spec.drift ?? {};
    await this.#certificates.withdraw(objects, live);
    const taken = await this.#taken(live, writersBefore(this.#facts.extension, base, content));
    const keepsOrder = base === undefined && isMigrated(this.#facts.extension); // or all Pods are made anew for the order of a list
    const applied = objects.map((object) => {
      const there = taken.get(objectKey(object));
      const wanted = withIgnored(object, there, ignore);
      return keepsOrder ? inLiveOrder(wanted, there) : wanted;
    });
    const undrifted = leavesDrift ? withoutDrifted(applied, { recorded: base?.objects ?? [], live: taken, after }) : applied;
    await this.#applier.apply(undrifted, taken);
    await this.#prune(objects);
    await this.#certificates.keep(objects);
    this.#events.applied(bundle.name, this.#applier.actions, live, this.#ownerOfObjects, this.#deps.extensionExists);
    return undrifted.length < applied.length || undrifted.some((object) => !applied.includes(object));
  }

  async #failed(next: NextRelease, record: ReleaseRecord, err: unknown): Promise<void> {
    const done = changes(this.#applier.actions).filter(({ labelsOnly }) => !labelsOnly);
    const text = `${underWay(next)} failed${done.length > 0 ? ` after ${summary(done)}` : ""}: ${messageOf(err)}`;
    const release = await this.#journal.failed(record, text);
    this.#facts.failed = { release, applied: this.#applier.applied, actions: this.#applier.actions };
    this.#events.record("Warning", "ApplyFailed", text);
  }

  async #deployed(record: ReleaseRecord): Promise<void> {
    const deployed = await this.#journal.deployed(record);
    this.#certificates.kept(record);
    this.#facts.deployed = deployed;
    this.#facts.live = this.#applier.applied;
    this.#facts.active = [deployed];
  }

  async #follow({ objects, kinds }: NextRelease): Promise<void> {
    const { signal } = this.#context;
    const mayWatchAll = this.#deps.watches && (await watchRights(this.#scoped, objects, (gvk) => kinds.resourceOf(gvk), signal));
    followRelease(this.#deps, this.#facts.extension, this.#scoped, this.#applier.outcomes, mayWatchAll);
  }

  /** Tells what was left as somebody changed it. */
  async #reportDrift(): Promise<void> {
    if (!this.#facts.deployed) return;
    delete this.#deps.memory.of(this.#facts.extension).checkedAt;
    await this.#maintainObjects(this.#facts.deployed);
  }

  #maintainObjects(deployed: ReleaseRecord): Promise<void> {
    return maintain(deployed, {
      deps: this.#deps,
      facts: this.#facts,
      scoped: this.#scoped,
      context: this.#context,
      applier: this.#applier,
      take: (live) => this.#taken(live),
      prepare: (objects) => this.#prepare(objects),
      claiming: (objects, work) => this.#claiming(objects, work),
    });
  }

  /** @throws TerminalError AwaitingApproval when somebody has to approve what would be done, which `facts.plan` tells. */
  async #requireApproval(rendered: RenderedBundle, { bundle, objects: desired, base }: NextRelease, { live, after }: Seen): Promise<void> {
    const { extension, inputDigest, hidden } = this.#facts;
    const digest = planDigest({ inputDigest, rendered: rendered.objects, base: base?.version ?? 0 });
    if (isApproved(extension, digest)) {
      if (extension.spec.approval === "Manual") this.#events.approved(bundle.name, digest);
      return;
    }
    const leaving = await leavingObjects(this.#applier, this.#pruneRequest(desired));
    this.#facts.plan = planStatus(changePlan({ digest, desired, live, after, leaving, widens: widensRights, hidden }), bundle);
    throw awaitingApproval(extension, this.#facts.plan);
  }

  async #taken(live: LiveObjects, writers?: readonly string[]): Promise<LiveObjects> {
    const objects = await takeOver(this.#scoped, [...live.values()], this.#owner.uid, this.#context.signal, writers);
    return new Map(objects.map((object) => [objectKey(object), object]));
  }

  /** What rights a deployed release takes, as far as its kinds are served. */
  async #rightsSubject({ objects }: ReleaseRecord): Promise<RightsSubject> {
    const { objects: prepared, kinds } = await this.#prepare(objects);
    return { desired: prepared.filter((object) => kinds.resourceOf(object) !== undefined), images: this.#images(), kinds };
  }

  /** The installed bundle's, if there is one, and a new one's: the roles printed for them do for both. */
  #images(image?: string): string[] {
    return [this.#facts.installed?.image, image].filter((found) => found !== undefined);
  }

  async #prune(desired: readonly KubeObject[]): Promise<void> {
    const kept = await prune(this.#applier, this.#scoped, this.#pruneRequest(desired), this.#context.signal);
    for (const { text } of kept) this.#events.record("Normal", "Kept", text);
  }

  #pruneRequest(desired: readonly KubeObject[]): PruneRequest {
    return {
      history: this.#facts.history.current,
      desired,
      crdPolicy: crdPolicyOf(this.#facts.extension.spec),
      owner: this.#ownerOfObjects,
    };
  }

  #prepare(objects: readonly KubeObject[], bundle?: ResolvedBundle): Promise<PreparedObjects> {
    return prepareFor(this.#deps.client, this.#facts.extension, objects, bundle);
  }

  /** No other extension writes these objects while `work` goes on. */
  async #claiming(objects: readonly KubeObject[], work: () => Promise<void>): Promise<void> {
    const release = this.#deps.claims.claim(this.#owner.name, objects.map(objectKey));
    try {
      await work();
    } finally {
      release();
    }
  }

  get #owner(): { name: string; uid: string } {
    const { name, uid = "" } = this.#facts.extension.metadata;
    return { name, uid };
  }

  get #ownerOfObjects(): Owner {
    return { ...this.#owner, installNamespace: this.#facts.extension.spec.namespace };
  }
}

/**
 * Whose fields become ours with a release: those of the Go operator-controller always. What OLM classic added to a Pod stays until the first other
 * bundle of an extension that a Subscription was converted to, whose Pods are made anew anyhow.
 */
function writersBefore(
  extension: PassFacts["extension"],
  base: ReleaseRecord | undefined,
  { labels }: NextRelease["content"],
): readonly string[] {
  const isOtherBundle = base !== undefined && base.labels[LABEL_BUNDLE_NAME] !== labels[LABEL_BUNDLE_NAME];
  return isMigrated(extension) && isOtherBundle ? [GO_FIELD_MANAGER, ...CLASSIC_FIELD_MANAGERS] : [GO_FIELD_MANAGER];
}

/** A refusal that may come from rights of which it was not certain whether they are needed. */
function withLacking(err: unknown, { text, isOver }: LackingPermissions): WaitingError {
  return new WaitingError(
    Reason.Retrying,
    `${text}; ${NOTHING_CHANGED}; the API server says: ${err instanceof DeniedError ? err.said : messageOf(err)}`,
    { cause: err, isOver },
  );
}
