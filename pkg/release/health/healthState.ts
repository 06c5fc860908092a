import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import { truncate } from "../../text/truncate.ts";

/**
 * The health of an object:
 * - healthy: it works
 * - progressing: it does not work yet, or no longer works, but may recover without a change
 * - failed: it cannot recover without a change
 * - unknown: its health could not be determined
 */
export type HealthState = "healthy" | "progressing" | "failed" | "unknown";

/** The health of one object, a CamelCase reason, and a message; both may come from the object's own conditions. */
export interface Health {
  state: HealthState;
  reason: string;
  message: string;
}

/** The health of an object without problems. */
export const HEALTHY: Health = { state: "healthy", reason: "Healthy", message: "" };

/**
 * Maximum length of a text about one object, in characters. Limited because other controllers write it, and a condition contains several such texts.
 */
const MAX_TEXT = 1_024;

/** Returns a health with a truncated message. */
export function createHealth(state: HealthState, reason: string, message: string): Health {
  return { state, reason, message: truncateText(message) };
}

/** Returns `text` on one line, truncated to 1,024 characters. */
export function truncateText(text: string): string {
  const line = text
    .slice(0, 2 * MAX_TEXT)
    .replaceAll(/\s+/g, " ")
    .trim();
  return truncate(line, MAX_TEXT);
}

/** A condition written by any controller. Missing fields are empty. */
export interface LooseCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

/** Returns the field at `path`, such as "spec.updateStrategy.type"; undefined if a part of the path is not an object. */
export function getMemberAt(object: JsonObject, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split(".")) value = isObject(value) ? value[step] : undefined;
  return value;
}

/** Returns the number at `path`, or `otherwise`. */
export function getNumberAt(object: JsonObject, path: string, otherwise = 0): number {
  const value = getMemberAt(object, path);
  return typeof value === "number" ? value : otherwise;
}

/** Returns the string at `path`, or `otherwise`. */
export function getTextAt(object: JsonObject, path: string, otherwise = ""): string {
  const value = getMemberAt(object, path);
  return typeof value === "string" ? value : otherwise;
}

/** Returns the objects in the list at `path`; empty if it is not a list. */
export function getListAt(object: JsonObject, path: string): JsonObject[] {
  const value = getMemberAt(object, path);
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns `status.conditions` in their order. */
export function readConditions(object: KubeObject): LooseCondition[] {
  return getListAt(object, "status.conditions").map((condition) => ({
    type: getTextAt(condition, "type"),
    status: getTextAt(condition, "status"),
    reason: getTextAt(condition, "reason"),
    message: getTextAt(condition, "message"),
  }));
}
