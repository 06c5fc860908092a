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
  involvedObject?: { readonly uid?: string };
}

/** The kind of Events. */
export const EVENT_KIND = { apiVersion: "v1", kind: "Event" } as const;

/** An extension that Events are about; without `uid` any that has, or had, the name. */
export interface EventSubject {
  readonly name: string;
  readonly uid?: string | undefined;
}

/** Selects the Events about an extension, in all namespaces. */
export function eventsAbout({ name, uid }: EventSubject): { fieldSelector: string } {
  const byUid = uid === undefined ? "" : `,involvedObject.uid=${uid}`;
  return { fieldSelector: `involvedObject.kind=${CLUSTER_EXTENSION},involvedObject.name=${name}${byUid}` };
}

/** Lists the Events about one extension, oldest first; without `uid` those about the last one of the name. */
export async function eventsOf(
  client: Pick<Client, "list">,
  subject: EventSubject,
): Promise<{ events: EventRecord[]; resourceVersion: string }> {
  const { items, resourceVersion } = await client.list<EventRecord>(EVENT_KIND, eventsAbout(subject));
  const events = items.toSorted((a, b) => Date.parse(lastSeen(a)) - Date.parse(lastSeen(b)));
  const uid = subject.uid ?? events.at(-1)?.involvedObject?.uid;
  return { events: events.filter(({ involvedObject }) => involvedObject?.uid === uid), resourceVersion };
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
