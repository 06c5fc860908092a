const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = String.raw`(?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2})`;
const FORMATS = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) ${TIME} (?:GMT|UTC)$`),
  new RegExp(String.raw`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/** Seconds since the epoch of a date in a header, in the three forms of RFC 9110 (RFC 1123, RFC 850, asctime); undefined for any other text. */
export function parseHttpDate(text: string): number | undefined {
  for (const format of FORMATS) {
    const groups = format.exec(text.trim())?.groups;
    if (!groups) continue;
    const month = MONTHS.indexOf(groups["month"] ?? "");
    const year = Number(groups["year"]);
    const fullYear = year >= 100 ? year : year + (year >= 69 ? 1900 : 2000);
    const parts = [month, Number(groups["day"]), Number(groups["h"]), Number(groups["m"]), Number(groups["s"])] as const;
    const date = new Date(Date.UTC(fullYear, ...parts));
    const same = [date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()];
    return month >= 0 && same.every((part, i) => part === parts[i]) ? date.getTime() / 1_000 : undefined;
  }
  return undefined;
}

/** A date as HTTP headers have it. */
export function httpDate(seconds: number): string {
  return new Date(seconds * 1_000).toUTCString();
}
