import { answerWhyNot, type CheckedWhyNot } from "../../../pkg/preview/resolutionAnswers.ts";
import type { Named } from "../../../pkg/preview/resolutionSubject.ts";
import { type ExplainedBundle, parseRequestedVersion, type WhyNot } from "../../../pkg/resolve/whyNot.ts";
import { toOneLine } from "../../../pkg/text/escape.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withResolutionSubject } from "./resolutionSubject.ts";
import { formatBundle, printCommandResult } from "./resolve.ts";

/**
 * Formats why a version is not selected: for each catalog, every rule that excludes the version, and how to allow it.
 * @param subject the extension or package, such as "ClusterExtension hello".
 */
function formatWhyNot(answer: CheckedWhyNot, subject: string): string {
  const { bundles, gets, because, without, silent, unjudged = [] } = answer;
  const lines = [
    headLine(answer, subject),
    ...bundles.flatMap(bundleLines),
    ...(answer.verdict === "absent" ? nearestLines(answer) : []),
    ...(without.length > 0 && bundles.length > 0 ? [`not in: ${formatCatalogs(without)}`] : []),
    ...silent.map(({ catalog, because: why }) => `catalog ${catalog} is unavailable: ${why}`),
    ...(gets && answer.verdict !== "chosen" ? [`selected: ${formatBundle(gets)}`] : []),
    ...(because === undefined ? [] : [`no bundle is selected: ${because}`]),
    ...unjudged.map((text) => `not checked: ${text}`),
  ];
  return `${lines.map(toOneLine).join("\n")}\n`;
}

function headLine({ verdict, version, without, silent, package: packageName }: WhyNot, subject: string): string {
  const what = subject === `package ${packageName}` ? `${version} of ${subject}` : `${version} of package ${packageName}`;
  const forWhom = subject === `package ${packageName}` ? "" : ` for ${subject}`;
  if (verdict === "chosen") return `${what} is selected${forWhom}`;
  if (verdict === "notChosen") return `${what} is not selected${forWhom}`;
  if (without.length > 0) return `${what} is not in ${formatCatalogs(without)}`;
  return `${what} is not selected${forWhom}: ${silent.length > 0 ? "the selected catalogs are unavailable" : "no catalog is selected"}`;
}

function bundleLines({ exclusions, ...bundle }: ExplainedBundle): string[] {
  return [
    `${formatBundle(bundle)}, priority ${bundle.priority}${exclusions.length === 0 ? ": selected" : ":"}`,
    ...exclusions.flatMap(({ rule, text, remedy }) => [`  ${rule}: ${text}`, ...(remedy === "" ? [] : [`    ${remedy}`])]),
  ];
}

function nearestLines({ nearest: { lower, higher, highest } }: WhyNot): string[] {
  return [
    ...(lower ? [`next lower: ${formatBundle(lower)}`] : []),
    ...(higher ? [`next higher: ${formatBundle(higher)}`] : []),
    ...(highest && highest.bundle !== lower?.bundle ? [`highest: ${formatBundle(highest)}`] : []),
  ];
}

function formatCatalogs(names: readonly string[]): string {
  return `${names.length === 1 ? "catalog" : "catalogs"} ${names.join(", ")}`;
}

/** Options of `olmv1 why-not`. */
export interface WhyNotOptions extends ResolutionOptions {
  extension?: string;
  all?: boolean;
}

/** Runs `olmv1 why-not`. */
export async function showWhyNot(terminal: Terminal, words: readonly string[], options: WhyNotOptions): Promise<void> {
  const find = async (): Promise<{ data: unknown; text: string; isYes: boolean }> => {
    const { version, ...named } = parseWords(words, options);
    return withResolutionSubject(terminal, named, options, async (question) => {
      const answer = await answerWhyNot({ ...question, explainsAll: options.all ?? false }, version);
      return { data: answer, text: formatWhyNot(answer, question.subject), isYes: answer.verdict === "chosen" };
    });
  };
  await printCommandResult(terminal, find, options.output);
}

/**
 * Parses the arguments: a version or bundle name, and the name of an extension or package unless an option names the extension. If only one of
 * two words is a version, they may be in either order.
 */
export function parseWords(words: readonly string[], { extension, filename }: WhyNotOptions): Named & { version: string } {
  const isNamed = extension !== undefined || filename !== undefined;
  if (extension !== undefined && filename !== undefined) throw new Error("use only one of --extension and --filename");
  const [first, second] = words;
  if (first === undefined || words.length > 2 || (second === undefined && !isNamed))
    throw new Error("specify an extension or package, and a version; the name is optional with --extension or --filename");
  if (second === undefined) return { version: first, extension };
  const [name, version] = isVersion(first) && !isVersion(second) ? [second, first] : [first, second];
  return isNamed ? { version, package: name, extension } : { version, either: name };
}

function isVersion(word: string): boolean {
  return parseRequestedVersion(word) !== undefined;
}
