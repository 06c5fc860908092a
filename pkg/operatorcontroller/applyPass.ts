import { Reason } from "../api/constants.ts";
import type { EventSink } from "../api/events.ts";
import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import type { StepContext } from "../controller/steps.ts";
import { messageOf, RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { widensRights } from "../rbac/widening.ts";
import { changePlan, planDigest } from "../release/changePlan.ts";
import { driftPolicyOf } from "../release/driftPolicy.ts";
import { objectKey } from "../release/identity.ts";
import { withIgnored } from "../release/ignoreRules.ts";
import { withoutDrifted } from "../release/leftAsIs.ts";
import type { ExtensionExists, Owner } from "../release/ownership.ts";
import type { CrdPolicy } from "../release/plan.ts";
import { lastDeployed, type ReleaseRecord } from "../release/record.ts";
import { determineState } from "../release/state.ts";
import { isTakeOver } from "../release/takenOver.ts";
import { providerOf } from "../render/providers.ts";
import { Applier, type LiveObjects } from "./applier.ts";
import { awaitingApproval, isApproved, planStatus } from "./approval.ts";
import { type CertificateDependencies, ExtensionCertificates } from "./certificates/extensionCertificates.ts";
import type { ExtensionMetrics } from "./extensionMetrics.ts";
import type { PassFacts, ResolvedBundle } from "./facts.ts";
import { requireServed, type ServedKinds } from "./kinds.ts";
import { followRelease, maintain } from "./maintain.ts";
import type { ExtensionMemory } from "./memory.ts";
import { changes, summary } from "./objectAction.ts";
import type { ObjectClaims } from "./objectClaims.ts";
import { type LackingPermissions, lackingPermissions } from "./permissions.ts";
import { preflight } from "./preflight.ts";
import { type PreparedObjects, prepareFor } from "./preparedObjects.ts";
import { leavingObjects, type PruneRequest, prune, unwanted } from "./prune.ts";
import { rbacCommand } from "./rbacCommand.ts";
import { ReleaseEvents } from "./releaseEvents.ts";
import { type JournalOptions, ReleaseJournal } from "./releaseJournal.ts";
import { labelsFrom } from "./steps/retrieveReleases.ts";
import { takeOver } from "./takeOver.ts";
import { DeniedError, WaitingError, waitingIn } from "./waiting.ts";
import type { ObjectWatches } from "./watches/objectWatches.ts";
import { watchRights } from "./watchRights.ts";

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

/** A rendered bundle on its way to the cluster. */
export interface RenderedBundle {
  bundle: ResolvedBundle;
  objects: readonly KubeObject[];
  /** The CSV's. */
  annotations: Record<string, string>;
  /** Set when an earlier release is gone back to: why, and what its objects were rendered from. */
  rollback?: { why: Pick<ReleaseRecord, "rolledBack" | "pinnedTo">; inputDigest: string | undefined };
}

const NOTHING_CHANGED = "nothing was changed, and it goes on by itself within seconds once they are granted";

/** Prepared objects, as they are on the cluster and as they would be. */
interface Planned {
  desired: readonly KubeObject[];
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
    if (this.#warns) await this.#warn(deployed);
    const objects = this.#maintainObjects(deployed);
    await objects.catch(() => undefined);
    this.#context.signal.throwIfAborted();
    const outcomes = await Promise.allSettled([objects, this.#certificates.maintain(deployed)]);
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === "rejected" ? [outcome.reason] : []));
    if (this.#warns && failures.some((err) => err instanceof Error && isForbidden(err.cause))) {
      await this.#warnOfRefusal(deployed).catch(() => undefined); // what was refused is told in any case
    }
    if (failures.length > 1) throw new RetryableError(Reason.Retrying, failures.map(messageOf).join("\n"), { cause: failures[0] });
    if (failures.length === 1) throw failures[0];
  }

  /**
   * Applies a bundle as a new release, unless the newest deployed one holds exactly its objects; then as `maintain`.
   * An aborted pass leaves the release pending, and the next one goes on with it.
   */
  async release(rendered: RenderedBundle): Promise<void> {
    const { extension, history, installed } = this.#facts;
    const { bundle, annotations, rollback } = rendered;
    const inputDigest = rollback ? rollback.inputDigest : this.#facts.inputDigest;
    const { objects, notes, kinds } = await this.#prepare(rendered.objects, bundle);
    requireServed(kinds, this.#deps.client);
    const labels = labelsFrom(bundle);
    const state = determineState(history.current, { objects, labels });
    if (state.kind === "Unchanged") {
      await this.#journal.renew(state.release, inputDigest);
      return this.maintain();
    }
    this.#context.log.info({ state: state.kind, reason: state.reason }, "release needed");
    const base = lastDeployed(history.current);
    const takenOver = isTakeOver(base, { labels, ...rollback?.why }) ? { takenOver: true as const } : {};
    const leavesDrift = takenOver.takenOver && !rollback && driftPolicyOf(extension.spec, takenOver).policy !== "Correct";
    let isDriftLeft = false;
    const images = this.#images(bundle.image);
    const lacking = await this.#permissions(objects, images, kinds);
    await this.#claiming(objects, async () => {
      const { extensionExists } = this.#deps;
      const {
        live,
        after,
        notes: remarks,
      } = await preflight(this.#applier, {
        desired: objects,
        base,
        owner: this.#ownerOfObjects,
        extensionExists,
        spec: extension.spec,
        client: this.#scoped,
        advice: `print the exact roles: ${rbacCommand(extension, images, providerOf(objects)?.name)}; ${NOTHING_CHANGED}`,
        resourceOf: (gvk) => kinds.resourceOf(gvk),
        signal: this.#context.signal,
      }).catch((err: unknown) => {
        throw lacking && (err instanceof DeniedError || !waitingIn(err)) ? withLacking(err, lacking) : err;
      });
      this.#events.preflight(bundle.name, inputDigest, remarks, this.#applier.warnings);
      if (!rollback) await this.#requireApproval(rendered, { desired: objects, live, after });
      await this.#certificates.keep(objects);
      const content = { namespace: extension.spec.namespace, labels, annotations, objects, ...rollback?.why, ...takenOver };
      const record = await this.#journal.begin({ ...content, ...(inputDigest === undefined ? {} : { inputDigest }) }, state);
      this.#facts.began = true;
      this.#facts.active = [record, ...history.current.filter(({ version }) => version !== record.version)];
      this.#deps.memory.record(extension, [record, ...history.current]);
      this.#deps.watches?.hold(extension.metadata.name);
      const verb = rollback ? "rollback to" : base ? "upgrade to" : "install of";
      try {
        const { ignore = [] } = extension.spec.drift ?? {};
        await this.#certificates.withdraw(objects, live);
        const taken = await this.#taken(live);
        const applied = objects.map((object) => withIgnored(object, taken.get(objectKey(object)), ignore));
        const undrifted = leavesDrift ? withoutDrifted(applied, { recorded: base?.objects ?? [], live: taken, after }) : applied;
        isDriftLeft = undrifted.length < applied.length || undrifted.some((object) => !applied.includes(object));
        await this.#applier.apply(undrifted, taken);
        await this.#prune(objects);
        await this.#certificates.keep(objects);
        this.#events.applied(bundle.name, this.#applier.actions, live, this.#ownerOfObjects, extensionExists);
      } catch (err) {
        if (!this.#context.signal.aborted) {
          const done = changes(this.#applier.actions).filter(({ labelsOnly }) => !labelsOnly);
          const text = `${verb} bundle "${bundle.name}" failed${done.length > 0 ? ` after ${summary(done)}` : ""}: ${messageOf(err)}`;
          const release = await this.#journal.failed(record, text);
          this.#facts.failed = { release, applied: this.#applier.applied, actions: this.#applier.actions };
          this.#events.record("Warning", "ApplyFailed", text);
        }
        throw err;
      }
      this.#facts.deployed = await this.#journal.deployed(record);
      this.#certificates.kept(record);
      this.#facts.live = this.#applier.applied;
      this.#facts.active = [this.#facts.deployed];
    });
    const { signal } = this.#context;
    const mayWatchAll = this.#deps.watches && (await watchRights(this.#scoped, objects, (gvk) => kinds.resourceOf(gvk), signal));
    followRelease(this.#deps, extension, this.#scoped, this.#applier.outcomes, mayWatchAll);
    const from = installed === undefined || installed.name === bundle.name ? "" : ` from "${installed.name}"`;
    const reason = rollback ? "RolledBack" : takenOver.takenOver ? "TakenOver" : base ? "Upgraded" : "Installed";
    const what = { RolledBack: "rolled back to", TakenOver: "took over", Upgraded: "upgraded to", Installed: "installed" }[reason];
    const done = summary(this.#applier.actions);
    this.#events.record("Normal", reason, `${what} bundle "${bundle.name}"${reason === "TakenOver" ? "" : from}: ${done}`);
    for (const note of notes) this.#events.record("Normal", "ManifestAdjusted", note);
    if (!isDriftLeft || !this.#facts.deployed) return;
    delete this.#deps.memory.of(extension).checkedAt;
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
  async #requireApproval({ bundle, objects }: RenderedBundle, { desired, live, after }: Planned): Promise<void> {
    const { extension, inputDigest, history } = this.#facts;
    const digest = planDigest({ inputDigest, rendered: objects, base: lastDeployed(history.current)?.version ?? 0 });
    if (isApproved(extension, digest)) {
      if (extension.spec.approval === "Manual") this.#events.approved(bundle.name, digest);
      return;
    }
    const leaving = await leavingObjects(this.#applier, this.#pruneRequest(desired));
    this.#facts.plan = planStatus(changePlan({ digest, desired, live, after, leaving, widens: widensRights }), bundle);
    throw awaitingApproval(extension, this.#facts.plan);
  }

  async #taken(live: LiveObjects): Promise<LiveObjects> {
    const objects = await takeOver(this.#scoped, [...live.values()], this.#owner.uid, this.#context.signal);
    return new Map(objects.map((object) => [objectKey(object), object]));
  }

  /**
   * Looks for rights that are missing, where the pass goes on without being certain that they are; with Warn they become a fact instead.
   * @throws WaitingError Retrying with all of them, where it does not.
   */
  async #permissions(
    desired: readonly KubeObject[],
    images: readonly string[],
    kinds: ServedKinds,
  ): Promise<LackingPermissions | undefined> {
    const { extension, history } = this.#facts;
    const pruned = unwanted({ history: history.current, desired, crdPolicy: this.#crdPolicy });
    const request = { extension, desired, pruned, images, resourceOf: (gvk: GroupVersionKind) => kinds.resourceOf(gvk) };
    const lacking = await lackingPermissions(this.#scoped, request, this.#context.signal);
    if (!lacking?.doubtful) this.#events.permissions(lacking !== undefined);
    if (this.#warns) {
      const text = lacking && `spec.install.permissions is Warn: ${lacking.text}`;
      this.#deps.memory.of(extension).rights = { checkedAt: this.#deps.now(), lacking: text };
      if (text !== undefined) this.#facts.lacking = text;
      return undefined;
    }
    if (!lacking || lacking.doubtful) return lacking;
    throw new WaitingError(Reason.Retrying, `${lacking.text}; ${NOTHING_CHANGED}`, lacking);
  }

  /** With Warn, says what is missing for a deployed release, looked up once an interval. */
  async #warn(deployed: ReleaseRecord): Promise<void> {
    const facts = this.#facts;
    const deps = this.#deps;
    if (facts.lacking !== undefined) return;
    const { rights } = deps.memory.of(facts.extension);
    const sinceMs = rights ? deps.now() - rights.checkedAt : Number.POSITIVE_INFINITY;
    if (rights && sinceMs >= 0 && sinceMs < deps.driftIntervalMs) {
      if (rights.lacking !== undefined) facts.lacking = rights.lacking;
      return;
    }
    await this.#lookUpRights(deployed);
  }

  /** The same after a refusal, of which nothing that is remembered knows; the next pass looks again, as that may be over by then. */
  async #warnOfRefusal(deployed: ReleaseRecord): Promise<void> {
    delete this.#facts.lacking;
    await this.#lookUpRights(deployed);
    delete this.#deps.memory.of(this.#facts.extension).rights;
  }

  async #lookUpRights({ objects }: ReleaseRecord): Promise<void> {
    const { objects: prepared, kinds } = await this.#prepare(objects);
    const served = prepared.filter((object) => kinds.resourceOf(object) !== undefined);
    await this.#permissions(served, this.#images(), kinds);
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
    return { history: this.#facts.history.current, desired, crdPolicy: this.#crdPolicy, owner: this.#ownerOfObjects };
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

  get #warns(): boolean {
    return this.#facts.extension.spec.install?.permissions === "Warn";
  }

  get #crdPolicy(): CrdPolicy {
    return this.#facts.extension.spec.uninstall?.crdPolicy ?? "DeleteIfUnused";
  }

  get #owner(): { name: string; uid: string } {
    const { name, uid = "" } = this.#facts.extension.metadata;
    return { name, uid };
  }

  get #ownerOfObjects(): Owner {
    return { ...this.#owner, installNamespace: this.#facts.extension.spec.namespace };
  }
}

/** A refusal that may come from rights of which it was not certain whether they are needed. */
function withLacking(err: unknown, { text, isOver }: LackingPermissions): WaitingError {
  return new WaitingError(
    Reason.Retrying,
    `${text}; ${NOTHING_CHANGED}; the API server says: ${err instanceof DeniedError ? err.said : messageOf(err)}`,
    { cause: err, isOver },
  );
}
