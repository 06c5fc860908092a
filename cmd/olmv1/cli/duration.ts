import { InvalidArgumentError } from "commander";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration such as 90s, 5m or 1h30m. @throws InvalidArgumentError for what is none. */
export function durationOf(text: string): number {
  const parts = [...text.matchAll(/(\d+)([smh])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
    throw new InvalidArgumentError("It must be a duration such as 90s, 5m or 1h.");
  return parts.reduce((sum, [, count, unit = "s"]) => sum + Number(count) * (UNITS[unit] ?? 0), 0);
}
