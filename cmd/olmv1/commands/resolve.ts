import type { Command } from "commander";
import { printAnswer } from "../resolution/answer.ts";
import { resolveJudged } from "../resolution/dependencyJudgement.ts";
import { judgedRecord } from "../resolution/judgedRecord.ts";
import { addResolutionOptions, type ResolutionOptions, SOURCES_HELP } from "../resolution/options.ts";
import { type Named, withQuestion } from "../resolution/question.ts";
import { resolutionText } from "../resolution/resolutionText.ts";

interface ResolveOptions extends ResolutionOptions {
  package?: string;
  extension?: string;
  explain?: boolean;
}

const AFTER_HELP = `
A name is that of a ClusterExtension where there is one, else that of a package, which is resolved as for a new installation. Options take the place
of what the extension says. Nothing is written. As JSON and YAML the answer is the whole record, as /debug/resolution/NAME of operator-controller has it.
${SOURCES_HELP}
Exit codes: 0 a bundle would be chosen; 1 none would; 2 that could not be found out.
`;

/** Adds `olmv1 resolve`: which bundle an extension or a package comes to, and why. */
export function addResolve(program: Command): void {
  const command = program
    .command("resolve")
    .description("show which bundle a ClusterExtension or a package would come to, and why that one")
    .argument("[name]", "ClusterExtension or package")
    .option("--package <name>", "a package, also where a ClusterExtension has the same name")
    .option("--extension <name>", "a ClusterExtension of the cluster, also with --catalog-dir")
    .option("--explain", "show how many candidates each filter left in each catalog, what it removed, and what came next");
  addResolutionOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action((name: string | undefined, options: ResolveOptions) =>
      printAnswer(
        () =>
          withQuestion(namedBy(name, options), options, async (question) => {
            const { request, subject } = question;
            const judged = await resolveJudged(question);
            const record = judgedRecord(request.source.packageName, judged);
            const text = resolutionText(record, subject, options.explain ?? false);
            return { data: record, text, isYes: judged.resolution.kind === "resolved" };
          }),
        options.output,
      ),
    );
}

function namedBy(name: string | undefined, { package: packageName, extension, filename }: ResolveOptions): Named {
  const given = [name, packageName, extension, filename].filter((one) => one !== undefined);
  if (given.length !== 1) throw new Error("name one ClusterExtension or package, or one file with a ClusterExtension");
  return { either: name, package: packageName, extension };
}
