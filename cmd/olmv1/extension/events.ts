import type { Client } from "../../../pkg/kube/client.ts";
import { isExpired, isForbidden } from "../../../pkg/kube/errors.ts";
import type { ClusterOptions } from "../cli/clusterOptions.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { EVENT_KIND, type EventRecord, type EventSubject, eventsAbout, eventsOf, eventsText } from "./eventRecord.ts";
import { extensionRef, readExtension } from "./readExtension.ts";

/** How `olmv1 events` can be asked. */
export interface EventsOptions extends ClusterOptions {
  watch?: boolean;
  output: Output;
}

/** `olmv1 events`. */
export async function events(terminal: Terminal, name: string, { watch = false, output, ...options }: EventsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const subject = await subjectOf(client, name);
    const { events: found, resourceVersion } = await eventsOf(client, subject);
    // Events outlive the extension that they are about: those of a deleted one show how it ended.
    if (found.length === 0 && !watch) {
      await readExtension(client, name);
      terminal.err(`no Events about ClusterExtension ${name}: the API server keeps them for an hour, unless told otherwise\n`);
    }
    const text = (): string => (found.length === 0 ? "" : eventsText(terminal, found, Date.now()));
    await print(terminal, output, { data: { apiVersion: "v1", kind: "List", items: found }, text });
    if (watch) await follow(terminal, client, subject, resourceVersion);
  });
}

/** Returns the extension of that name, or the name if the extension does not exist or you may not read it. */
async function subjectOf(client: Client, name: string): Promise<EventSubject> {
  try {
    return (await client.get(extensionRef(name), { metadataOnly: true }))?.metadata ?? { name };
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
        const [, line = ""] = eventsText(terminal, [object], Date.now()).split("\n");
        terminal.out(`${line}\n`);
      }
    } catch (err) {
      if (signal.aborted) return;
      if (!isExpired(err)) throw err;
      ({ resourceVersion } = await eventsOf(client, subject));
    }
  }
}
