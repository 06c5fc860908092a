import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import { truncate } from "../../text/truncate.ts";

/**
 * healthy: it works; progressing: not yet, or no longer, and it may get so by itself; failed: it will not without a change;
 * unknown: it could not be told.
 */
export type HealthState = "healthy" | "progressing" | "failed" | "unknown";

/** The state of one object, one CamelCase word for why, and a sentence; both may come from the object's own conditions. */
export interface Health {
  state: HealthState;
  reason: string;
  message: string;
}

/** Nothing to say. */
export const HEALTHY: Health = { state: "healthy", reason: "Healthy", message: "" };

/** Longest text about one object, in characters: others wrote it, and a condition has to hold several. */
const MAX_TEXT = 1_024;

/** A verdict with a bounded message. */
export function health(state: HealthState, reason: string, message: string): Health {
  return { state, reason, message: boundText(message) };
}

/** `text` in one line and at most 1,024 characters. */
export function boundText(text: string): string {
  const line = text
    .slice(0, 2 * MAX_TEXT)
    .replaceAll(/\s+/g, " ")
    .trim();
  return truncate(line, MAX_TEXT);
}

/** A condition as any controller may have written it: every member may be missing. */
export interface LooseCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

/** The member at `path`, such as "spec.updateStrategy.type"; undefined where a step of it is no object. */
export function memberAt(object: JsonObject, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split(".")) value = isObject(value) ? value[step] : undefined;
  return value;
}

/** The number at `path`, or `otherwise`. */
export function numberAt(object: JsonObject, path: string, otherwise = 0): number {
  const value = memberAt(object, path);
  return typeof value === "number" ? value : otherwise;
}

/** The text at `path`, or `otherwise`. */
export function textAt(object: JsonObject, path: string, otherwise = ""): string {
  const value = memberAt(object, path);
  return typeof value === "string" ? value : otherwise;
}

/** The objects in the list at `path`; nothing where there is no list. */
export function listAt(object: JsonObject, path: string): JsonObject[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** `status.conditions`, in the order in which they stand there. */
export function conditionsOf(object: KubeObject): LooseCondition[] {
  return listAt(object, "status.conditions").map((condition) => ({
    type: textAt(condition, "type"),
    status: textAt(condition, "status"),
    reason: textAt(condition, "reason"),
    message: textAt(condition, "message"),
  }));
}
