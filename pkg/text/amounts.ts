const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
/** Up to which age, in seconds, it is told in which unit, as kubectl does: two units of a small number, one of a large one. */
const STEPS = [
  { below: 2 * MINUTE, unit: 1, sign: "s", rest: 0, restSign: "" },
  { below: 10 * MINUTE, unit: MINUTE, sign: "m", rest: 1, restSign: "s" },
  { below: 3 * HOUR, unit: MINUTE, sign: "m", rest: 0, restSign: "" },
  { below: 8 * HOUR, unit: HOUR, sign: "h", rest: MINUTE, restSign: "m" },
  { below: 2 * DAY, unit: HOUR, sign: "h", rest: 0, restSign: "" },
  { below: 8 * DAY, unit: DAY, sign: "d", rest: HOUR, restSign: "h" },
  { below: 2 * YEAR, unit: DAY, sign: "d", rest: 0, restSign: "" },
  { below: 8 * YEAR, unit: YEAR, sign: "y", rest: DAY, restSign: "d" },
  { below: Number.POSITIVE_INFINITY, unit: YEAR, sign: "y", rest: 0, restSign: "" },
] as const;

/**
 * How long ago, as kubectl writes ages: "90s", "5m30s", "3h", "2d4h".
 * @param since RFC 3339; without one, or one that cannot be read, it is "<unknown>".
 * @param now milliseconds since the epoch.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/util/duration#HumanDuration
 */
export function ageText(since: string | null | undefined, now: number): string {
  const at = since ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(at)) return "<unknown>";
  const seconds = Math.max(Math.floor((now - at) / 1_000), 0);
  const { unit, sign, rest, restSign } = STEPS.find(({ below }) => seconds < below) ?? STEPS[8];
  const more = rest === 0 ? 0 : Math.floor((seconds % unit) / rest);
  return `${Math.floor(seconds / unit)}${sign}${more > 0 ? `${more}${restSign}` : ""}`;
}

/** A number of things, such as `1 error` and `2 errors`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
