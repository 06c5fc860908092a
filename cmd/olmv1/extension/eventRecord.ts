import { CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { type Cell, table } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { ageText } from "./age.ts";

/** The members of core/v1 Event that are shown. */
export interface EventRecord extends KubeObject {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
}

/** The kind of Events. */
export const EVENT_KIND = { apiVersion: "v1", kind: "Event" } as const;

/** Selects the Events about an extension, in whatever namespace they stand. */
export function eventsAbout(name: string): { fieldSelector: string } {
  return { fieldSelector: `involvedObject.kind=${CLUSTER_EXTENSION},involvedObject.name=${name}` };
}

/** The Events about an extension, oldest first. */
export async function eventsOf(client: Pick<Client, "list">, name: string): Promise<{ events: EventRecord[]; resourceVersion: string }> {
  const { items, resourceVersion } = await client.list<EventRecord>(EVENT_KIND, eventsAbout(name));
  return { events: items.toSorted((a, b) => Date.parse(lastSeen(a)) - Date.parse(lastSeen(b))), resourceVersion };
}

/** When it was seen last, RFC 3339. */
export function lastSeen({ lastTimestamp, eventTime, metadata }: EventRecord): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "1970-01-01T00:00:00Z";
}

/** Events as a table. @param now milliseconds since the epoch. */
export function eventsText(terminal: Pick<Terminal, "width" | "colour">, events: readonly EventRecord[], now: number): string {
  const rows = events.map((event): Cell[] => [
    ageText(lastSeen(event), now),
    event.type === "Warning" ? { text: "Warning", mood: "warning" } : (event.type ?? ""),
    event.reason ?? "",
    `${event.message ?? ""}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ""}`,
  ]);
  return table(terminal, ["AGE", "TYPE", "REASON", "MESSAGE"], rows);
}
