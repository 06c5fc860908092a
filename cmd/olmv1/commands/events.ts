import { setTimeout as sleep } from "node:timers/promises";
import { Backoff, Repeats } from "../../../pkg/async/backoff.ts";
import { systemClock } from "../../../pkg/async/clock.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { formatAge } from "../../../pkg/golang/time.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { getRetryAfterMs, isExpired, isPassing } from "../../../pkg/kube/errors.ts";
import type { WatchEvent } from "../../../pkg/kube/request.ts";
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

const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
/** The delay grows after watches that end before this time without an Event, to avoid a busy loop. */
const SHORT_WATCH_MS = 1_000;
/** Time during which the same interruption is printed only once. */
const QUIET_MS = 300_000;

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
    const printer = new EventPrinter((event) => printEvent(terminal, output, event), found);
    if (watch) await follow(terminal, client, { subject, from: resourceVersion, printer });
  });
}

/** Prints one Event: as text, a line of the table; otherwise a document, like `kubectl get --watch`. */
async function printEvent(terminal: Terminal, output: Output, event: EventRecord): Promise<void> {
  if (output === "yaml") terminal.out("---\n");
  await print(terminal, output, { data: event, text: () => `${formatEvents(terminal, [event], Date.now()).split("\n")[1] ?? ""}\n` });
}

/** Prints Events of lists and watches, and those of a list only if they were not printed before. */
class EventPrinter {
  readonly #print: (event: EventRecord) => Promise<void>;
  /** The printed resourceVersion by UID. Contains only Events that exist, because a long watch would otherwise need more and more memory. */
  #versions: Map<string | undefined, string | undefined>;

  /** @param printed Events that were printed before. */
  constructor(print: (event: EventRecord) => Promise<void>, printed: readonly EventRecord[]) {
    this.#print = print;
    this.#versions = indexVersions(printed);
  }

  async printNew(events: readonly EventRecord[]): Promise<void> {
    for (const event of events) if (this.#versions.get(event.metadata.uid) !== event.metadata.resourceVersion) await this.#print(event);
    this.#versions = indexVersions(events);
  }

  async printChange({ type, object }: WatchEvent<EventRecord>): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    if (type === "DELETED") this.#versions.delete(uid);
    if (type !== "ADDED" && type !== "MODIFIED") return;
    await this.#print(object);
    this.#versions.set(uid, resourceVersion);
  }
}

/** Returns the resourceVersion of each Event by its UID. */
function indexVersions(events: readonly EventRecord[]): Map<string | undefined, string | undefined> {
  return new Map(events.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
}

/** Prints new Events until Ctrl-C, also after a broken connection or a restart of the API server. */
async function follow(
  terminal: Terminal,
  client: Client,
  { subject, from, printer }: { subject: EventSubject; from: string; printer: EventPrinter },
): Promise<void> {
  const signal = AbortSignal.any([terminal.signal, terminal.outputClosed]);
  const backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
  const interruptions = new Repeats(systemClock, QUIET_MS);
  let resourceVersion: string | undefined = from;
  while (!signal.aborted) {
    let waitMs = 0;
    try {
      if (resourceVersion === undefined) {
        const read = await readEvents(client, subject);
        await printer.printNew(read.events);
        ({ resourceVersion } = read);
      }
      const started = performance.now();
      for await (const change of client.watch<EventRecord>(EVENT_KIND, { ...buildEventSelector(subject), resourceVersion, signal })) {
        backoff.reset();
        await printer.printChange(change);
        resourceVersion = change.object.metadata.resourceVersion ?? resourceVersion;
      }
      if (performance.now() - started >= SHORT_WATCH_MS) backoff.reset();
      waitMs = backoff.next();
    } catch (err) {
      if (signal.aborted) return;
      if (!isExpired(err) && !isPassing(err)) throw err;
      const reason = getErrorMessage(err);
      if (!isExpired(err) && interruptions.report(reason) !== undefined)
        terminal.err(`cannot watch Events: ${reason}. olmv1 tries again until you press Ctrl-C\n`);
      waitMs = Math.max(backoff.next(), getRetryAfterMs(err) ?? 0);
      // After repeated failures, the API server may have restarted with an older history.
      if (isExpired(err) || backoff.attempts > 1) resourceVersion = undefined;
    }
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
