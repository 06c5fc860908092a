import { CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { formatAge } from "../../../pkg/golang/time.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isExpired, isForbidden } from "../../../pkg/kube/errors.ts";
import { buildExtensionRef, readExtension } from "../../../pkg/rollout/extensions.ts";
import { withCluster } from "../cli/cluster.ts";
import type { ClusterOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, formatTable } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** The fields of core/v1 Event that the command prints. */
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

const EVENT_KIND = { apiVersion: "v1", kind: "Event" } as const;

/** The extension that Events are about; without `uid`, any extension that has or had the name. */
interface EventSubject {
  readonly name: string;
  readonly uid?: string | undefined;
}

/** Returns a selector for the Events of an extension, in all namespaces. */
function eventsAbout({ name, uid }: EventSubject): { fieldSelector: string } {
  const byUid = uid === undefined ? "" : `,involvedObject.uid=${uid}`;
  return { fieldSelector: `involvedObject.kind=${CLUSTER_EXTENSION},involvedObject.name=${name}${byUid}` };
}

/** Lists the Events of an extension, oldest first; without `uid`, the Events of the last extension with the name. */
export async function readEvents(
  client: Pick<Client, "list">,
  subject: EventSubject,
): Promise<{ events: EventRecord[]; resourceVersion: string }> {
  const { items, resourceVersion } = await client.list<EventRecord>(EVENT_KIND, eventsAbout(subject));
  const runEvents = items.toSorted((a, b) => Date.parse(lastSeen(a)) - Date.parse(lastSeen(b)));
  const uid = subject.uid ?? runEvents.at(-1)?.involvedObject?.uid;
  return { events: runEvents.filter(({ involvedObject }) => involvedObject?.uid === uid), resourceVersion };
}

/** Returns the time of the last occurrence, in RFC 3339 format. */
function lastSeen({ lastTimestamp, eventTime, metadata }: EventRecord): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "1970-01-01T00:00:00Z";
}

/** Formats Events as a table. @param now milliseconds since the epoch. */
export function formatEvents(terminal: Pick<Terminal, "width" | "colour">, runEvents: readonly EventRecord[], now: number): string {
  const rows = runEvents.map((event): Cell[] => [
    formatAge(lastSeen(event), now),
    event.type === "Warning" ? { text: "Warning", mood: "warning" } : (event.type ?? ""),
    event.reason ?? "",
    `${event.message ?? ""}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ""}`,
  ]);
  return formatTable(terminal, ["AGE", "TYPE", "REASON", "MESSAGE"], rows);
}

/** Options of `olmv1 events`. */
export interface EventsOptions extends ClusterOptions {
  watch?: boolean;
  output: Output;
}

/** Runs `olmv1 events`. */
export async function runEvents(terminal: Terminal, name: string, { watch = false, output, ...options }: EventsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const subject = await findSubject(client, name);
    const { events: found, resourceVersion } = await readEvents(client, subject);
    // Events outlive their extension: the Events of a deleted extension show the result of its uninstall.
    if (found.length === 0 && !watch) {
      await readExtension(client, name);
      terminal.err(`no Events of ClusterExtension ${name}: by default, the API server keeps Events for one hour\n`);
    }
    const text = (): string => (found.length === 0 ? "" : formatEvents(terminal, found, Date.now()));
    await print(terminal, output, { data: { apiVersion: "v1", kind: "List", items: found }, text });
    if (watch) await follow(terminal, client, subject, resourceVersion);
  });
}

/** Returns the extension with the name, or only the name if the extension does not exist or the user may not read it. */
async function findSubject(client: Client, name: string): Promise<EventSubject> {
  try {
    return (await client.get(buildExtensionRef(name), { metadataOnly: true }))?.metadata ?? { name };
  } catch (err) {
    if (isForbidden(err)) return { name };
    throw err;
  }
}

async function follow(terminal: Terminal, client: Client, subject: EventSubject, from: string): Promise<void> {
  const { signal } = terminal;
  let resourceVersion = from;
  while (!signal.aborted) {
    try {
      for await (const { type, object } of client.watch<EventRecord>(EVENT_KIND, { ...eventsAbout(subject), resourceVersion, signal })) {
        resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
        if (type === "BOOKMARK" || type === "DELETED") continue;
        const [, line = ""] = formatEvents(terminal, [object], Date.now()).split("\n");
        terminal.out(`${line}\n`);
      }
    } catch (err) {
      if (signal.aborted) return;
      if (!isExpired(err)) throw err;
      ({ resourceVersion } = await readEvents(client, subject));
    }
  }
}
