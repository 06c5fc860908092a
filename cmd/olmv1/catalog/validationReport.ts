import type { CheckedCatalog } from "../../../pkg/catalogd/load/checkCatalog.ts";
import { printable } from "../../../pkg/errors/printable.ts";
import { compareFindings, findingText, published } from "../../../pkg/fbc/checks/finding.ts";
import { counted } from "../counted.ts";

/**
 * What was found in a catalog, errors first, for programs: an object with opm's members `passed` and `error`, and besides these `counts`, how many
 * `errors` and `warnings` there are, and `findings`: those of catalogd's endpoint, and `rule: unreadable` for files that cannot be read.
 * @see operator-registry cmd/opm/validate
 */
export function reportData(checked: CheckedCatalog): object {
  const { refusal, counts, faults, warnings } = checked;
  const unreadable = faults.map(({ message, place }) => ({
    rule: "unreadable",
    severity: "error",
    message,
    ...(place ? { place: { ...place } } : {}),
  }));
  return {
    passed: refusal === undefined,
    ...(refusal === undefined ? {} : { error: { message: refusal } }),
    errors: checked.errors + faults.length,
    warnings,
    counts,
    findings: [...unreadable, ...checked.findings.toSorted(compareFindings).map(published)],
  };
}

/** The same for people. */
export function textReport({ findings, faults, errors, warnings, counts, refusal }: CheckedCatalog): string {
  const lines = [
    ...faults.map(({ message }) => `error: ${message} [unreadable]`),
    ...findings.toSorted(compareFindings).map((finding) => `${finding.severity}: ${findingText(finding)} [${finding.rule}]`),
  ];
  const more = errors + warnings - findings.length;
  if (more > 0) lines.push(`and ${more} more`);
  const { packages, channels, bundles } = counts;
  const verdict = refusal === undefined ? "the catalog is valid" : "the catalog is not valid";
  const found = `${counted(errors + faults.length, "error")} and ${counted(warnings, "warning")}`;
  const held = `${counted(packages, "package")}, ${counted(channels, "channel")}, ${counted(bundles, "bundle")}`;
  if (faults.length > 0) lines.push("how the objects go together was not looked at, since not all of them could be read");
  return [...lines.map(printable), `${verdict}: ${found} in ${held}`, ""].join("\n");
}
