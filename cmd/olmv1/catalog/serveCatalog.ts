import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startContentServer } from "../../../pkg/catalogd/http/contentServer.ts";
import { CatalogStore } from "../../../pkg/catalogd/catalogStore.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { counted } from "../counted.ts";
import type { ImageTerminal } from "../images/withImages.ts";
import { watchFolder } from "./watchFolder.ts";

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
      const origin = { ref: source, digest: NO_DIGEST, lastUnpacked: new Date().toISOString().replace(/\.\d+/, "") };
      const { catalog, findings } = await store.store(name, dir, origin, signal);
      const faults = findings.errors + findings.warnings;
      const found =
        faults === 0 ? "" : `, ${counted(findings.errors, "error")} and ${counted(findings.warnings, "warning")}: see catalog validate`;
      return `${counted(catalog.index.lines, "object")} in ${((performance.now() - began) / 1000).toFixed(1)} s${found}`;
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
