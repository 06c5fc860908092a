import { goQuote } from "./quote.ts";

/** A time as metav1.Time has it: RFC 3339, UTC, whole seconds, cut and not rounded. */
export function formatTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

const LAYOUT = '"2006-01-02T15:04:05Z07:00"';
/** The elements of the layout, each with what it takes. */
const ELEMENTS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["2006", /^\d{4}/],
  ["-", /^-/],
  ["01", /^\d{2}/],
  ["-", /^-/],
  ["02", /^\d{2}/],
  ["T", /^T/],
  ["15", /^\d{2}/],
  [":", /^:/],
  ["04", /^\d{2}/],
  [":", /^:/],
  ["05", /^\d{2}(?:[.,]\d+)?/],
  ["Z07:00", /^(?:Z|[+-]\d{2}:\d{2})/],
];

/**
 * An RFC 3339 time in UTC to the second, as metav1.Time prints it: "2024-05-01T10:00:00.5+02:00" gives "2024-05-01T08:00:00Z".
 * @throws Error in Go's words on other text.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Time
 */
export function goTime(text: string): string {
  const found: string[] = [];
  let rest = text;
  for (const [name, pattern] of ELEMENTS) {
    const part = pattern.exec(rest)?.[0];
    if (part === undefined)
      throw new Error(`parsing time ${goQuote(text)} as ${LAYOUT}: cannot parse ${goQuote(rest)} as ${goQuote(name)}`);
    found.push(part);
    rest = rest.slice(part.length);
    const fault = rangeFault(name, found);
    if (fault) throw new Error(`parsing time ${goQuote(text)}: ${fault} out of range`);
  }
  if (rest !== "") throw new Error(`parsing time ${goQuote(text)}: extra text: ${goQuote(rest)}`);
  if (Number(found[4]) < 1 || Number(found[4]) > daysIn(Number(found[0]), Number(found[2])))
    throw new Error(`parsing time ${goQuote(text)}: day out of range`);
  return formatTime(new Date(text.replace(",", ".")));
}

function rangeFault(name: string, found: readonly string[]): string | undefined {
  const value = Number.parseInt(found.at(-1) ?? "", 10);
  if (name === "01" && (value < 1 || value > 12)) return "month";
  if (name === "15" && value > 23) return "hour";
  if (name === "04" && value > 59) return "minute";
  return name === "05" && value > 59 ? "second" : undefined;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}
