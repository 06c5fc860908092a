import { Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import { TerminalError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { conditionText } from "../../resolve/wording.ts";
import { isInstalled, keepsEarlierRelease, type ReconcileStep, type Unpacked } from "../state/phases.ts";
import { type IsOver, WaitingError } from "../state/waiting.ts";
import type { Services } from "./services.ts";

/** With policy Install: makes extensions for what the resolved bundle depends on and is not installed, and waits for them. */
export function installDependencies({ created }: Pick<Services, "created">): ReconcileStep<Unpacked> {
  return {
    name: "InstallDependencies",
    async run(phase, { signal }) {
      const { extension, bundle, pending } = phase;
      if (!pending || keepsEarlierRelease(phase)) return phase;
      const waiting = await created.ensure(extension, pending.needs, signal);
      const text = conditionText(
        `waiting until what bundle ${goQuote(bundle.name)} depends on is installed: ${waiting.join("; ")}`,
        extension.metadata.name,
      );
      const before = created.waitingFor(pending.needs);
      const isOver: IsOver = async (stopped) => created.waitingFor(pending.needs) !== before || (await pending.isOver(stopped));
      const details = waiting.map((message) => ({ message }));
      throw new WaitingError(Reason.Retrying, text, {
        isOver,
        problems: [newProblem("DependenciesInstalling", { message: text, details })],
      });
    },
  };
}

/**
 * Compares what the bundle's own metadata says it depends on with what is installed and served, before anything of it is written: a catalog need
 * not repeat it. What is installed already stays; with policy Ignore nothing is compared.
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
            message: `the dependencies of bundle ${goQuote(bundle.name)} are malformed, a mistake for its author to correct: ${faults[0]}`,
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
      const text = `bundle ${goQuote(bundle.name)} is not installed: ${found.text}, as its own metadata says and the catalog does not; a version range can leave it out`;
      const message = conditionText(text, extension.metadata.name);
      const cause = new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver: found.isOver });
      throw new TerminalError(Reason.UnsatisfiedDependencies, message, { cause });
    },
  };
}
