import type { EventSink } from "../../api/events.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";

/**
 * Tells that resolution came to another bundle than the last time, once, with the explanation; after a start, than what is installed.
 * That it comes to none, or fails for another reason, is told by condition Progressing and its Event.
 */
export function choiceEvents(events: EventSink, memory: ExtensionMemory): (facts: PassFacts) => void {
  return ({ extension, resolved, considered, pinned }) => {
    if (!considered || pinned) return;
    const remembered = memory.of(extension);
    const { installed } = considered;
    if (resolved?.catalog === undefined) {
      remembered.choice = "";
      return;
    }
    const choice = JSON.stringify([resolved.catalog, resolved.name, resolved.version]);
    const isSameAsInstalled = installed?.name === resolved.name && installed.version === resolved.version;
    const isKnown = remembered.choice === undefined ? isSameAsInstalled : remembered.choice === choice;
    remembered.choice = choice;
    if (!isKnown) events.record(extension, "Normal", "Resolved", resolved.explanation);
  };
}
