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
  return { state, reason, message: bounded(message) };
}

/** `text` in one line and at most 1,024 characters. */
export function bounded(text: string): string {
  const line = text
    .slice(0, 2 * MAX_TEXT)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length <= MAX_TEXT ? line : `${line.slice(0, MAX_TEXT - 1)}…`;
}
