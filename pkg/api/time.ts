/** A time as metav1.Time has it: RFC 3339, UTC, whole seconds, cut and not rounded. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}
