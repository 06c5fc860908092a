import { useSyncExternalStore } from "react";
import * as z from "zod/mini";
import { type CatalogRow, type ExtensionRow, LiveUpdate, type WatchState } from "../../../pkg/consoleapi/live.ts";
import type { ConsoleProblem } from "../../../pkg/consoleapi/problem.ts";
import { readEventStream } from "./eventStream.ts";
import { buildHeaders, RequestError, send } from "./request.ts";

/** What the event stream has reported. A new object after each message, so that React sees changes. */
export interface LiveSnapshot {
  readonly extensions: ReadonlyMap<string, ExtensionRow>;
  readonly catalogs: ReadonlyMap<string, CatalogRow>;
  readonly watches: LiveUpdate["watches"];
  /** State of the connection between browser and console. */
  readonly stream: "connecting" | "open" | "lost" | "signedOut";
  /** Why the stream is `signedOut`. */
  readonly problem?: ConsoleProblem;
}

const LOADING: WatchState = { state: "loading", isLoaded: false, since: "1970-01-01T00:00:00Z" };
/** Whether the rows of a watch may still come: it is not known yet whether there are any. */
export function isAwaited({ state, isLoaded }: WatchState): boolean {
  return state === "loading" || (state === "disconnected" && !isLoaded);
}

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
/** The server sends a comment every 15 seconds. */
const SILENCE_MS = 40_000;

/** Number of rows of each kind to validate in a message. */
const VALIDATED_ROWS = 20;

/** Follows the event stream, and notifies subscribers of changes. Reconnects and resumes after the last message. */
export class LiveStore {
  #snapshot: LiveSnapshot = {
    extensions: new Map(),
    catalogs: new Map(),
    watches: { extensions: LOADING, catalogs: LOADING },
    stream: "connecting",
  };
  readonly #listeners = new Set<() => void>();
  /** Called with the names of changed and removed objects. */
  readonly #onRows: (kind: "extensions" | "catalogs", names: readonly string[]) => void;
  #lastId: string | undefined;

  constructor(onRows: (kind: "extensions" | "catalogs", names: readonly string[]) => void) {
    this.#onRows = onRows;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly getSnapshot = (): LiveSnapshot => this.#snapshot;

  /** Follows the stream until the session ends. */
  async run(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
      try {
        await this.#follow(() => (retryMs = FIRST_RETRY_MS));
      } catch (err) {
        if (err instanceof RequestError && err.problem.kind === "signedOut")
          return this.#set({ stream: "signedOut", problem: err.problem });
      }
      this.#set({ stream: "lost" });
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  async #follow(onOpen: () => void): Promise<void> {
    const headers = {
      ...buildHeaders(),
      accept: "text/event-stream",
      ...(this.#lastId === undefined ? {} : { "last-event-id": this.#lastId }),
    };
    const response = await send("/api/events", { headers, cache: "no-store" });
    this.#set({ stream: "open" });
    onOpen();
    for await (const { id, data } of readEventStream(response, SILENCE_MS)) {
      this.#apply(parseUpdate(data));
      this.#lastId = id ?? this.#lastId;
    }
  }

  #apply(update: LiveUpdate): void {
    const { isReset, watches } = update;
    const old = this.#snapshot;
    const extensions = merge(isReset ? undefined : old.extensions, update.extensions);
    const catalogs = merge(isReset ? undefined : old.catalogs, update.catalogs);
    this.#set({ extensions, catalogs, watches });
    for (const kind of ["extensions", "catalogs"] as const) {
      const { changed, removed } = update[kind];
      const names = [...changed.map(({ name }) => name), ...removed];
      if (names.length > 0) this.#onRows(kind, names);
    }
  }

  #set(change: Partial<LiveSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/**
 * Parses a message. Validates only its first rows, because the server writes all in the same form: validating 500 takes 60 ms of the first view.
 * @throws Error if the message has another form, for example that of a newer server
 */
function parseUpdate(data: string): LiveUpdate {
  const update = JSON.parse(data) as LiveUpdate;
  const withFirst = <Row>(rows: { changed: Row[]; removed: string[] }) => ({ ...rows, changed: rows.changed.slice(0, VALIDATED_ROWS) });
  z.parse(LiveUpdate, { ...update, extensions: withFirst(update.extensions), catalogs: withFirst(update.catalogs) });
  return update;
}

function merge<Row extends { name: string }>(
  old: ReadonlyMap<string, Row> | undefined,
  { changed, removed }: { changed: readonly Row[]; removed: readonly string[] },
): ReadonlyMap<string, Row> {
  if (old && changed.length === 0 && removed.length === 0) return old;
  const rows = new Map(old);
  for (const name of removed) rows.delete(name);
  for (const row of changed) rows.set(row.name, row);
  return rows;
}

/** Returns the newest snapshot of the store, and renders again after changes. */
export function useLiveSnapshot(store: LiveStore): LiveSnapshot {
  return useSyncExternalStore(store.subscribe, store.getSnapshot);
}
