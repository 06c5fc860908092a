import { formatDiff } from "./goDiff/formatDiff.ts";
import { DIFFERENCE } from "./goDiff/options.ts";
import { signedLines } from "./goDiff/textTree.ts";
import { diffTree } from "./goDiff/tree.ts";
import type { GoObject } from "./goType.ts";
import { SCHEMA } from "./schemaType.ts";

/** The two sides of one field; the texts as they stood in the lines, before they were made shorter. */
interface Change {
  before?: string;
  after?: string;
  rawBefore?: string;
  rawAfter?: string;
}

const PREFIX = "unhandled changes found";

/** What differs between two schemas, and the same in few words. */
export interface UnhandledChange {
  /** `unhandled changes found (Format "" -> "email"; Title "a" -> "b")`. */
  text: string;
  /** Every line that differs; two changes are the same when these are. */
  lines: string;
}

/**
 * Tells what differs between two nodes by the lines that go-cmp would print for them: those of the form `field: value`, a field at its
 * first place, values that are schemas as `<complex value>`. Lines of another form say nothing.
 */
export function unhandledChange(before: GoObject, after: GoObject): UnhandledChange {
  const lines = signedLines(formatDiff(diffTree({ kind: "pointer", to: SCHEMA }, before, after), DIFFERENCE));
  const changes = new Map<string, Change>();
  for (const line of lines) {
    const fragment = line.slice(1).trim().replace(/,$/, "");
    const colon = fragment.indexOf(":");
    const field = fragment.slice(0, colon).trim();
    if (colon < 0 || field === "") continue;
    const raw = fragment.slice(colon + 1).trim();
    const change = changes.get(field) ?? {};
    changes.set(field, change);
    if (line.startsWith("-")) Object.assign(change, { before: shortened(raw), rawBefore: raw });
    else Object.assign(change, { after: shortened(raw), rawAfter: raw });
  }
  const details = [...changes].flatMap(([field, change]) => described(field, change));
  return { text: details.length === 0 ? PREFIX : `${PREFIX} (${details.join("; ")})`, lines: lines.join("\n") };
}

function described(field: string, { before, after, rawBefore, rawAfter }: Change): string[] {
  if (before === after && rawBefore === rawAfter) return [];
  const changed = before === after ? " (changed)" : "";
  return [`${field} ${before ?? "<empty>"} -> ${after ?? "<empty>"}${changed}`];
}

function shortened(raw: string): string {
  const value = raw.replace(/,$/, "").trim();
  if (value === "") return "<empty>";
  return value.includes("JSONSchemaProps") ? "<complex value>" : value.replaceAll("v1.", "");
}
