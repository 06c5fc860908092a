import { UNHANDLED } from "../../../pkg/crdsafety/compareSchemas.ts";
import { findCrdChanges, formatFindings } from "../../../pkg/crdsafety/crdFindings.ts";
import { hasMembers, type Topic } from "../topic.ts";

/** An upgrade of a CRD, and what the Go operator-controller says against it; an error that is absent, null or empty is none. */
export interface CrdUpgradeCase {
  operator?: string;
  from?: string;
  to?: string;
  /** The CRD's name; by default what `new` says. */
  crd?: string;
  old: unknown;
  new: unknown;
  error: string | null;
}

const MAX_LINES = 8;
const REQUIRED = /(: required: new required fields: \[)(.*)\]$/;

/** The findings count, and not their order: Go's is that of its maps. */
export const crdUpgradeTopic: Topic<CrdUpgradeCase> = {
  isCase: (value): value is CrdUpgradeCase => hasMembers(value, "old", "new", "error"),
  title: (value) => `${value.operator ?? ""} ${value.from ?? ""} → ${value.to ?? ""} ${getName(value)}`.trim(),
  run(value) {
    const lines = compareCrdUpgrade(value);
    return Promise.resolve(lines.length === 0 ? undefined : { lines: lines.slice(0, MAX_LINES) });
  },
};

/** What differs from the expected findings, a line each; nothing when all are there and no others. */
export function compareCrdUpgrade(value: CrdUpgradeCase): string[] {
  const findings = findCrdChanges(value.old, value.new);
  const start = formatFindings(getName(value), []);
  if (value.error && !value.error.startsWith(start)) return [`want error: ${value.error}`, `got  error: ${start}…`];
  const expected = new Set(value.error ? value.error.slice(start.length).split("\n").map(comparable) : []);
  const got = new Set(findings.flatMap(({ text }) => text.split("\n").map(comparable)));
  return [
    ...[...expected].filter((line) => !got.has(line)).map((line) => `missing:    ${line}`),
    ...[...got].filter((line) => !expected.has(line)).map((line) => `unexpected: ${line}`),
  ];
}

/** Go shows an unhandled change in fragments of go-cmp, which are not compared; the names of new required fields come in any order. */
function comparable(line: string): string {
  const shown = line.indexOf(`${UNHANDLED} (`);
  if (shown >= 0) return line.slice(0, shown + UNHANDLED.length);
  return line.replace(REQUIRED, (_whole, start: string, names: string) => `${start}${names.split(" ").sort().join(" ")}]`);
}

function getName({ crd, new: after }: CrdUpgradeCase): string {
  if (crd !== undefined) return crd;
  return (after as { metadata?: { name?: string } } | null)?.metadata?.name ?? "";
}
