import { checkBundle } from "../../../pkg/bundlecheck/checkBundle.ts";
import { BUNDLE_RULES } from "../../../pkg/bundlecheck/rules.ts";
import { SEVERITIES, type Severity } from "../../../pkg/bundlecheck/severity.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { Patterns } from "../../../pkg/operatorcontroller/crdupgrade/patternMatcher.ts";
import type { BundleReader } from "../rbac/bundleReader.ts";
import type { CheckedSource } from "./validationReport.ts";

/** Which findings count. */
export interface Selection {
  /** The least severity that is told. */
  readonly severity: Severity;
  /** Rules that are not held against the bundle. */
  readonly ignore: readonly string[];
}

/** Checks one bundle after another. What cannot be read is a finding too. */
export async function checkSources(
  sources: readonly string[],
  selection: Selection,
  reader: Pick<BundleReader, "files">,
): Promise<CheckedSource[]> {
  requireIgnorable(selection.ignore);
  const checked: CheckedSource[] = [];
  for (const source of sources) checked.push(selected(await checkSource(source, reader), selection));
  return checked;
}

async function checkSource(source: string, reader: Pick<BundleReader, "files">): Promise<CheckedSource> {
  try {
    const files = await reader.files(source);
    const patterns = new Patterns();
    checkBundle(files, patterns.matches);
    patterns.answer();
    return { source, ...checkBundle(files, patterns.matches) };
  } catch (err) {
    return { source, name: "", findings: [{ rule: "unreadable", severity: "error", message: messageOf(err) }] };
  }
}

function selected(checked: CheckedSource, { severity: least, ignore }: Selection): CheckedSource {
  const told = SEVERITIES.slice(0, SEVERITIES.indexOf(least) + 1);
  return { ...checked, findings: checked.findings.filter(({ rule, severity }) => told.includes(severity) && !ignore.includes(rule)) };
}

/** @throws Error for a rule that there is not, and for one whose breach keeps a bundle from being installed. */
function requireIgnorable(rules: readonly string[]): void {
  for (const rule of rules) {
    const found = Object.hasOwn(BUNDLE_RULES, rule) ? BUNDLE_RULES[rule] : undefined;
    if (!found) throw new Error(`there is no rule "${rule}"`);
    if (found.severity === "error") throw new Error(`rule "${rule}" cannot be ignored: a bundle that breaks it cannot be installed`);
  }
}
