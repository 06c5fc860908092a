import "./eventList.css";

import type { ReactElement } from "react";
import type { EventRow, EventRows } from "../../../pkg/consoleapi/objects.ts";
import { eventText as t } from "../text/overview.ts";
import { Label } from "./Label.tsx";
import { RelativeTime } from "./RelativeTime.tsx";

/** Events, newest first, or why they cannot be read. */
export function EventList({ events }: { readonly events: EventRows }): ReactElement {
  if (!Array.isArray(events)) {
    return (
      <p className="olm-break">
        {t.failed}: <bdi>{events.error}</bdi>
      </p>
    );
  }
  if (events.length === 0) return <p className="olm-subtle">{t.none}</p>;
  return (
    <ol className="olm-events">
      {events.map((event, i) => (
        <EventItem key={`${event.lastSeen} ${event.reason} ${i}`} event={event} />
      ))}
    </ol>
  );
}

function EventItem({ event: { type, reason, message, count, lastSeen } }: { readonly event: EventRow }): ReactElement {
  return (
    <li>
      <p className="olm-event-head">
        <bdi className="olm-event-reason olm-break">{reason}</bdi>
        {type === "Warning" && (
          <Label isCompact status="warning" isOutlined>
            {t.warning}
          </Label>
        )}
        <span className="olm-subtle">
          <RelativeTime time={lastSeen} />
          {count > 1 && `, ${t.times(count)}`}
        </span>
      </p>
      <p className="olm-break" dir="auto">
        {message}
      </p>
    </li>
  );
}
