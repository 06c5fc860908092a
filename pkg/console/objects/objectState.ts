import type { KubeObject } from "../../api/k8s.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import { computeHealth, hasHealth } from "../../release/health/health.ts";
import type { ObjectSubject } from "../../rollout/objectTree.ts";

/** State of an object in a tree, or of an object that was read. */
type ObjectState = ObjectSubject["state"];

const STATES: Readonly<Record<ObjectState, MoodText>> = {
  healthy: { text: "healthy", mood: "good" },
  progressing: { text: "progressing", mood: "warning" },
  failed: { text: "failed", mood: "bad" },
  unknown: { text: "unknown", mood: "faint" },
  present: { text: "exists" },
  missing: { text: "missing", mood: "bad" },
  unreadable: { text: "cannot be read", mood: "faint" },
};

/** Returns the state of an object with its mood. */
export function toObjectState(state: ObjectState): MoodText {
  return STATES[state];
}

/** Whether an object with the state does not work. */
export function isFailingState(state: ObjectState): boolean {
  return state === "failed" || state === "missing" || state === "progressing";
}

/** Returns the health of an object, or that it exists if its kind has no health check. @param now milliseconds since the epoch */
export function readObjectState(object: KubeObject, now: number): { state: MoodText; message: string } {
  if (!hasHealth(object)) return { state: STATES.present, message: "" };
  const { state, message } = computeHealth(object, now);
  return { state: STATES[state], message };
}
