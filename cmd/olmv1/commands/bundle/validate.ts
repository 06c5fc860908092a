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

/** What operator-sdk says where there is nothing to tell. */
const NOTHING_FOUND = "All validation tests have completed successfully";

/**
 * What was found in bundles, errors first, for programs: an object with `passed`, how many `errors`, `warnings` and `infos` there are, and `bundles`, in
 * the order given, each with its source, its name where it has one, and its findings.
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

/** The same for people. */
export function formatBundleReport(bundles: readonly CheckedSource[]): string {
  return bundles.map((bundle) => textOf(bundle, bundles.length > 1)).join("\n");
}

/** Whether something at least that bad was found. */
export function fails(bundles: readonly BundleCheckResult[], least: Severity): boolean {
  return bundles.some(({ findings }) => reachesSeverity(findings, least));
}

/** The same as SARIF has it. @param pathOf where a file of a bundle is, for whoever reads it. */
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

function textOf({ source, findings }: CheckedSource, isOneOfSeveral: boolean): string {
  const head = isOneOfSeveral ? [`${source}:`] : [];
  const [errors, warnings, infos] = SEVERITIES.map((severity) => countSeverity(findings, severity));
  const counts = `${formatCount(errors ?? 0, "error")}, ${formatCount(warnings ?? 0, "warning")} and ${formatCount(infos ?? 0, "remark")}`;
  const verdict = findings.length === 0 ? NOTHING_FOUND : `the bundle is ${errors === 0 ? "valid" : "not valid"}: ${counts}`;
  return [...head, ...findings.map(formatBundleFinding), verdict, ""].map(escapeControlCharacters).join("\n");
}

/** How `olmv1 bundle validate` can be asked. */
export interface BundleValidateOptions extends FindingOptions, ReaderOptions {}

/** `olmv1 bundle validate`. */
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
  if (fails(checked, failOn)) terminal.exit(EXIT.no);
}
