const CUT = "…";

/** Code points: what most terminals show as a column each. */
export function columnsOf(text: string): number {
  return Array.from(text).length;
}

/** Text that takes no more than so many columns; what was cut off shows. */
export function cutTo(text: string, columns: number): string {
  const points = Array.from(text);
  return points.length <= columns ? text : points.slice(0, Math.max(columns - 1, 0)).join("") + CUT;
}
