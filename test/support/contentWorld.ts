import { Agent, request } from "undici";
import { CatalogStore } from "../../pkg/catalogd/catalogStore.ts";
import { type ContentServer, type ContentServerOptions, startContentServer } from "../../pkg/catalogd/http/contentServer.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { TempFolder } from "./tempFolder.ts";

/** A response that was read to its end. */
export interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Image digest of every catalog in a ContentWorld. */
export const WORLD_DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

/** A store with catalogs and a content server on loopback, as in catalogd. */
export class ContentWorld {
  readonly store: CatalogStore;
  readonly server: ContentServer;
  readonly #folder: TempFolder;
  readonly #agent = new Agent({ keepAliveTimeout: 1_000 });

  private constructor(store: CatalogStore, server: ContentServer, folder: TempFolder) {
    this.store = store;
    this.server = server;
    this.#folder = folder;
  }

  /** @param catalogs JSON Lines by name of the catalog. */
  static async start(catalogs: Readonly<Record<string, string>>, options: Partial<ContentServerOptions> = {}): Promise<ContentWorld> {
    const log = options.log ?? createLogger({ component: "test", level: "silent" });
    const folder = new TempFolder();
    const store = await CatalogStore.open({ dir: `${folder.path}/catalogs`, log });
    for (const [name, text] of Object.entries(catalogs)) await put(store, folder, name, text);
    await store.settled();
    const server = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: store, log, ...options });
    return new ContentWorld(store, server, folder);
  }

  /** Replaces the content of a catalog. @param text JSON Lines. */
  async put(name: string, text: string): Promise<void> {
    await put(this.store, this.#folder, name, text);
  }

  get port(): number {
    return this.server.address.port;
  }

  async call(method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer): Promise<Got> {
    const url = `http://127.0.0.1:${this.port}${path}`;
    const answer = await request(url, {
      method: method as "GET",
      headers,
      dispatcher: this.#agent,
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.from(await answer.body.arrayBuffer()) };
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Got> {
    return this.call("GET", path, headers);
  }

  async close(): Promise<void> {
    await this.#agent.close();
    await this.server.close(0);
    await this.store.close();
    this.#folder[Symbol.dispose]();
  }
}

async function put(store: CatalogStore, folder: TempFolder, name: string, text: string): Promise<void> {
  const origin = { ref: `registry.example/catalog@${WORLD_DIGEST}`, digest: WORLD_DIGEST, lastUnpacked: "2026-02-03T04:05:06Z" };
  await store.store(name, folder.write(name, { "catalog.json": text }), origin, new AbortController().signal);
}
