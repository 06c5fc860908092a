import type { Command } from "commander";
import { whyNot } from "../../../pkg/resolve/explanation/whyNot.ts";
import { printAnswer } from "../resolution/answer.ts";
import { resolveJudged } from "../resolution/dependencyJudgement.ts";
import { addResolutionOptions, type ResolutionOptions, SOURCES_HELP } from "../resolution/options.ts";
import { type Named, withQuestion } from "../resolution/question.ts";
import { whyNotText } from "../resolution/whyNotText.ts";

interface WhyNotOptions extends ResolutionOptions {
  extension?: string;
}

const AFTER_HELP = `
PACKAGE VERSION asks as for a new installation, or for an upgrade with --installed; with --extension or --filename it is the extension's question, and
PACKAGE may be left out. The version is one such as 1.2.3, or the name of a bundle. Told are, for each catalog, all rules against it, each with what
would let it through; where there is none, what is preferred to it; and for a version that no catalog has, those next to it.
${SOURCES_HELP}
Exit codes: 0 the version is what the extension or package gets; 1 it is not, and the answer says why; 2 that could not be found out.
`;

/** Adds `olmv1 why-not`: why a version is not what an extension or a package gets. */
export function addWhyNot(program: Command): void {
  const command = program
    .command("why-not")
    .description(
      "tell why a version of a package is not what a ClusterExtension, or a new installation, gets, and what would let it through",
    )
    .usage("[options] [package] <version>")
    .argument("<words...>", "package and version; the package may be left out with --extension and --filename")
    .option("--extension <name>", "ask for this ClusterExtension of the cluster");
  addResolutionOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action((words: string[], options: WhyNotOptions) =>
      printAnswer(async () => {
        const { version, ...named } = questionFrom(words, options);
        return withQuestion(named, options, async (question) => {
          const { resolution, unjudged } = await resolveJudged(question, version);
          const answer = whyNot(question.request.source.packageName, version, resolution);
          return {
            data: unjudged.length > 0 ? { ...answer, unjudged } : answer,
            text: whyNotText(answer, question.subject, unjudged),
            isYes: answer.verdict === "chosen",
          };
        });
      }, options.output),
    );
}

function questionFrom(words: readonly string[], { extension, filename }: WhyNotOptions): Named & { version: string } {
  const isExtensions = extension !== undefined || filename !== undefined;
  const [packageName, version] = words.length === 1 && isExtensions ? [undefined, words[0]] : words;
  if (version === undefined || words.length > 2 || (extension !== undefined && filename !== undefined))
    throw new Error("name a package and a version, or a version and one of --extension and --filename");
  return { version, package: packageName, extension };
}
