/**
 * Unit of a figure: seconds, bytes of memory, events per second, a count, or a share of one core (0.01: one hundredth).
 */
export type Unit = "seconds" | "bytes" | "perSecond" | "count" | "cores";

const TIMES: readonly [scale: number, name: string][] = [
  [1, "s"],
  [1e3, "ms"],
  [1e6, "µs"],
];

/**
 * Formats a value with three significant digits: "1.15 s", "48.0 ms", "91 MB", "1,480 /s", "0.512 %". A megabyte is
 * 1,000,000 bytes.
 */
export function formatValue(value: number, unit: Unit): string {
  if (unit === "bytes" && value < 1e6) return `${Math.round(value / 1e3)} kB`;
  if (unit === "bytes") return `${Math.round(value / 1e6)} MB`;
  if (unit === "count") return value === 0 ? "0" : digits(value);
  if (unit === "cores") return `${digits(value * 100)} %`;
  if (unit === "perSecond") return `${digits(value)} /s`;
  const [scale, name] = TIMES.find(([factor]) => value * factor >= 1) ?? [1e6, "µs"];
  return `${digits(value * scale)} ${name}`;
}

/** Formats three significant digits with thousands separators: 0.000512, 4.10, 21.7, 520, 1,480. */
export function digits(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

/**
 * Returns a figure independent of the machine: a time in calibration loops, or events per loop. Undefined for memory,
 * counts and cores.
 */
export function calibrate(value: number, unit: Unit, calibrationSeconds: number): number | undefined {
  if (unit === "seconds") return value / calibrationSeconds;
  return unit === "perSecond" ? value * calibrationSeconds : undefined;
}
