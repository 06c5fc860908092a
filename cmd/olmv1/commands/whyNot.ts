import { resolveWithDependencies } from "../../../pkg/preview/resolveWithDependencies.ts";
import { type QuestionedBundle, type WhyNot, whyNot } from "../../../pkg/resolve/whyNot.ts";
import { oneLine } from "../../../pkg/text/escape.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { type Named, withQuestion } from "./resolutionQuestion.ts";
import { bundleText, printAnswer } from "./resolve.ts";

/**
 * Why a version is not what somebody gets, for people: catalog by catalog each rule against it, and what would let it through.
 * @param unjudged what could not be judged.
 */
function whyNotText(answer: WhyNot, subject: string, unjudged: readonly string[] = []): string {
  const { bundles, gets, because, without, silent } = answer;
  const lines = [
    headLine(answer, subject),
    ...bundles.flatMap(bundleLines),
    ...(answer.verdict === "absent" ? nearestLines(answer) : []),
    ...(without.length > 0 && bundles.length > 0 ? [`not in: ${catalogs(without)}`] : []),
    ...silent.map(({ catalog, because: why }) => `catalog ${catalog} cannot be asked: ${why}`),
    ...(gets ? [`it gets: ${bundleText(gets)}`] : []),
    ...(because === undefined ? [] : [`it gets nothing: ${because}`]),
    ...unjudged.map((text) => `not checked: ${text}`),
  ];
  return `${lines.map(oneLine).join("\n")}\n`;
}

function headLine({ verdict, version, without, silent, ...rest }: WhyNot, subject: string): string {
  if (verdict === "chosen") return `${version} is what ${subject} gets`;
  if (verdict === "notChosen") return `${version} is not what ${subject} gets`;
  if (without.length === 0) return `${silent.length > 0 ? "no catalog that has it can be asked" : "no catalog is selected"}: ${version}`;
  return `${version} of package ${rest.package} is not in ${catalogs(without)}`;
}

function bundleLines({ exclusions, ...bundle }: QuestionedBundle): string[] {
  return [
    `${bundleText(bundle)}, priority ${bundle.priority}${exclusions.length === 0 ? ": it is taken" : ":"}`,
    ...exclusions.flatMap(({ rule, text, remedy }) => [`  ${rule}: ${text}`, ...(remedy === "" ? [] : [`    ${remedy}`])]),
  ];
}

function nearestLines({ nearest: { lower, higher, highest } }: WhyNot): string[] {
  return [
    ...(lower ? [`next lower: ${bundleText(lower)}`] : []),
    ...(higher ? [`next higher: ${bundleText(higher)}`] : []),
    ...(highest && highest.bundle !== lower?.bundle ? [`highest: ${bundleText(highest)}`] : []),
  ];
}

function catalogs(names: readonly string[]): string {
  return `${names.length === 1 ? "catalog" : "catalogs"} ${names.join(", ")}`;
}

/** How `olmv1 why-not` can be asked. */
export interface WhyNotOptions extends ResolutionOptions {
  extension?: string;
}

/** `olmv1 why-not`. */
export async function showWhyNot(terminal: Terminal, words: readonly string[], options: WhyNotOptions): Promise<void> {
  const find = async (): Promise<{ data: unknown; text: string; isYes: boolean }> => {
    const { version, ...named } = questionFrom(words, options);
    return withQuestion(terminal, named, options, async (question) => {
      const { resolution, unjudged } = await resolveWithDependencies(question, version);
      const answer = whyNot(question.request.source.packageName, version, resolution);
      return {
        data: unjudged.length > 0 ? { ...answer, unjudged } : answer,
        text: whyNotText(answer, question.subject, unjudged),
        isYes: answer.verdict === "chosen",
      };
    });
  };
  await printAnswer(terminal, find, options.output);
}

function questionFrom(words: readonly string[], { extension, filename }: WhyNotOptions): Named & { version: string } {
  const isExtensions = extension !== undefined || filename !== undefined;
  const [packageName, version] = words.length === 1 && isExtensions ? [undefined, words[0]] : words;
  if (version === undefined || words.length > 2 || (extension !== undefined && filename !== undefined))
    throw new Error("name a package and a version, or a version and one of --extension and --filename");
  return { version, package: packageName, extension };
}
