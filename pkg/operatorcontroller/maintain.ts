import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type KubeObject, refOf } from "../api/k8s.ts";
import type { StepContext } from "../controller/steps.ts";
import { RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { describeObject, objectKey } from "../release/identity.ts";
import { withIgnored } from "../release/ignoreRules.ts";
import type { ReleaseRecord } from "../release/record.ts";
import type { Applier, LiveObjects, Outcome } from "./applier.ts";
import type { ApplyDependencies } from "./applyPass.ts";
import { type Drift, describeDrift, driftOf } from "./driftReport.ts";
import type { PassFacts } from "./facts.ts";
import { watchIdentityOf } from "./identity.ts";
import { kindsOf, type ServedKinds } from "./kinds.ts";
import { changes, listed, named } from "./objectAction.ts";
import { reconcileRequestOf } from "./reconcileRequest.ts";
import type { Compared } from "./watches/followedObject.ts";
import { markOf } from "./watches/mark.ts";

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

/** Watched objects are compared this seldom nevertheless, in drift intervals; with the default interval that is once an hour. */
const FULL_EVERY = 12;

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
  const { deps, facts, scoped, context, applier } = tools;
  const { extension, installed } = facts;
  const { name } = extension.metadata;
  const { policy = "Correct", ignore = [] } = extension.spec.drift ?? {};
  const remembered = deps.memory.of(extension);
  if (policy !== "Warn") remembered.drifted.clear();
  if (policy === "Ignore") return deps.watches?.forget(name);
  const { isFull, isDue } = dueIn(tools);
  const chosen = isFull ? deployed.objects : deployed.objects.filter(isDue);
  if (chosen.length === 0) return note(tools);
  facts.began = true;
  const { objects, kinds } = await tools.prepare(deployed.objects);
  const wanted = isFull ? objects : objects.filter(isDue);
  const isUnserved = (object: KubeObject): boolean => kinds.unserved.some((other) => objectKey(other) === objectKey(object));
  const served = wanted.filter((object) => !isUnserved(object));
  const from = deps.now();
  deps.watches?.hold(name);
  try {
    await tools.claiming(served, async () => {
      const found = await applier.read(served.map(refOf));
      const live = policy === "Warn" ? found : await tools.take(found);
      const applied = served.map((object) => withIgnored(object, live.get(objectKey(object)), ignore));
      if (policy === "Warn") return applier.compare(applied, live);
      return applier.apply(applied, live, { goOn: true });
    });
  } finally {
    const drifts = wanted.flatMap((object) => driftOf(applier.outcomes.get(objectKey(object))) ?? []);
    report(tools, drifts, policy);
    const compared = wanted.map((object) => comparedFrom(object, applier.outcomes.get(objectKey(object)), policy));
    if (context.signal.aborted) deps.watches?.resume(name, []);
    else if (isFull) deps.watches?.follow(name, extension.metadata.uid ?? "", watchIdentityOf(extension, scoped), compared);
    else deps.watches?.resume(name, compared);
  }
  note(tools);
  const unserved = wanted.filter(isUnserved);
  if (unserved.length > 0) {
    const text = `this cluster no longer serves ${kindsOf(unserved)}: objects of that kind in bundle "${installed?.name ?? ""}" cannot be put back`;
    throw new RetryableError("KindNotServed", text);
  }
  remembered.checkedAt = from;
  if (isFull) remembered.comparedAt = from;
}

/** Watches everything of a release that has just been applied. */
export function followRelease(
  deps: ApplyDependencies,
  extension: Readonly<ClusterExtension>,
  scoped: Client,
  outcomes: ReadonlyMap<string, Outcome>,
): void {
  const { name, uid = "" } = extension.metadata;
  const remembered = deps.memory.of(extension);
  remembered.checkedAt = remembered.comparedAt = deps.now();
  remembered.drifted.clear();
  if (extension.spec.drift?.policy === "Ignore") return deps.watches?.forget(name);
  const compared = [...outcomes.values()].map(
    ({ after }): Compared => ({ ref: refOf(after), mark: markOf(after.metadata), outcome: "same" }),
  );
  return deps.watches?.follow(name, uid, watchIdentityOf(extension, scoped), compared);
}

function dueIn({ deps, facts, scoped }: MaintainTools): { isFull: boolean; isDue: (object: KubeObject) => boolean } {
  const { extension } = facts;
  const { name, uid = "" } = extension.metadata;
  const { watches, memory, now, driftIntervalMs } = deps;
  const { checkedAt, comparedAt } = memory.of(extension);
  const isUp = (since: number | undefined, ms: number): boolean => {
    const sinceMs = since === undefined ? Number.POSITIVE_INFINITY : now() - since;
    return sinceMs < 0 || sinceMs >= ms;
  };
  const request = reconcileRequestOf(extension);
  const isRequested = request !== undefined && request !== extension.status?.lastHandledReconcileAt;
  if (!watches) return { isFull: isRequested || isUp(checkedAt, driftIntervalMs), isDue: () => false };
  const isUnknown = comparedAt === undefined || !watches.isFollowing(name, uid, watchIdentityOf(extension, scoped).key);
  const refs = [...watches.suspects(name), ...(isUp(checkedAt, driftIntervalMs) ? watches.unwatched(name).map(({ ref }) => ref) : [])];
  const due = new Set(refs.map(objectKey));
  return {
    isFull: isRequested || isUnknown || isUp(comparedAt, driftIntervalMs * FULL_EVERY),
    isDue: (object) => due.has(objectKey(object)),
  };
}

function comparedFrom(object: KubeObject, outcome: Outcome | undefined, policy: "Correct" | "Warn"): Compared {
  const ref = refOf(object);
  if (!outcome) return { ref, mark: undefined, outcome: "failed" };
  const drifted = driftOf(outcome) !== undefined;
  if (policy === "Warn") return { ref, mark: outcome.before && markOf(outcome.before.metadata), outcome: drifted ? "drifted" : "same" };
  return { ref, mark: markOf(outcome.after.metadata), outcome: drifted ? "corrected" : "same" };
}

/** Events for what is newly found, and what is remembered of what stays as it is. */
function report({ deps, facts, applier }: MaintainTools, drifts: readonly Drift[], policy: "Correct" | "Warn"): void {
  const { extension, installed } = facts;
  const bundle = installed?.name ?? "";
  const { drifted } = deps.memory.of(extension);
  const known = new Set(drifted.values());
  for (const key of applier.outcomes.keys()) drifted.delete(key);
  if (policy === "Warn") for (const drift of drifts) drifted.set(objectKey(drift.ref), describeDrift(drift));
  const news = drifts.map(describeDrift).filter((text) => !known.has(text));
  if (news.length > 0) deps.events.record(extension, "Warning", "Drifted", `of bundle "${bundle}": ${listed(news)}`);
  const corrected = changes(applier.actions);
  if (corrected.length > 0)
    deps.events.record(extension, "Normal", "DriftCorrected", `put back of bundle "${bundle}": ${named(corrected)}`);
}

/** Says in the condition what is not put back, and what is looked after less closely. */
function note({ deps, facts }: MaintainTools): void {
  const { extension } = facts;
  const say = (text: string): unknown => facts.notes.includes(text) || facts.notes.push(text);
  const { drifted } = deps.memory.of(extension);
  if (drifted.size > 0) say(`drift is not put back, since spec.drift.policy is Warn: ${listed([...drifted.values()])}`);
  const unwatched = (deps.watches?.unwatched(extension.metadata.name) ?? []).filter(({ because }) => because !== undefined);
  const [first] = unwatched;
  if (!first) return;
  const minutes = Math.max(1, Math.round(deps.driftIntervalMs / 60_000));
  const objects = listed(unwatched.map(({ ref }) => describeObject(ref)));
  say(`changes of ${objects} are noticed within ${minutes} min only, as they cannot be watched: ${first.because ?? ""}`);
}
