import { goQuote } from "../errors/goQuote.ts";

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,]\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/;
const LAYOUT = '"2006-01-02T15:04:05Z07:00"';

/**
 * An RFC 3339 time in UTC to the second, as metav1.Time prints it: "2024-05-01T10:00:00.5+02:00" gives "2024-05-01T08:00:00Z".
 * @throws Error in Go's words on other text.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Time
 */
export function goTime(text: string): string {
  const parts = RFC3339.exec(text);
  const millis = parts ? Date.parse(text.replace(",", ".")) : Number.NaN;
  if (!parts || Number.isNaN(millis))
    throw new Error(`parsing time ${goQuote(text)} as ${LAYOUT}: cannot parse ${goQuote(text)} as "2006"`);
  const day = Number(parts[3]);
  const daysInMonth = new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate();
  if (day > daysInMonth || Number(parts[4]) > 23)
    throw new Error(`parsing time ${goQuote(text)}: ${day > daysInMonth ? "day" : "hour"} out of range`);
  return new Date(millis).toISOString().replace(/\.\d+Z$/, "Z");
}
