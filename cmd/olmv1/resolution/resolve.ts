import type { Terminal } from "../cli/terminal.ts";
import { printAnswer } from "./answer.ts";
import { resolveJudged } from "./dependencyJudgement.ts";
import { judgedRecord } from "./judgedRecord.ts";
import { nearPackages } from "./nearPackages.ts";
import type { ResolutionOptions } from "./options.ts";
import { type Named, withQuestion } from "./question.ts";
import { resolutionText } from "./resolutionText.ts";

/** How `olmv1 resolve` can be asked. */
export interface ResolveOptions extends ResolutionOptions {
  package?: string;
  extension?: string;
  explain?: boolean;
}

/** `olmv1 resolve`. */
export async function showResolution(terminal: Terminal, name: string | undefined, options: ResolveOptions): Promise<void> {
  await printAnswer(
    terminal,
    () =>
      withQuestion(terminal, namedBy(name, options), options, async (question) => {
        const { request, subject } = question;
        const judged = await resolveJudged(question);
        const record = judgedRecord(request.source.packageName, judged);
        const text = resolutionText(record, subject, options.explain ?? false, terminal.width) + (await nearPackages(question, record));
        return { data: record, text, isYes: judged.resolution.kind === "resolved" };
      }),
    options.output,
  );
}

function namedBy(name: string | undefined, { package: packageName, extension, filename }: ResolveOptions): Named {
  const given = [name, packageName, extension, filename].filter((one) => one !== undefined);
  if (given.length !== 1) throw new Error("name one ClusterExtension or package, or one file with a ClusterExtension");
  return { either: name, package: packageName, extension };
}
