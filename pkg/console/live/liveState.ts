import { randomUUID } from "node:crypto";
import type { CatalogRow, ExtensionRow, LiveUpdate, WatchState } from "../../consoleapi/live.ts";
import { ChangeSequence, LiveRows } from "./liveRows.ts";

/** Names of the watched kinds. */
export type WatchedTable = keyof LiveUpdate["watches"];

/** A message with its identifier; a client resumes after it. */
export interface NumberedUpdate {
  readonly id: string;
  /** A LiveUpdate in the format of Server-Sent Events. All clients with the same identifier share the bytes, also while they are being sent. */
  readonly message: Buffer;
}

/** Time during which changes are collected for one message, in milliseconds. */
const COLLECT_MS = 40;

/**
 * What the pages show of one identity's cluster: the rows of all watched kinds, and the state of their watches. Clients read the changes since the
 * identifier of their last message.
 */
export class LiveState {
  readonly #sequence = new ChangeSequence();
  readonly extensions = new LiveRows<ExtensionRow>(this.#sequence);
  readonly catalogs = new LiveRows<CatalogRow>(this.#sequence);
  readonly #watches: Record<WatchedTable, WatchState>;
  /** Identifiers of another instance are invalid. */
  readonly #epoch = randomUUID();
  readonly #listeners = new Set<() => void>();
  #notification: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Clients usually have the same identifier, so they share one message. */
  #shared: { readonly since: number; readonly next: NumberedUpdate } | undefined;

  /** @param now time in RFC 3339 */
  constructor(now: string) {
    const loading: WatchState = { state: "loading", isLoaded: false, since: now };
    this.#watches = { extensions: loading, catalogs: loading };
  }

  /** Number of the last change. */
  get sequence(): number {
    return this.#sequence.last;
  }

  getWatch(table: WatchedTable): WatchState {
    return this.#watches[table];
  }

  /** Stores the state of a watch. Its time stays while only the error changes. */
  setWatch(table: WatchedTable, { since, ...state }: WatchState): void {
    const old = this.#watches[table];
    if (old.state === state.state && old.message === state.message) return;
    this.#watches[table] = { ...state, since: old.state === state.state ? old.since : since };
    this.#sequence.next();
    this.notify();
  }

  /** Whether the state is not updated any more, because its watches stopped. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends the streams of all clients. */
  close(): void {
    this.#isClosed = true;
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listeners soon. Several changes in a row cause one call. */
  notify(): void {
    if (this.#notification !== undefined) return;
    this.#notification = setTimeout(() => {
      this.#notification = undefined;
      for (const listener of this.#listeners) listener();
    }, COLLECT_MS).unref();
  }

  /** Calls `listener` after changes, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Returns the changes after a message; undefined if nothing changed.
   * @param id of the client's last message. All rows are returned without it, or if it is too old, or from another instance.
   */
  readSince(id: string | undefined): NumberedUpdate | undefined {
    const since = this.#parse(id);
    if (since === this.#sequence.last) return undefined;
    if (this.#shared && this.#shared.since === since && this.#shared.next.id === this.#format(this.#sequence.last))
      return this.#shared.next;
    const newest = this.#format(this.#sequence.last);
    const next = { id: newest, message: Buffer.from(`id: ${newest}\ndata: ${JSON.stringify(this.#buildUpdate(since))}\n\n`) };
    this.#shared = { since, next };
    return next;
  }

  #buildUpdate(since: number): LiveUpdate {
    const watches = { ...this.#watches };
    const extensions = since < 0 ? undefined : this.extensions.changesSince(since);
    const catalogs = since < 0 ? undefined : this.catalogs.changesSince(since);
    if (extensions && catalogs) {
      return {
        isReset: false,
        extensions: { changed: [...extensions.changed], removed: [...extensions.removed] },
        catalogs: { changed: [...catalogs.changed], removed: [...catalogs.removed] },
        watches,
      };
    }
    return {
      isReset: true,
      extensions: { changed: this.extensions.list(), removed: [] },
      catalogs: { changed: this.catalogs.list(), removed: [] },
      watches,
    };
  }

  #format(sequence: number): string {
    return `${this.#epoch}:${sequence}`;
  }

  /** Returns the sequence number in an identifier, -1 if it is invalid. */
  #parse(id: string | undefined): number {
    const [epoch, text = ""] = id?.split(":") ?? [];
    const sequence = Number(text);
    return epoch === this.#epoch && /^\d+$/.test(text) && sequence <= this.#sequence.last ? sequence : -1;
  }
}
