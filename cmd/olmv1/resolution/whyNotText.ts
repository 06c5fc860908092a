import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { QuestionedBundle, WhyNot } from "../../../pkg/resolve/whyNot.ts";
import { bundleText } from "./resolutionText.ts";

/**
 * Why a version is not what somebody gets, for people: catalog by catalog each rule against it, and what would let it through.
 * @param unjudged what could not be judged.
 */
export function whyNotText(answer: WhyNot, subject: string, unjudged: readonly string[] = []): string {
  const { bundles, gets, because, without, silent } = answer;
  const lines = [
    headLine(answer, subject),
    ...bundles.flatMap(bundleLines),
    ...(answer.verdict === "absent" ? nearestLines(answer) : []),
    ...(without.length > 0 && bundles.length > 0 ? [`not in: ${catalogs(without)}`] : []),
    ...silent.map(({ catalog, because: why }) => `catalog ${catalog} cannot be asked: ${why}`),
    ...(gets ? [`it gets: ${bundleText(gets)}`] : []),
    ...(because === undefined ? [] : [`it gets nothing: ${because}`]),
    ...unjudged.map((text) => `not judged: ${text}`),
  ];
  return `${lines.map((line) => escapeControlCharacters(line.replaceAll("\n", " "))).join("\n")}\n`;
}

function headLine({ verdict, version, without, silent, ...rest }: WhyNot, subject: string): string {
  if (verdict === "chosen") return `${version} is what ${subject} gets`;
  if (verdict === "notChosen") return `${version} is not what ${subject} gets`;
  if (without.length === 0) return `${silent.length > 0 ? "no catalog that has it can be asked" : "no catalog is selected"}: ${version}`;
  return `${version} of package ${rest.package} is not in ${catalogs(without)}`;
}

function bundleLines({ obstacles, ...bundle }: QuestionedBundle): string[] {
  return [
    `${bundleText(bundle)}, priority ${bundle.priority}${obstacles.length === 0 ? ": it is taken" : ":"}`,
    ...obstacles.flatMap(({ rule, text, remedy }) => [`  ${rule}: ${text}`, ...(remedy === "" ? [] : [`    ${remedy}`])]),
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
