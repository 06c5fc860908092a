import type { EventSink } from "../../api/events.ts";
import { bundleFlaws } from "../../bundle/bundleSummary.ts";
import type { Step } from "../../controller/reconcile.ts";
import { goQuote } from "../../golang/quote.ts";
import { lastDeployed } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";

/**
 * Tells what is wrong with a bundle that is installed all the same: its catalog says something else of it, or its author has made a mistake. A note
 * for as long as it is installed, and an Event once.
 */
export function checkBundle(events: EventSink, memory: ExtensionMemory): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "CheckBundle",
    run(facts) {
      const { extension, resolved, content, history } = facts;
      if (!resolved || facts.held || facts.pinned) return Promise.resolve(undefined);
      const flaws = content ? bundleFlaws(content, resolved) : (lastDeployed(history.current)?.flaws ?? []);
      facts.flaws = flaws;
      const remembered = memory.of(extension);
      if (flaws.length === 0) {
        delete remembered.flawed;
        return Promise.resolve(undefined);
      }
      const warning = `bundle ${goQuote(resolved.name)} has mistakes for its author to correct: ${flaws.join(", and ")}`;
      facts.notes.push(warning);
      if (remembered.flawed !== warning) events.record(extension, "Warning", "FlawedBundle", warning);
      remembered.flawed = warning;
      return Promise.resolve(undefined);
    },
  };
}
