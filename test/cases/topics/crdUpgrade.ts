import { UNHANDLED } from "../../../pkg/crdsafety/compareSchemas.ts";
import { findCrdChanges, formatFindings } from "../../../pkg/crdsafety/crdFindings.ts";
import { hasMembers, type Topic } from "../topic.ts";

/** An upgrade of a CRD, and the error of the Go operator-controller. Absent, null and an empty string mean no error. */
export interface CrdUpgradeCase {
  operator?: string;
  from?: string;
  to?: string;
  /** Name of the CRD. Default: the name in `new`. */
  crd?: string;
  old: unknown;
  new: unknown;
  error: string | null;
}

const MAX_LINES = 8;
const REQUIRED = /(: required: new required fields: \[)(.*)\]$/;

/** Compares findings in any order, because their order in Go is that of maps. */
export const crdUpgradeTopic: Topic<CrdUpgradeCase> = {
  isCase: (value): value is CrdUpgradeCase => hasMembers(value, "old", "new", "error"),
  title: (value) => `${value.operator ?? ""} ${value.from ?? ""} → ${value.to ?? ""} ${getName(value)}`.trim(),
  run(value) {
    const lines = compareCrdUpgrade(value);
    return Promise.resolve(lines.length === 0 ? undefined : { lines: lines.slice(0, MAX_LINES) });
  },
};

/** Returns a line for each missing or unexpected finding; none if they match. */
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

/** Removes the go-cmp output about unhandled changes, which is not compared, and sorts the names of new required fields. */
function comparable(line: string): string {
  const shown = line.indexOf(`${UNHANDLED} (`);
  if (shown >= 0) return line.slice(0, shown + UNHANDLED.length);
  return line.replace(REQUIRED, (_whole, start: string, names: string) => `${start}${names.split(" ").sort().join(" ")}]`);
}

function getName({ crd, new: after }: CrdUpgradeCase): string {
  if (crd !== undefined) return crd;
  return (after as { metadata?: { name?: string } } | null)?.metadata?.name ?? "";
}
