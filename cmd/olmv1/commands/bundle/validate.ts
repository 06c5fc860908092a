import { BUNDLE_RULES, type BundleCheckResult, formatBundleFinding } from "../../../../pkg/authoring/bundlecheck/checkBundle.ts";
import { countSeverity, reachesSeverity } from "../../../../pkg/authoring/validate/catalogFinding.ts";
import { type CheckedSource, checkSources } from "../../../../pkg/authoring/validate/checkBundles.ts";
import { SEVERITIES, type Severity } from "../../../../pkg/fbc/validate/rules.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { EXIT } from "../../cli/errors.ts";
import type { FindingOptions } from "../../cli/options.ts";
import { print } from "../../cli/output.ts";
import { createSarifLog, type SarifFinding, toSarifPath } from "../../cli/sarif.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Message of operator-sdk if there are no findings. */
const NOTHING_FOUND = "All validation tests have completed successfully";

/**
 * Returns the findings about bundles as JSON: `passed`, the number of `errors`, `warnings` and `infos`, and `bundles` in the given order. Each bundle
 * has its source, its name if known, and its findings, errors first.
 */
export function buildBundleReport(bundles: readonly CheckedSource[]): object {
  const findings = bundles.flatMap((bundle) => bundle.findings);
  return {
    passed: countSeverity(findings, "error") === 0,
    errors: countSeverity(findings, "error"),
    warnings: countSeverity(findings, "warning"),
    infos: countSeverity(findings, "info"),
    bundles: bundles.map(({ source, name, findings: found }) => ({
      source,
      ...(name === "" ? {} : { name }),
      passed: countSeverity(found, "error") === 0,
      findings: found,
    })),
  };
}

/** Returns the findings of bundles as text. */
export function formatBundleReport(bundles: readonly CheckedSource[]): string {
  return bundles.map((bundle) => formatBundle(bundle, bundles.length > 1)).join("\n");
}

/** Returns whether a finding has at least this severity. */
export function hasFailed(bundles: readonly BundleCheckResult[], least: Severity): boolean {
  return bundles.some(({ findings }) => reachesSeverity(findings, least));
}

/** Converts the findings for SARIF. @param pathOf returns the path of a file in a bundle. */
function sarifFindings(bundles: readonly CheckedSource[], pathOf: (source: string, file: string) => string): SarifFinding[] {
  return bundles.flatMap(({ source, name, findings }) =>
    findings.map(({ rule, severity, message, file, line }) => ({
      rule,
      severity,
      message,
      file: file === undefined ? undefined : pathOf(source, file),
      line,
      subject: name === "" ? source : name,
    })),
  );
}

function formatBundle({ source, findings }: CheckedSource, isOneOfSeveral: boolean): string {
  const head = isOneOfSeveral ? [`${source}:`] : [];
  const [errors, warnings, infos] = SEVERITIES.map((severity) => countSeverity(findings, severity));
  const counts = `${formatCount(errors ?? 0, "error")}, ${formatCount(warnings ?? 0, "warning")} and ${formatCount(infos ?? 0, "note")}`;
  const verdict = findings.length === 0 ? NOTHING_FOUND : `the bundle is ${errors === 0 ? "valid" : "not valid"}: ${counts}`;
  return [...head, ...findings.map(formatBundleFinding), verdict, ""].map(escapeControlCharacters).join("\n");
}

/** Options of `olmv1 bundle validate`. */
export interface BundleValidateOptions extends FindingOptions, ReaderOptions {}

/** Runs `olmv1 bundle validate`. */
export async function validateBundles(terminal: Terminal, sources: readonly string[], options: BundleValidateOptions): Promise<void> {
  const { output, failOn, severity, ignore } = options;
  const checked = await withReader(options, (reader) => checkSources(sources, { severity, ignore }, reader), terminal.signal);
  await print(terminal, output, {
    data: buildBundleReport(checked),
    text: () => formatBundleReport(checked),
    sarif: () =>
      createSarifLog(
        sarifFindings(checked, (source, file) => toSarifPath(source, file, process.cwd())),
        BUNDLE_RULES,
      ),
  });
  if (hasFailed(checked, failOn)) terminal.exit(EXIT.no);
}
