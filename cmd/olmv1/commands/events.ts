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
    const text = (): string => (found.length === 0 ? "" : formatEvents(terminal, found, Date.now()));
    await print(terminal, output, { data: { apiVersion: "v1", kind: "List", items: found }, text });
    if (watch) await follow(terminal, client, subject, resourceVersion);
  });
}

async function follow(terminal: Terminal, client: Client, subject: EventSubject, from: string): Promise<void> {
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
