import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { TerminalError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { conditionText } from "../../resolve/wording.ts";
import type { DependencyChoice } from "../dependencies/dependencyChoice.ts";
import type { DependencyExtensions } from "../dependencies/dependencyExtensions.ts";
import type { ReconcileState } from "../state/reconcileState.ts";
import { type IsOver, WaitingError } from "../state/waiting.ts";
import { isInstalled } from "./check.ts";

/** With policy Install: makes extensions for what the resolved bundle depends on and is not installed, and waits for them. */
export function installDependencies(
  dependencies: Pick<DependencyExtensions, "ensure" | "waitingFor">,
): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "InstallDependencies",
    async run({ extension, resolved, pending, held, pinned }, { signal }) {
      if (!resolved || !pending || held || pinned) return undefined;
      const waiting = await dependencies.ensure(extension, pending.needs, signal);
      const text = conditionText(
        `waiting until what bundle ${goQuote(resolved.name)} depends on is installed: ${waiting.join("; ")}`,
        extension.metadata.name,
      );
      const before = dependencies.waitingFor(pending.needs);
      const isOver: IsOver = async (stopped) => dependencies.waitingFor(pending.needs) !== before || (await pending.isOver(stopped));
      throw new WaitingError(Reason.Retrying, text, { isOver });
    },
  };
}

/**
 * Compares what the bundle's own metadata says it depends on with what is installed and served, before anything of it is written: a catalog need
 * not repeat it. What is installed already stays; with policy Ignore nothing is compared.
 */
export function checkDependencies(choice: Pick<DependencyChoice, "findConflict">): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "CheckDependencies",
    async run(facts) {
      const { extension, resolved, content, held, pinned } = facts;
      if (!resolved || !content || held || pinned || extension.spec.dependencies?.policy === "Ignore") return undefined;
      const { properties, faults } = content.dependencies;
      if (faults.length > 0)
        facts.notes.push(
          `what bundle ${goQuote(resolved.name)} depends on cannot be read, a mistake for its author to correct: ${faults[0]}`,
        );
      if (properties.length === 0 || isInstalled(facts)) return undefined;
      const stated = JSON.parse(resolved.properties ?? "[]") as Property[];
      const found = await choice.findConflict(extension, {
        package: resolved.packageName,
        name: resolved.name,
        properties: [...stated, ...properties],
      });
      if (!found) return undefined;
      const text = `bundle ${goQuote(resolved.name)} is not installed: ${found.text}, as its own metadata says and the catalog does not; a version range can leave it out`;
      const message = conditionText(text, extension.metadata.name);
      const cause = new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver: found.isOver });
      throw new TerminalError(Reason.UnsatisfiedDependencies, message, { cause });
    },
  };
}
