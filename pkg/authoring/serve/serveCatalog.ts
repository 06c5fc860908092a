import { mkdtemp, rm, stat, watch } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CatalogStore } from "../../catalogd/catalogStore.ts";
import { startContentServer } from "../../catalogd/http/contentServer.ts";
import { messageOf } from "../../errors/errors.ts";
import { formatTime } from "../../golang/time.ts";
import { createLogger } from "../../telemetry/log.ts";
import { escapeControlCharacters } from "../../text/escape.ts";
import { formatCount } from "../../text/lists.ts";
import type { ImageTerminal } from "../build/publishImage.ts";

/** Editors write a file in several steps, and tools several files. */
const QUIET_MS = 200;
/** How often it is looked whether another folder lies there. */
const LOOK_MS = 500;

/**
 * Calls `changed` after changes below a folder, when nothing has changed any more for a moment; one call at a time, and once more for what changed meanwhile.
 * A folder that is removed, or moved away, is waited for until there is one at its place again, as tools make it that write a folder anew.
 * Ends when `signal` is aborted and no call is under way.
 * @throws Error where the folder cannot be watched; what `changed` throws.
 */
async function watchFolder(dir: string, signal: AbortSignal, changed: () => Promise<void>): Promise<void> {
  let changes = 0;
  let answered = Promise.resolve();
  let isAnswering = false;
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const answer = async (): Promise<void> => {
    for (let seen = 0; seen !== changes; ) {
      for (let before = -1; before !== changes; await sleep(QUIET_MS, undefined, { signal: either })) before = changes;
      seen = changes;
      await changed();
    }
  };
  const noted = (): void => {
    changes += 1;
    if (isAnswering) return;
    isAnswering = true;
    answered = answer()
      .catch((err: unknown) => failed.abort(err))
      .finally(() => {
        isAnswering = false;
        changes = 0;
      });
  };
  try {
    for (let folder = await identityOf(dir); ; noted()) folder = await watchOne(dir, folder, either, noted);
  } catch (err) {
    if (!either.aborted) throw err;
  }
  await answered;
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
}

/** Tells of changes until another folder lies at its place. @returns that one's identity. @throws once `signal` is aborted. */
async function watchOne(dir: string, folder: string | undefined, signal: AbortSignal, noted: () => void): Promise<string> {
  const replaced = new AbortController();
  const other = awaitOther(dir, folder, signal).finally(() => replaced.abort());
  other.catch(() => undefined); // it is awaited below, unless the folder cannot be watched
  try {
    for await (const _ of watch(dir, { recursive: true, signal: replaced.signal })) noted();
  } catch (err) {
    if (!replaced.signal.aborted && (await identityOf(dir)) === folder) throw err;
  }
  return other;
}

/** A watch stays with the folder that it was made for: it hears nothing of one that takes its place. */
async function awaitOther(dir: string, folder: string | undefined, signal: AbortSignal): Promise<string> {
  for (;;) {
    await sleep(LOOK_MS, undefined, { signal });
    const now = await identityOf(dir);
    if (now !== undefined && now !== folder) return now;
  }
}

/** The same for the same folder only; undefined where there is none. A number may be given to a new one, its time of birth is its own. */
async function identityOf(dir: string): Promise<string | undefined> {
  const found = await stat(dir).catch(() => undefined);
  return found && `${found.dev}/${found.ino}/${found.birthtimeMs}`;
}

/** A catalog that is to be served. */
export interface ServeRequest {
  /** under which it is served */
  readonly name: string;
  /** where its files are */
  readonly dir: string;
  /** for people: the folder or image */
  readonly source: string;
  readonly host: string;
  readonly port: number;
  readonly watch: boolean;
}

/** Requests under way have so long to end. */
const GRACE_MS = 1_000;
const NO_DIGEST = `sha256:${"0".repeat(64)}`;

/**
 * Serves a catalog as catalogd does until `terminal.signal` is aborted. With `watch` it is read again when its files change; what cannot be read is told, and
 * what was served last goes on being served.
 * @param ready is told the address of the catalog.
 * @throws Error where the catalog cannot be read at the start, or the address not be listened on.
 */
export async function serveCatalog(request: ServeRequest, terminal: ImageTerminal, ready?: (url: string) => void): Promise<void> {
  const { name, dir, source, host, port } = request;
  const { signal } = terminal;
  const log = createLogger({ component: "olmv1", level: "error", destination: { write: (line) => terminal.err(line) } });
  const cache = await mkdtemp(join(tmpdir(), "olmv1-serve-"));
  const store = await CatalogStore.open({ dir: join(cache, "catalogs"), log });
  try {
    const read = async (): Promise<string> => {
      const began = performance.now();
      const origin = { ref: source, digest: NO_DIGEST, lastUnpacked: formatTime(new Date()) };
      const { catalog, findings } = await store.store(name, dir, origin, signal);
      const faults = findings.errors + findings.warnings;
      const found =
        faults === 0
          ? ""
          : `, ${formatCount(findings.errors, "error")} and ${formatCount(findings.warnings, "warning")}: see catalog validate`;
      return `${formatCount(catalog.index.lines, "object")} in ${((performance.now() - began) / 1000).toFixed(1)} s${found}`;
    };
    const first = await read();
    const server = await startContentServer(
      { host, port },
      { source: { get: (one) => store.get(one), catalogs: () => store.catalogs() }, log },
    );
    try {
      const base = `http://${authority(server.address)}/catalogs/${name}`;
      terminal.err(`read ${escapeControlCharacters(source)}: ${first}\n`);
      terminal.out(`${base}\n`);
      ready?.(base);
      if (!isLoopback(server.address.address)) terminal.err("everybody who reaches this machine can read the catalog, over plain HTTP\n");
      const reload = async (): Promise<void> => {
        const said = await read().then(
          (text) => `read again: ${text}`,
          (err: unknown) => `${messageOf(err)}; what was read before is still served`,
        );
        if (!signal.aborted) terminal.err(`${escapeControlCharacters(said)}\n`);
      };
      await (request.watch ? watchFolder(dir, signal, reload) : aborted(signal));
    } finally {
      await server.close(GRACE_MS);
    }
  } finally {
    await store.close();
    await rm(cache, { recursive: true, force: true });
  }
}

function authority({ address, port, family }: AddressInfo): string {
  return `${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
