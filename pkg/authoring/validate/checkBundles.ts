import { getErrorMessage } from "../../errors/errors.ts";
import { PatternEvaluator } from "../../operatorcontroller/crds/patternEvaluator.ts";
import type { BundleReader } from "../../sources/bundleReader.ts";
import { BUNDLE_RULES, type BundleCheckResult, checkBundleFiles } from "../bundlecheck/checkBundle.ts";
import { type FindingSelection, requireIgnorable, selectFindings } from "./catalogFinding.ts";

/** A checked bundle and its source. */
export interface CheckedSource extends BundleCheckResult {
  readonly source: string;
}

/** Checks bundles in order. Reports a bundle that cannot be read as a finding. */
export async function checkSources(
  sources: readonly string[],
  selection: FindingSelection,
  reader: Pick<BundleReader, "files">,
): Promise<CheckedSource[]> {
  requireIgnorable(selection.ignore, BUNDLE_RULES, "bundles that break this rule cannot be installed");
  const checked: CheckedSource[] = [];
  for (const source of sources) {
    const found = await checkSource(source, reader);
    checked.push({ ...found, findings: selectFindings(found.findings, selection) });
  }
  return checked;
}

async function checkSource(source: string, reader: Pick<BundleReader, "files">): Promise<CheckedSource> {
  try {
    const files = await reader.files(source);
    const patterns = new PatternEvaluator();
    checkBundleFiles(files, patterns.matches);
    patterns.evaluate();
    return { source, ...checkBundleFiles(files, patterns.matches) };
  } catch (err) {
    return { source, name: "", findings: [{ rule: "unreadable", severity: "error", message: getErrorMessage(err) }] };
  }
}
