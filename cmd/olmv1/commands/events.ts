import { formatAge } from "../../../pkg/golang/time.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isExpired } from "../../../pkg/kube/errors.ts";
import {
  buildEventSelector,
  EVENT_KIND,
  type EventRecord,
  type EventSubject,
  findEventSubject,
  getLastSeen,
  readEvents,
} from "../../../pkg/rollout/extensionEvents.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { withCluster } from "../cli/cluster.ts";
import type { ClusterOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, formatTable } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Formats Events as a table. @param now milliseconds since the epoch. */
export function formatEvents(terminal: Pick<Terminal, "width" | "colour">, runEvents: readonly EventRecord[], now: number): string {
  const rows = runEvents.map((event): Cell[] => [
    formatAge(getLastSeen(event), now),
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
    const subject = await findEventSubject(client, name);
    const { events: found, resourceVersion } = await readEvents(client, subject);
    // Events outlive their extension: the Events of a deleted extension show the result of its uninstall.
    if (found.length === 0 && !watch) {
      await readExtension(client, name);
      terminal.err(`no Events of ClusterExtension ${name}: by default, the API server keeps Events for one hour\n`);
    }
    if (watch && output !== "text") for (const event of found) await printEvent(terminal, output, event);
    else {
      const text = (): string => (found.length === 0 ? "" : formatEvents(terminal, found, Date.now()));
      await print(terminal, output, { data: { apiVersion: "v1", kind: "List", items: found }, text });
    }
    if (watch) await follow(terminal, client, { subject, from: resourceVersion, output });
  });
}

/** Prints one Event: as text, a line of the table; otherwise a document, like `kubectl get --watch`. */
async function printEvent(terminal: Terminal, output: Output, event: EventRecord): Promise<void> {
  if (output === "yaml") terminal.out("---\n");
  await print(terminal, output, { data: event, text: () => `${formatEvents(terminal, [event], Date.now()).split("\n")[1] ?? ""}\n` });
}

/** Prints new Events until Ctrl-C. */
async function follow(
  terminal: Terminal,
  client: Client,
  { subject, from, output }: { subject: EventSubject; from: string; output: Output },
): Promise<void> {
  const signal = AbortSignal.any([terminal.signal, terminal.outputClosed]);
  let resourceVersion = from;
  while (!signal.aborted) {
    try {
      for await (const { type, object } of client.watch<EventRecord>(EVENT_KIND, {
        ...buildEventSelector(subject),
        resourceVersion,
        signal,
      })) {
        resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
        if (type === "BOOKMARK" || type === "DELETED") continue;
        await printEvent(terminal, output, object);
      }
    } catch (err) {
      if (signal.aborted) return;
      if (!isExpired(err)) throw err;
      ({ resourceVersion } = await readEvents(client, subject));
    }
  }
}
