import { Reason } from "../../api/constants.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { isMigrated } from "../../api/migration.ts";
import { RetryableError } from "../../errors/errors.ts";
import { type DriftPolicy, driftPolicyOf } from "../../release/drift.ts";
import { objectKey } from "../../release/identity.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { watchIdentityOf } from "../rights/identity.ts";
import { type MayWatchAll, watchRights } from "../rights/watchRights.ts";
import type { Compared } from "../watches/followedObject.ts";
import { markOf } from "../watches/mark.ts";
import type { LiveObjects, Outcome } from "./applier.ts";
import { comparisonDue } from "./comparisonDue.ts";
import { foreignObjects } from "./conflicts.ts";
import { DriftReport, driftOf } from "./driftReport.ts";
import { kindsOf } from "./kinds.ts";
import type { PassObjects } from "./passObjects.ts";

type ActivePolicy = "Correct" | "Warn";

/**
 * Compares objects of a deployed release with the cluster as far as that is due (see `comparisonDue`), and puts back (policy Correct) or
 * reports (Warn) what is other than it was applied. With policy Ignore nothing is compared. An object whose kind is no longer served does not
 * keep the others from it.
 * @throws RetryableError with everything that could not be compared or put back.
 */
export async function maintain(deployed: ReleaseRecord, pass: PassObjects): Promise<void> {
  const { deps, facts, scoped, context } = pass;
  const { extension, installed } = facts;
  const chosen = driftPolicyOf(extension.spec, deployed);
  const { policy } = chosen;
  const remembered = deps.memory.of(extension);
  const reported = policy === "Correct" ? [...remembered.drifted.keys()] : [];
  if (policy !== "Warn") remembered.drifted.clear();
  if (policy === "Ignore") return deps.watches?.forget(extension.metadata.name);
  const report = new DriftReport(pass, chosen);
  const due = comparisonDue(pass, reported);
  if (!due.isFull && due.keys.size === 0) {
    deps.watches?.remind(extension.metadata.name);
    return report.note();
  }
  facts.began = true;
  const from = deps.now();
  const { objects, kinds } = await pass.prepare(deployed.objects);
  const wanted = due.isFull ? objects : objects.filter((object) => due.keys.has(objectKey(object)));
  const unserved = wanted.filter((object) => kinds.unserved.some((other) => objectKey(other) === objectKey(object)));
  const served = wanted.filter((object) => !unserved.includes(object));
  deps.watches?.hold(extension.metadata.name);
  let mayWatchAll: MayWatchAll | undefined;
  try {
    if (deps.watches && due.isFull) mayWatchAll = await watchRights(scoped, served, (gvk) => kinds.resourceOf(gvk), context.signal);
    await compare(pass, served, policy);
  } finally {
    report.tell(wanted); // also of a comparison that ended early
    watchOn(pass, wanted, chosen, due.isFull ? { mayWatchAll } : undefined);
    if (deps.watches && due.isFull) remembered.comparedAt = from; // what failed is known by name now
  }
  if (due.isFull && policy === "Correct") facts.live = pass.applier.applied;
  report.note();
  if (unserved.length > 0) {
    const text = `this cluster no longer serves ${kindsOf(unserved)}: objects of that kind in bundle "${installed?.name ?? ""}" cannot be put back`;
    throw new RetryableError("KindNotServed", text);
  }
  if (due.isFull || due.isIntervalUp) remembered.checkedAt = from;
}

/** Watches everything of a release that has just been applied. @param mayWatchAll as `watchRights` gave it; undefined where nothing is watched. */
export function followRelease({ deps, facts, scoped, applier }: PassObjects, mayWatchAll: MayWatchAll | undefined): void {
  const { extension } = facts;
  const { name, uid = "" } = extension.metadata;
  const remembered = deps.memory.of(extension);
  remembered.checkedAt = remembered.comparedAt = deps.now();
  remembered.drifted.clear();
  if (extension.spec.drift?.policy === "Ignore") return deps.watches?.forget(name);
  const compared = [...applier.outcomes.values()].map(
    ({ after }): Compared => ({ ref: refOf(after), mark: markOf(after.metadata), outcome: "same" }),
  );
  return deps.watches?.follow(name, uid, watchIdentityOf(extension, scoped, mayWatchAll), compared);
}

/** Puts objects back, or with policy Warn only finds out what would be; what comes of each is in the applier's outcomes. */
function compare(pass: PassObjects, objects: readonly KubeObject[], policy: ActivePolicy): Promise<void> {
  const { applier, facts } = pass;
  return pass.claiming(objects, async () => {
    const read = await applier.read(objects.map(refOf));
    const { found, lost } = await withoutLost(pass, objects, read, policy);
    const live = policy === "Warn" ? found : await pass.take(found);
    const ours = objects.filter((object) => !lost.has(objectKey(object)));
    const applied = pass.applied(ours, live, isMigrated(facts.extension)); // or all Pods that OLM classic made are made anew
    await (policy === "Warn" ? applier.compare(applied, live) : applier.apply(applied, live, { goOn: true }));
    if (lost.size > 0) throw new RetryableError(Reason.Retrying, [...lost.values()].join("\n"));
  });
}

/**
 * Takes back what other extensions have taken and left behind since.
 * @returns the live objects without those that other extensions own, and the messages about these by `objectKey`.
 */
async function withoutLost(
  pass: PassObjects,
  objects: readonly KubeObject[],
  read: LiveObjects,
  policy: ActivePolicy,
): Promise<{ found: LiveObjects; lost: Map<string, string> }> {
  const { deps, owner } = pass;
  const released = new Set(objects.map(objectKey));
  const foreign = foreignObjects({ desired: objects, live: read, owner, extensionExists: deps.extensionExists, released });
  const needs = foreign.flatMap(({ object, owner: other }) =>
    policy === "Correct" && other !== undefined && deps.handovers.hasLeft(other, object) ? [{ object, owner: other }] : [],
  );
  const taken = new Set(needs.map(({ object }) => objectKey(object)));
  const lost = new Map(
    foreign.flatMap(({ object, message }): [string, string][] => (taken.has(objectKey(object)) ? [] : [[objectKey(object), message]])),
  );
  const after = await pass.takeFromOthers(needs, read);
  return { found: new Map([...after].filter(([key]) => !lost.has(key))), lost };
}

/** Lets the watches go on from what a comparison came to. @param full set when everything was compared: from now on everything is watched. */
function watchOn(
  { deps, facts, scoped, context, applier }: PassObjects,
  objects: readonly KubeObject[],
  { policy }: DriftPolicy,
  full: { mayWatchAll: MayWatchAll | undefined } | undefined,
): void {
  const { name, uid = "" } = facts.extension.metadata;
  const active = policy === "Warn" ? "Warn" : "Correct";
  const compared = objects.map((object) => comparedFrom(object, applier.outcomes.get(objectKey(object)), active));
  if (context.signal.aborted) deps.watches?.resume(name, []);
  else if (full) deps.watches?.follow(name, uid, watchIdentityOf(facts.extension, scoped, full.mayWatchAll), compared);
  else deps.watches?.resume(name, compared);
}

function comparedFrom(object: KubeObject, outcome: Outcome | undefined, policy: ActivePolicy): Compared {
  const ref = refOf(object);
  if (!outcome) return { ref, mark: undefined, outcome: "failed" };
  const drifted = driftOf(outcome, policy) !== undefined;
  if (policy === "Warn") return { ref, mark: outcome.before && markOf(outcome.before.metadata), outcome: drifted ? "drifted" : "same" };
  return { ref, mark: markOf(outcome.after.metadata), outcome: drifted ? "corrected" : "same" };
}
