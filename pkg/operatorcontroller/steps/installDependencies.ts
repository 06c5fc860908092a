import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { goQuote } from "../../golang/quote.ts";
import { conditionText } from "../../resolve/wording.ts";
import type { DependencyExtensions } from "../dependencies/dependencyExtensions.ts";
import type { PassFacts } from "../facts.ts";
import { type IsOver, WaitingError } from "../waiting.ts";

/** With policy Install: makes extensions for what the resolved bundle depends on and is not installed, and waits for them. */
export function installDependencies(
  dependencies: Pick<DependencyExtensions, "ensure" | "waitingFor">,
): Step<PassFacts["extension"], PassFacts> {
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
