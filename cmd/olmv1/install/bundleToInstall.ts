import type { Resolved } from "../../../pkg/resolve/resolution.ts";
import type { Terminal } from "../cli/terminal.ts";
import { resolveJudged } from "../resolution/dependencyJudgement.ts";
import { judgedRecord } from "../resolution/judgedRecord.ts";
import { nearPackages } from "../resolution/nearPackages.ts";
import type { ResolutionOptions } from "../resolution/options.ts";
import { type Named, withQuestion } from "../resolution/question.ts";
import { resolutionText } from "../resolution/resolutionText.ts";

/** What a resolution comes to, and what `olmv1 resolve` would print of it. */
export interface BundleFound {
  /** Undefined where no bundle fits. */
  readonly resolved: Resolved | undefined;
  readonly text: string;
}

/** Resolves as operator-controller does, with the catalogs of the cluster. */
export async function bundleToInstall(
  terminal: Terminal,
  named: Named,
  options: Omit<ResolutionOptions, "catalogDir" | "installedPackage">,
): Promise<BundleFound> {
  return withQuestion(terminal, named, { ...options, catalogDir: [], installedPackage: [] }, async (question) => {
    const judged = await resolveJudged(question);
    const record = judgedRecord(question.request.source.packageName, judged);
    const text = resolutionText(record, question.subject, false, terminal.width) + (await nearPackages(question, record));
    return { resolved: judged.resolution.kind === "resolved" ? judged.resolution : undefined, text };
  });
}
