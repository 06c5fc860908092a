import { type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { type DriftPolicy, type DriftedField, driftedFields } from "../../release/drift.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { wroteAlthoughSame } from "../../release/managedFields.ts";
import type { Outcome } from "./applier.ts";
import { changes, listed, named } from "./objectAction.ts";
import type { PassObjects } from "./passObjects.ts";

/** An object that is other than it was applied. */
export interface Drift {
  readonly ref: ObjectRef;
  readonly kind: "deleted" | "changed";
  /** What was changed; empty where that is not known. */
  readonly fields: readonly DriftedField[];
  /** It happened between the reading of the object and the apply, which put it back without ever having seen it. */
  readonly meanwhile?: boolean;
}

/** Drift of what was taken over is told and not put back: until when. */
const TAKEN_OVER =
  "the extension was taken over from another operator-controller: drift is put back from its first upgrade on, or once spec.drift.policy is Correct";

/** Tells of the drift of one extension in one pass: in Events what is newly found, in the condition what stays as it is. */
export class DriftReport {
  readonly #pass: PassObjects;
  readonly #chosen: DriftPolicy;

  constructor(pass: PassObjects, chosen: DriftPolicy) {
    this.#pass = pass;
    this.#chosen = chosen;
  }

  /** Records Events for what a comparison of `objects` found and was not known yet, and for what it put back; remembers what stays as it is. */
  tell(objects: readonly KubeObject[]): void {
    const { deps, facts, applier } = this.#pass;
    const { policy, isTakenOver } = this.#chosen;
    const { extension, installed } = facts;
    const bundle = installed?.name ?? "";
    const drifts = objects.flatMap((object) => driftOf(applier.outcomes.get(objectKey(object)), policy) ?? []);
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
  note(): void {
    const { deps, facts } = this.#pass;
    const { extension } = facts;
    const say = (text: string): unknown => facts.notes.includes(text) || facts.notes.push(text);
    const { drifted } = deps.memory.of(extension);
    const why = this.#chosen.isTakenOver ? TAKEN_OVER : "drift is not put back, since spec.drift.policy is Warn";
    if (drifted.size > 0) say(`${why}: ${listed([...drifted.values()])}`);
    const unwatched = (deps.watches?.unwatched(extension.metadata.name) ?? []).filter(({ because }) => because !== undefined);
    const [first] = unwatched;
    if (!first) return;
    const minutes = Math.max(1, Math.round(deps.driftIntervalMs / 60_000));
    const objects = listed(unwatched.map(({ ref }) => describeObject(ref)));
    say(`changes of ${objects} are noticed within ${minutes} min only, as they cannot be watched: ${first.because ?? ""}`);
  }
}

/**
 * What an apply put right, or with policy Warn a dry run would; undefined where the object is as it should be, or nothing is known. What
 * happened while a dry run was made is no drift yet: whoever watches the object hears of it.
 */
export function driftOf(outcome: Outcome | undefined, policy: DriftPolicy["policy"]): Drift | undefined {
  if (!outcome) return undefined;
  const { before, after } = outcome;
  if (!before) return { ref: refOf(after), kind: "deleted", fields: [] };
  const ref = refOf(before);
  const fields = driftedFields(before, after);
  if (fields.length > 0) return { ref, kind: "changed", fields };
  if (policy === "Warn") return undefined;
  if (before.metadata.uid !== after.metadata.uid) return { ref, kind: "deleted", fields, meanwhile: true };
  return wroteAlthoughSame(before.metadata, after.metadata) ? { ref, kind: "changed", fields, meanwhile: true } : undefined;
}

/** Such as `Service ns/a was changed: /spec/ports/0/name by "kubectl-edit"`; never with values, which may be secret. */
function describeDrift({ ref, kind, fields, meanwhile }: Drift): string {
  const what = `${describeObject(ref)} was ${kind}${meanwhile ? " while it was compared" : ""}`;
  return fields.length === 0 ? what : `${what}: ${listed(fields.map(describeField))}`;
}

function describeField({ path, managers }: DriftedField): string {
  return managers.length === 0 ? `${path} removed` : `${path} by ${managers.map((manager) => `"${manager}"`).join(" and ")}`;
}
