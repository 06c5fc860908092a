import { whyNot } from "../../../pkg/resolve/whyNot.ts";
import type { Terminal } from "../cli/terminal.ts";
import { printAnswer } from "./answer.ts";
import { resolveJudged } from "./dependencyJudgement.ts";
import type { ResolutionOptions } from "./options.ts";
import { type Named, withQuestion } from "./question.ts";
import { whyNotText } from "./whyNotText.ts";

/** How `olmv1 why-not` can be asked. */
export interface WhyNotOptions extends ResolutionOptions {
  extension?: string;
}

/** `olmv1 why-not`. */
export async function showWhyNot(terminal: Terminal, words: readonly string[], options: WhyNotOptions): Promise<void> {
  const find = async (): Promise<{ data: unknown; text: string; isYes: boolean }> => {
    const { version, ...named } = questionFrom(words, options);
    return withQuestion(terminal, named, options, async (question) => {
      const { resolution, unjudged } = await resolveJudged(question, version);
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
