import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { isMigrated } from "../../classic/names.ts";
import type { StepContext } from "../../controller/steps.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { type DriftPolicy, driftPolicyOf } from "../../release/driftPolicy.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { withIgnored } from "../../release/ignoreRules.ts";
import { inLiveOrder } from "../../release/liveOrder.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";
import { reconcileRequestOf } from "../reconcileRequest.ts";
import { watchIdentityOf } from "../rights/identity.ts";
import { type MayWatchAll, watchRights } from "../rights/watchRights.ts";
import type { Compared } from "../watches/followedObject.ts";
import { markOf } from "../watches/mark.ts";
import type { Applier, LiveObjects, Outcome } from "./applier.ts";
import type { ApplyDependencies } from "./applyPass.ts";
import { type Drift, describeDrift, driftOf } from "./driftReport.ts";
import { kindsOf, type ServedKinds } from "./kinds.ts";
import { changes, listed, named } from "./objectAction.ts";

/** What keeping a release as it is needs of the pass that does it. */
export interface MaintainTools {
  deps: ApplyDependencies;
  facts: PassFacts;
  scoped: Client;
  context: StepContext<PassFacts["extension"]>;
  applier: Applier;
  /** Makes live objects ours that another operator-controller wrote. */
  take: (live: LiveObjects) => Promise<LiveObjects>;
  prepare: (objects: readonly KubeObject[]) => Promise<{ objects: KubeObject[]; kinds: ServedKinds }>;
  /** Runs `work` while no other extension writes these objects. */
  claiming: (objects: readonly KubeObject[], work: () => Promise<void>) => Promise<void>;
}

type ActivePolicy = "Correct" | "Warn";

/** Drift of what was taken over is told and not put back: until when. */
const TAKEN_OVER =
  "the extension was taken over from another operator-controller: drift is put back from its first upgrade on, or once spec.drift.policy is Correct";

/** Watched objects are compared this seldom nevertheless, in drift intervals; with the default interval that is once an hour. */
export const FULL_EVERY = 12;

/**
 * Compares objects of a deployed release with the cluster, and puts back (policy Correct) or reports (Warn) what is other than it was applied:
 *
 * | objects                                       | are compared                         |
 * | any                                           | first of all, on request, once in 12 intervals, and when another identity acts |
 * | seen by a watch to be other than applied      | at once                              |
 * | whose last comparison failed                  | in every pass                        |
 * | that cannot be watched                        | once an interval                     |
 * | any, with policy Ignore                       | never                                |
 *
 * An object whose kind is no longer served does not keep the others from it.
 * @throws RetryableError with everything that could not be compared or put back.
 */
export async function maintain(deployed: ReleaseRecord, tools: MaintainTools): Promise<void> {
  const { deps, facts } = tools;
  const { extension, installed } = facts;
  const chosen = driftPolicyOf(extension.spec, deployed);
  const { policy } = chosen;
  const remembered = deps.memory.of(extension);
  if (policy !== "Warn") remembered.drifted.clear();
  if (policy === "Ignore") return deps.watches?.forget(extension.metadata.name);
  const due = dueIn(tools);
  if (!due.isFull && due.keys.size === 0) return note(tools, chosen);
  facts.began = true;
  const from = deps.now();
  const { objects, kinds } = await tools.prepare(deployed.objects);
  const wanted = due.isFull ? objects : objects.filter((object) => due.keys.has(objectKey(object)));
  const unserved = wanted.filter((object) => kinds.unserved.some((other) => objectKey(other) === objectKey(object)));
  const served = wanted.filter((object) => !unserved.includes(object));
  deps.watches?.hold(extension.metadata.name);
  let mayWatchAll: MayWatchAll | undefined;
  try {
    if (deps.watches && due.isFull)
      mayWatchAll = await watchRights(tools.scoped, served, (gvk) => kinds.resourceOf(gvk), tools.context.signal);
    await compare(tools, served, policy);
  } finally {
    takeIn(tools, wanted, chosen, due.isFull ? { mayWatchAll } : undefined);
    if (deps.watches && due.isFull) remembered.comparedAt = from; // what failed is known by name now
  }
  if (due.isFull && policy === "Correct") facts.live = tools.applier.applied;
  note(tools, chosen);
  if (unserved.length > 0) {
    const text = `this cluster no longer serves ${kindsOf(unserved)}: objects of that kind in bundle "${installed?.name ?? ""}" cannot be put back`;
    throw new RetryableError("KindNotServed", text);
  }
  if (due.isFull || due.isIntervalUp) remembered.checkedAt = from;
}

/** Watches everything of a release that has just been applied. */
export function followRelease(
  deps: ApplyDependencies,
  extension: Readonly<ClusterExtension>,
  scoped: Client,
  outcomes: ReadonlyMap<string, Outcome>,
  mayWatchAll: MayWatchAll | undefined,
): void {
  const { name, uid = "" } = extension.metadata;
  const remembered = deps.memory.of(extension);
  remembered.checkedAt = remembered.comparedAt = deps.now();
  remembered.drifted.clear();
  if (extension.spec.drift?.policy === "Ignore") return deps.watches?.forget(name);
  const compared = [...outcomes.values()].map(
    ({ after }): Compared => ({ ref: refOf(after), mark: markOf(after.metadata), outcome: "same" }),
  );
  return deps.watches?.follow(name, uid, watchIdentityOf(extension, scoped, mayWatchAll), compared);
}

interface Due {
  /** Everything is to be compared; otherwise `keys`. */
  readonly isFull: boolean;
  readonly isIntervalUp: boolean;
  readonly keys: ReadonlySet<string>;
}

function dueIn({ deps, facts, scoped }: MaintainTools): Due {
  const { extension } = facts;
  const { name, uid = "" } = extension.metadata;
  const { watches, memory, now, driftIntervalMs } = deps;
  const { checkedAt, comparedAt } = memory.of(extension);
  const isUp = (since: number | undefined, ms: number): boolean => {
    const sinceMs = since === undefined ? Number.POSITIVE_INFINITY : now() - since;
    return sinceMs < 0 || sinceMs >= ms;
  };
  const isIntervalUp = isUp(checkedAt, driftIntervalMs);
  const request = reconcileRequestOf(extension);
  const isRequested = request !== undefined && request !== extension.status?.lastHandledReconcileAt;
  if (!watches) return { isFull: isRequested || isIntervalUp, isIntervalUp, keys: new Set() };
  const isUnknown = !watches.isFollowing(name, uid, watchIdentityOf(extension, scoped).key);
  const isFull = isRequested || isUnknown || isUp(comparedAt, driftIntervalMs * FULL_EVERY);
  const unwatched = isIntervalUp ? watches.unwatched(name).map(({ ref }) => ref) : [];
  return { isFull, isIntervalUp, keys: new Set([...watches.suspects(name), ...unwatched].map(objectKey)) };
}

/** Puts objects back, or with policy Warn only finds out what would be; what comes of each is in the applier's outcomes. */
function compare({ facts, applier, claiming, take }: MaintainTools, objects: readonly KubeObject[], policy: ActivePolicy): Promise<void> {
  const { ignore = [] } = facts.extension.spec.drift ?? {};
  return claiming(objects, async () => {
    const found = await applier.read(objects.map(refOf));
    const live = policy === "Warn" ? found : await take(found);
    const keepsOrder = isMigrated(facts.extension); // or all Pods that OLM classic made are made anew for the order of a list
    const applied = objects.map((object) => {
      const there = live.get(objectKey(object));
      const wanted = withIgnored(object, there, ignore);
      return keepsOrder ? inLiveOrder(wanted, there) : wanted;
    });
    await (policy === "Warn" ? applier.compare(applied, live) : applier.apply(applied, live, { goOn: true }));
  });
}

/** Tells Events, memory and watches what a comparison came to, also one that ended early. */
function takeIn(
  tools: MaintainTools,
  objects: readonly KubeObject[],
  chosen: DriftPolicy,
  full: { mayWatchAll: MayWatchAll | undefined } | undefined,
): void {
  const { deps, facts, scoped, context, applier } = tools;
  const { name, uid = "" } = facts.extension.metadata;
  const policy = chosen.policy === "Warn" ? "Warn" : "Correct";
  const outcomes = objects.map((object) => [object, applier.outcomes.get(objectKey(object))] as const);
  report(
    tools,
    outcomes.flatMap(([, outcome]) => driftOf(outcome) ?? []),
    chosen,
  );
  const compared = outcomes.map(([object, outcome]) => comparedFrom(object, outcome, policy));
  if (context.signal.aborted) deps.watches?.resume(name, []);
  else if (full) deps.watches?.follow(name, uid, watchIdentityOf(facts.extension, scoped, full.mayWatchAll), compared);
  else deps.watches?.resume(name, compared);
}

function comparedFrom(object: KubeObject, outcome: Outcome | undefined, policy: ActivePolicy): Compared {
  const ref = refOf(object);
  if (!outcome) return { ref, mark: undefined, outcome: "failed" };
  const drifted = driftOf(outcome) !== undefined;
  if (policy === "Warn") return { ref, mark: outcome.before && markOf(outcome.before.metadata), outcome: drifted ? "drifted" : "same" };
  return { ref, mark: markOf(outcome.after.metadata), outcome: drifted ? "corrected" : "same" };
}

/** Events for what is newly found, and what is remembered of what stays as it is. */
function report({ deps, facts, applier }: MaintainTools, drifts: readonly Drift[], { policy, isTakenOver }: DriftPolicy): void {
  const { extension, installed } = facts;
  const bundle = installed?.name ?? "";
  const { drifted } = deps.memory.of(extension);
  const known = new Set(drifted.values());
  for (const key of applier.outcomes.keys()) drifted.delete(key);
  if (policy === "Warn") for (const drift of drifts) drifted.set(objectKey(drift.ref), describeDrift(drift));
  const news = drifts.map(describeDrift).filter((text) => !known.has(text));
  const why = isTakenOver ? `; ${TAKEN_OVER}` : "";
  if (news.length > 0) deps.events.record(extension, "Warning", "Drifted", `of bundle "${bundle}": ${listed(news)}${why}`);
  if (policy === "Warn") return; // what the applier wrote before is not about this
  const keys = new Set(drifts.map(({ ref }) => objectKey(ref)));
  const corrected = changes(applier.actions).filter(({ ref }) => keys.has(objectKey(ref)));
  if (corrected.length === 0) return;
  deps.metrics?.corrected(extension.metadata.name, corrected.length);
  deps.events.record(extension, "Normal", "DriftCorrected", `put back of bundle "${bundle}": ${named(corrected)}`);
}

/** Says in the condition what is not put back, and what is looked after less closely. */
function note({ deps, facts }: MaintainTools, { isTakenOver }: DriftPolicy): void {
  const { extension } = facts;
  const say = (text: string): unknown => facts.notes.includes(text) || facts.notes.push(text);
  const { drifted } = deps.memory.of(extension);
  const why = isTakenOver ? TAKEN_OVER : "drift is not put back, since spec.drift.policy is Warn";
  if (drifted.size > 0) say(`${why}: ${listed([...drifted.values()])}`);
  const unwatched = (deps.watches?.unwatched(extension.metadata.name) ?? []).filter(({ because }) => because !== undefined);
  const [first] = unwatched;
  if (!first) return;
  const minutes = Math.max(1, Math.round(deps.driftIntervalMs / 60_000));
  const objects = listed(unwatched.map(({ ref }) => describeObject(ref)));
  say(`changes of ${objects} are noticed within ${minutes} min only, as they cannot be watched: ${first.because ?? ""}`);
}
