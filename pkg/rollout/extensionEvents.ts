import { CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { buildExtensionRef } from "./extensions.ts";

/** The fields of core/v1 Event that users see. */
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

/** Kind of core/v1 Events. */
export const EVENT_KIND = { apiVersion: "v1", kind: "Event" } as const;

/** The extension that Events are about; without `uid`, any extension that has or had the name. */
export interface EventSubject {
  readonly name: string;
  readonly uid?: string | undefined;
}

/** Returns a selector for the Events of an extension, in all namespaces. */
export function buildEventSelector({ name, uid }: EventSubject): { fieldSelector: string } {
  const byUid = uid === undefined ? "" : `,involvedObject.uid=${uid}`;
  return { fieldSelector: `involvedObject.kind=${CLUSTER_EXTENSION},involvedObject.name=${name}${byUid}` };
}

/** Lists the Events of an extension, oldest first; without `uid`, the Events of the last extension with the name. */
export async function readEvents(
  client: Pick<Client, "list">,
  subject: EventSubject,
): Promise<{ events: EventRecord[]; resourceVersion: string }> {
  const { items, resourceVersion } = await client.list<EventRecord>(EVENT_KIND, buildEventSelector(subject));
  const sorted = items.toSorted((a, b) => Date.parse(getLastSeen(a)) - Date.parse(getLastSeen(b)));
  const uid = subject.uid ?? sorted.at(-1)?.involvedObject?.uid;
  return { events: sorted.filter(({ involvedObject }) => involvedObject?.uid === uid), resourceVersion };
}

/** Returns the time of the last occurrence, in RFC 3339 format. */
export function getLastSeen({ lastTimestamp, eventTime, metadata }: EventRecord): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "1970-01-01T00:00:00Z";
}

/** Returns the extension with the name, or only the name if the extension does not exist or the user may not read it. */
export async function findEventSubject(client: Pick<Client, "get">, name: string): Promise<EventSubject> {
  try {
    return (await client.get(buildExtensionRef(name), { metadataOnly: true }))?.metadata ?? { name };
  } catch (err) {
    if (isForbidden(err)) return { name };
    throw err;
  }
}

/** Returns the last Event that reports drift; undefined if no Event does. @param events oldest first */
export function findLastDrift(events: readonly EventRecord[]): EventRecord | undefined {
  return events.findLast(({ reason }) => reason === "Drifted" || reason === "DriftCorrected");
}

/** Maximum number of Events of an object that are read. */
const OBJECT_EVENTS_MAX = 500;

/** Lists the Events of an object, oldest first. Events of objects without a namespace are in namespace default. */
export async function readObjectEvents(
  client: Pick<Client, "list">,
  { metadata: { uid, namespace = "default" } }: Pick<KubeObject, "metadata">,
): Promise<EventRecord[]> {
  if (uid === undefined) return [];
  const selection = { namespace, fieldSelector: `involvedObject.uid=${uid}`, maxItems: OBJECT_EVENTS_MAX };
  const { items } = await client.list<EventRecord>(EVENT_KIND, selection);
  return items.toSorted((a, b) => Date.parse(getLastSeen(a)) - Date.parse(getLastSeen(b)));
}
