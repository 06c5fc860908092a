import { Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import { TerminalError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { truncateForCondition } from "../../resolve/wording.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";
import { isInstalled, keepsEarlierRelease, type ReconcileStep, type Unpacked } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** With policy Install: creates extensions for missing dependencies of the resolved bundle, and waits for them. */
export function installDependencies({ created }: Pick<Services, "created">): ReconcileStep<Unpacked> {
  return {
    name: "InstallDependencies",
    async run(phase, { signal }) {
      const { extension, bundle, pending } = phase;
      if (!pending || keepsEarlierRelease(phase)) return phase;
      const waiting = await created.ensure(extension, pending.needs, signal);
      const text = truncateForCondition(
        `waiting for the dependencies of bundle ${goQuote(bundle.name)}: ${waiting.join("; ")}`,
        extension.metadata.name,
      );
      const before = created.waitingFor(pending.needs);
      const isOver: UnblockCheck = async (stopped) => created.waitingFor(pending.needs) !== before || (await pending.isOver(stopped));
      const details = waiting.map((message) => ({ message }));
      throw new WaitingError(Reason.Retrying, text, {
        isOver,
        problems: [newProblem("DependenciesInstalling", { message: text, details })],
      });
    },
  };
}

/**
 * Compares the dependencies in the bundle's own metadata with the installed bundles and served APIs before anything is
 * written, because a catalog may omit them. Skips the installed bundle, and all bundles with policy Ignore.
 */
export function checkDependencies({ choice }: Pick<Services, "choice">): ReconcileStep<Unpacked> {
  return {
    name: "CheckDependencies",
    async run(phase) {
      const { extension, bundle, content, report } = phase;
      if (!content || keepsEarlierRelease(phase) || extension.spec.dependencies?.policy === "Ignore") return phase;
      const { properties, faults } = content.dependencies;
      if (faults.length > 0)
        report.problems.push(
          newProblem("BundleWarning", {
            message: `bundle ${goQuote(bundle.name)} has malformed dependencies that its author must fix: ${faults[0]}`,
          }),
        );
      if (properties.length === 0 || isInstalled(phase)) return phase;
      const stated = JSON.parse(bundle.properties ?? "[]") as Property[];
      const found = await choice.findConflict(extension, {
        package: bundle.packageName,
        name: bundle.name,
        properties: [...stated, ...properties],
      });
      if (!found) return phase;
      const text = `bundle ${goQuote(bundle.name)} is not installed: ${found.text} (according to its own metadata, not the catalog); exclude the version with spec.source.catalog.version`;
      const message = truncateForCondition(text, extension.metadata.name);
      const cause = new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver: found.isOver });
      throw new TerminalError(Reason.UnsatisfiedDependencies, message, { cause });
    },
  };
}
