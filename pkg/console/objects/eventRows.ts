import type { EventRow, EventRows } from "../../consoleapi/objects.ts";
import { type EventRecord, getLastSeen } from "../../rollout/extensionEvents.ts";
import { truncate } from "../../text/truncate.ts";

const MAX_EVENTS = 100;
const MAX_MESSAGE = 2_000;
const MAX_WORD = 200;

/** Returns the newest Events, newest first, or why they cannot be read. @param events oldest first */
export function toEventRows(events: readonly EventRecord[] | string): EventRows {
  if (typeof events === "string") return { error: truncate(events, MAX_MESSAGE) };
  return events.slice(-MAX_EVENTS).toReversed().map(toEventRow);
}

function toEventRow(event: EventRecord): EventRow {
  const { type = "", reason = "", message = "", count } = event;
  return {
    type: truncate(type, MAX_WORD),
    reason: truncate(reason, MAX_WORD),
    message: truncate(message, MAX_MESSAGE),
    count: typeof count === "number" ? count : 1,
    lastSeen: getLastSeen(event),
  };
}
