import { API_VERSION, CLUSTER_EXTENSION, Reason } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import type { Step } from "../../controller/steps.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { releasesToRemove } from "../../release/history.ts";
import { objectKey, requireIdentities } from "../../release/identity.ts";
import { installOrder } from "../../release/order.ts";
import { type ExtensionExists, type Owner, ownershipOf } from "../../release/ownership.ts";
import { planRelease } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import { isPending, lastDeployed, type ReleaseRecord } from "../../release/record.ts";
import { determineState } from "../../release/state.ts";
import { renderBundle } from "../../render/render.ts";
import type { Logger } from "../../telemetry/log.ts";
import { Applier, type LiveObjects, type ObjectAction } from "../applier.ts";
import { splitCrds } from "../crdUse.ts";
import type { PassFacts } from "../facts.ts";
import { servedKinds } from "../kinds.ts";
import type { ReleaseStore } from "../releaseStore.ts";
import { labelsFrom } from "./retrieveReleases.ts";

/** What applying needs from the outside. */
export interface ApplyDependencies {
  /** For discovery only; content goes through the extension's own client. */
  client: Client;
  releases: ReleaseStore;
  events: EventRecorder;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** How long an unchanged release is trusted before its objects are compared with the cluster again. */
  driftIntervalMs: number;
  /** Whether an extension of that name, and of that uid where one is given, exists. */
  extensionExists: ExtensionExists;
  /** When each extension's objects were last compared, by uid. */
  lastChecked: Map<string, number>;
}

/**
 * Brings the cluster to what the resolved bundle says, as a numbered release:
 *
 * | release on record           | bundle content | action                                              |
 * | deployed, same input        | not needed     | compare and correct objects when the interval is up |
 * | deployed                    | not available  | the same (maintain what is installed)               |
 * | none, failed or left behind | any            | preflight, then apply as a new release              |
 * | deployed, other objects     | available      | preflight, then apply as a new release and prune    |
 */
export function applyBundle(deps: ApplyDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "ApplyBundle",
    async run(facts, { log, signal }) {
      const { extension, resolved, scoped, content } = facts;
      if (!resolved || !scoped) return undefined;
      const pass = new ApplyPass(deps, facts, new Applier(scoped, log, signal), log);
      if (!content) {
        await pass.maintain();
        return undefined;
      }
      const rendered = renderBundle(content, { installNamespace: extension.spec.namespace, config: extension.spec.config?.inline });
      await pass.release(rendered, content.csv.metadata.annotations ?? {});
      facts.installed = resolved;
      return undefined;
    },
  };
}

class ApplyPass {
  readonly #deps: ApplyDependencies;
  readonly #facts: PassFacts;
  readonly #applier: Applier;
  readonly #log: Logger;

  constructor(deps: ApplyDependencies, facts: PassFacts, applier: Applier, log: Logger) {
    this.#log = log;
    this.#deps = deps;
    this.#facts = facts;
    this.#applier = applier;
  }

  /** Puts back what was deleted or changed since the release was applied. */
  async maintain(): Promise<void> {
    const deployed = lastDeployed(this.#facts.history.current);
    if (!deployed) throw new RetryableError(Reason.Retrying, "catalog content unavailable and no release installed");
    const { uid = "", name } = this.#facts.extension.metadata;
    const { lastChecked, now, driftIntervalMs } = this.#deps;
    if (now() - (lastChecked.get(uid) ?? 0) < driftIntervalMs) return;
    const { objects } = await this.#prepare(deployed.objects);
    const actions = await this.#applier.apply(objects, await this.#applier.read(objects.map(refOf)));
    lastChecked.set(uid, now());
    const corrected = actions.filter((action) => action.verb === "created" || action.verb === "updated");
    if (corrected.length > 0)
      this.#event("Normal", "DriftCorrected", `put back ${summary(corrected)} of bundle "${this.#facts.installed?.name ?? name}"`);
  }

  /** Applies rendered objects as a new release, unless the newest deployed one holds exactly these. */
  async release(rendered: readonly KubeObject[], annotations: Record<string, string>): Promise<void> {
    const { history, installed, resolved } = this.#facts;
    if (!resolved) return;
    const { objects: desired, notes } = await this.#prepare(rendered);
    const state = determineState(history.current, { objects: desired, labels: labelsFrom(resolved) });
    if (state.kind === "Unchanged") return this.maintain();
    this.#log.info({ state: state.kind, reason: state.reason }, "release needed");
    const [latest] = history.current;
    const base = lastDeployed(history.current);
    const live = await this.#preflight(desired, base);
    const record = this.#newRecord(desired, annotations, latest);
    const verb = base ? "upgrade" : "install";
    await this.#deps.releases.create(record, this.#owner);
    try {
      const actions = await this.#applier.apply(desired, live);
      const pruned = await this.#prune(desired);
      await this.#finish(record);
      this.#report(verb, installed?.name, [...actions, ...pruned], notes);
    } catch (err) {
      const failed: ReleaseRecord = { ...record, status: "failed", description: `${verb} failed: ${messageOf(err)}`.slice(0, 1_024) };
      await this.#deps.releases.update(failed, this.#owner);
      this.#event("Warning", "ApplyFailed", `${verb} of bundle "${resolved.name}" failed: ${messageOf(err)}`);
      throw err;
    }
  }

  /** Everything that can refuse the objects is asked before anything is written. */
  async #preflight(desired: readonly KubeObject[], base: ReleaseRecord | undefined): Promise<LiveObjects> {
    const live = await this.#applier.read(desired.map(refOf));
    const released = new Set(base?.objects.map((object) => objectKey(object)));
    for (const object of desired) {
      const found = live.get(objectKey(object));
      if (!found) continue;
      const ownership = ownershipOf(found, this.#ownerOfObjects, this.#deps.extensionExists);
      if (ownership.kind === "foreign" && !released.has(objectKey(object))) {
        throw new RetryableError(Reason.Retrying, `failed to get release state using server-side dry-run: ${ownership.message}`);
      }
    }
    await this.#applier.dryRun(desired);
    return live;
  }

  async #prune(desired: readonly KubeObject[]): Promise<ObjectAction[]> {
    const recorded = new Map<string, KubeObject>();
    for (const release of this.#facts.history.current) for (const object of release.objects) recorded.set(objectKey(object), object);
    const crdPolicy = this.#facts.extension.spec.uninstall?.crdPolicy ?? "DeleteIfUnused";
    const { prune, crds } = planRelease({ recorded: [...recorded.values()], desired, crdPolicy });
    const leaving = [...prune, ...crds.ifUnused];
    if (leaving.length === 0) return [];
    const live = await this.#applier.read(leaving.map((entry) => refOf(entry)));
    const ours = (entries: readonly KubeObject[]): KubeObject[] =>
      entries.flatMap((entry) => {
        const found = live.get(objectKey(entry));
        return found && ownershipOf(found, this.#ownerOfObjects).kind === "ours" ? [found] : [];
      });
    const actions = await this.#applier.remove(ours(prune));
    const { going, kept } = await splitCrds(this.#facts.scoped ?? this.#deps.client, ours(crds.ifUnused), "DeleteIfUnused");
    for (const text of kept) this.#event("Normal", "Kept", text);
    return [...actions, ...(await this.#applier.remove(going))];
  }

  async #finish(record: ReleaseRecord): Promise<void> {
    const { releases } = this.#deps;
    const { current, older } = this.#facts.history;
    await releases.update({ ...record, status: "deployed", description: "deployed" }, this.#owner);
    for (const release of current) {
      const settled = release.status === "deployed" ? "superseded" : isPending(release) ? "failed" : undefined;
      if (settled)
        await releases.update({ ...release, status: settled, description: `followed by release v${record.version}` }, this.#owner);
    }
    for (const version of releasesToRemove([{ ...record, status: "deployed" }, ...current, ...older]))
      await releases.remove(record.name, version);
    this.#deps.lastChecked.set(this.#facts.extension.metadata.uid ?? "", this.#deps.now());
  }

  #newRecord(objects: KubeObject[], annotations: Record<string, string>, latest: ReleaseRecord | undefined): ReleaseRecord {
    const { extension, resolved, inputDigest } = this.#facts;
    if (!resolved) throw new Error("no bundle resolved");
    const now = new Date(this.#deps.now()).toISOString();
    return {
      name: extension.metadata.name,
      namespace: extension.spec.namespace,
      version: (latest?.version ?? 0) + 1,
      status: latest ? "pending-upgrade" : "pending-install",
      description: latest ? "preparing upgrade" : "initial install underway",
      firstDeployed: latest?.firstDeployed ?? now,
      lastDeployed: now,
      labels: labelsFrom(resolved),
      annotations,
      objects,
      ...(inputDigest === undefined ? {} : { inputDigest }),
    };
  }

  /** Objects as they are applied, in that order. A release of another writer may hold them in another form. */
  async #prepare(objects: readonly KubeObject[]): Promise<{ objects: KubeObject[]; notes: string[] }> {
    const { metadata, spec } = this.#facts.extension;
    requireIdentities(objects);
    const kinds = await servedKinds(this.#deps.client, objects);
    const prepared = prepareObjects(objects, {
      owner: { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: metadata.name, uid: metadata.uid ?? "" },
      installNamespace: spec.namespace,
      isNamespaced: (gvk) => kinds.isNamespaced(gvk),
    });
    return { objects: installOrder(prepared.objects), notes: prepared.notes };
  }

  #report(verb: "install" | "upgrade", from: string | undefined, actions: readonly ObjectAction[], notes: readonly string[]): void {
    const { resolved } = this.#facts;
    const source = from === undefined || from === resolved?.name ? "" : ` from "${from}"`;
    const what = verb === "install" ? "installed" : "upgraded to";
    this.#event(
      "Normal",
      verb === "install" ? "Installed" : "Upgraded",
      `${what} bundle "${resolved?.name}"${source}: ${summary(actions)}`,
    );
    for (const note of notes) this.#event("Normal", "ManifestAdjusted", note);
  }

  #event(type: "Normal" | "Warning", reason: string, message: string): void {
    this.#deps.events.record(this.#facts.extension, type, reason, message);
  }

  get #owner(): { name: string; uid: string } {
    const { name, uid = "" } = this.#facts.extension.metadata;
    return { name, uid };
  }

  get #ownerOfObjects(): Owner {
    return { ...this.#owner, installNamespace: this.#facts.extension.spec.namespace };
  }
}

/** Such as "3 created, 1 updated, 7 unchanged". */
export function summary(actions: readonly { verb: ObjectAction["verb"]; ref: ObjectRef }[]): string {
  const counts = new Map<string, number>();
  for (const { verb } of actions) counts.set(verb, (counts.get(verb) ?? 0) + 1);
  return [...counts].map(([verb, count]) => `${count} ${verb}`).join(", ") || "nothing to do";
}
