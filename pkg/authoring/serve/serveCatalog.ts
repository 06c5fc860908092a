import { mkdtemp, rm, stat, watch } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { waitForAbort } from "../../async/concurrency.ts";
import { CatalogStore } from "../../catalogd/catalogStore.ts";
import { startContentServer } from "../../catalogd/http/contentServer.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { formatTime } from "../../golang/time.ts";
import { findConsoleAssets } from "../../serving/consoleAssets.ts";
import { createLogger } from "../../telemetry/log.ts";
import { escapeControlCharacters } from "../../text/escape.ts";
import { formatCount } from "../../text/lists.ts";
import type { ImageTerminal } from "../build/publishImage.ts";

/** Delay between the last change and the reload, in milliseconds, because editors write a file in several steps and tools write several files. */
const QUIET_MS = 200;
/** Poll interval for a replaced folder, in milliseconds. */
const POLL_MS = 500;

/**
 * Calls `onChange` QUIET_MS after the last change in a folder. Runs one call at a time; if files change during a call, calls `onChange` again. If the
 * folder is removed or moved, waits for a new folder at the same path, because some tools replace the folder. Returns when `signal` is aborted and no
 * call is running.
 * @throws Error if the folder cannot be watched, or the error of `onChange`.
 */
async function watchFolder(dir: string, signal: AbortSignal, onChange: () => Promise<void>): Promise<void> {
  let changes = 0;
  let running = Promise.resolve();
  let isRunning = false;
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const handleChanges = async (): Promise<void> => {
    for (let seen = 0; seen !== changes; ) {
      for (let before = -1; before !== changes; await sleep(QUIET_MS, undefined, { signal: either })) before = changes;
      seen = changes;
      await onChange();
    }
  };
  const countChange = (): void => {
    changes += 1;
    if (isRunning) return;
    isRunning = true;
    running = handleChanges()
      .catch((err: unknown) => failed.abort(err))
      .finally(() => {
        isRunning = false;
        changes = 0;
      });
  };
  try {
    for (let folder = await readIdentity(dir); ; countChange()) folder = await watchOne(dir, folder, either, countChange);
  } catch (err) {
    if (!either.aborted) throw err;
  }
  await running;
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
}

/** Reports changes until the folder is replaced. @returns the identity of the new folder. @throws when `signal` is aborted. */
async function watchOne(dir: string, folder: string | undefined, signal: AbortSignal, onChange: () => void): Promise<string> {
  const replaced = new AbortController();
  const replacement = waitForReplacement(dir, folder, signal).finally(() => replaced.abort());
  replacement.catch(() => undefined); // Awaited below, unless the folder cannot be watched.
  try {
    for await (const _ of watch(dir, { recursive: true, signal: replaced.signal })) onChange();
  } catch (err) {
    if (!replaced.signal.aborted && (await readIdentity(dir)) === folder) throw err;
  }
  return replacement;
}

/** Polls for a new folder at the same path, because a watch follows the original folder and does not detect a replacement. */
async function waitForReplacement(dir: string, folder: string | undefined, signal: AbortSignal): Promise<string> {
  for (;;) {
    await sleep(POLL_MS, undefined, { signal });
    const now = await readIdentity(dir);
    if (now !== undefined && now !== folder) return now;
  }
}

/** Returns an identifier of a folder; undefined if the folder does not exist. Includes the creation time, because inode numbers are reused. */
async function readIdentity(dir: string): Promise<string | undefined> {
  const found = await stat(dir).catch(() => undefined);
  return found && `${found.dev}/${found.ino}/${found.birthtimeMs}`;
}

/** Options for serving a catalog. */
export interface ServeRequest {
  /** Name of the catalog in its URL. */
  readonly name: string;
  /** Folder with its files. */
  readonly dir: string;
  /** Name of the folder or image in messages. */
  readonly source: string;
  readonly host: string;
  readonly port: number;
  readonly watch: boolean;
}

/** Grace period for requests in progress at shutdown, in milliseconds. */
const GRACE_MS = 1_000;
const NO_DIGEST = `sha256:${"0".repeat(64)}`;

/**
 * Serves a catalog like catalogd until `terminal.signal` is aborted. With `watch`, reloads it when its files change. If a reload fails,
 * prints the error and continues to serve the previous content.
 * @param ready is called with the URL of the catalog.
 * @throws Error if the catalog cannot be read at start, or if the server cannot listen on the address.
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
          : `, ${formatCount(findings.errors, "error")} and ${formatCount(findings.warnings, "warning")}; for details, run olmv1 catalog validate`;
      return `${formatCount(catalog.index.lines, "object")} in ${((performance.now() - began) / 1000).toFixed(1)} s${found}`;
    };
    const first = await read();
    const server = await startContentServer(
      { host, port },
      { source: { get: (one) => store.get(one), catalogs: () => store.catalogs() }, page: findConsoleAssets(), log },
    );
    try {
      const base = `http://${authority(server.address)}/catalogs/${name}`;
      terminal.err(`read ${escapeControlCharacters(source)}: ${first}\n`);
      terminal.out(`${base}\n`);
      ready?.(base);
      if (!isLoopback(server.address.address))
        terminal.err("warning: the catalog is served over plain HTTP to all clients that can reach this machine\n");
      const reload = async (): Promise<void> => {
        const message = await read().then(
          (text) => `reloaded: ${text}`,
          (err: unknown) => `reload failed: ${getErrorMessage(err)}; still serving the previous content`,
        );
        if (!signal.aborted) terminal.err(`${escapeControlCharacters(message)}\n`);
      };
      await (request.watch ? watchFolder(dir, signal, reload) : waitForAbort(signal));
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
