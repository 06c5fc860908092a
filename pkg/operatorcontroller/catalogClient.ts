import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { messageOf } from "../errors/errors.ts";
import { packageContent } from "../fbc/content.ts";
import { decodeMetas } from "../fbc/decode.ts";
import type { Meta, PackageContent } from "../fbc/types.ts";

/** What the catalog client reads of a bundle: everything else (descriptions, icons, related images) is dropped on arrival. */
const KEPT_PROPERTIES: ReadonlySet<unknown> = new Set([
  "olm.package",
  "olm.package.required",
  "olm.gvk",
  "olm.gvk.required",
  "olm.constraint",
  "olm.maxOpenShiftVersion",
]);
const REQUEST_TIMEOUT_MS = 5 * 60_000;
/** A package of more than this is refused; the largest real one is below 40 MB. */
const MAX_ANSWER_BYTES = 512 * 1024 * 1024;

/** The answer of a catalog was not 200. */
export class UnexpectedStatus extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`error: received unexpected response status code ${status}`);
    this.name = "UnexpectedStatus";
    this.status = status;
  }
}

/**
 * Reads single packages from the catalog HTTP API over one keep-alive pool.
 * The metas endpoint is asked first; a server without it (404) is read by `/all`, keeping only the package.
 */
export class CatalogClient {
  readonly #dispatcher: Dispatcher;

  /** @param caDir folder of PEM files trusted beside the system's roots. */
  constructor(options: { caDir?: string | undefined } = {}) {
    const connect = options.caDir ? { ca: [...rootCertificates, ...certificatesIn(options.caDir)] } : {};
    const proxied = process.env["HTTPS_PROXY"] ?? process.env["https_proxy"] ?? process.env["HTTP_PROXY"] ?? process.env["http_proxy"];
    const pool = { connect, keepAliveTimeout: 30_000, connections: 16 };
    this.#dispatcher = proxied ? new EnvHttpProxyAgent(pool) : new Agent(pool);
  }

  /**
   * What the catalog at `base` says about one package; undefined when it does not hold the package.
   * @throws UnexpectedStatus, or an Error whose text begins with "error performing request: ".
   */
  async packageContent(base: string, packageName: string, signal: AbortSignal): Promise<PackageContent | undefined> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
    try {
      const metas = await this.#packageMetas(base, packageName, deadline);
      const content = packageContent(metas, packageName);
      const empty =
        !content.package && content.channels.length + content.bundles.length + content.deprecations.length + content.others === 0;
      return empty ? undefined : content;
    } catch (err) {
      if (err instanceof UnexpectedStatus) throw err;
      throw new Error(`error performing request: ${messageOf(err)}`, { cause: err });
    }
  }

  close(): Promise<void> {
    return this.#dispatcher.close();
  }

  async #packageMetas(base: string, packageName: string, signal: AbortSignal): Promise<Meta[]> {
    const name = encodeURIComponent(packageName);
    try {
      const [ofPackage, packages] = await Promise.all([
        this.#metas(`${base}/api/v1/metas?package=${name}`, () => true, signal),
        this.#metas(`${base}/api/v1/metas?schema=olm.package&name=${name}`, () => true, signal),
      ]);
      return [...packages, ...ofPackage.filter((meta) => meta.schema !== "olm.package")];
    } catch (err) {
      if (!(err instanceof UnexpectedStatus) || err.status !== 404) throw err;
      return this.#metas(`${base}/api/v1/all`, (meta) => ownerOf(meta) === packageName, signal);
    }
  }

  async #metas(url: string, keep: (meta: Meta) => boolean, signal: AbortSignal): Promise<Meta[]> {
    const answer = await request(url, { dispatcher: this.#dispatcher, signal, headers: { accept: "application/jsonl" } });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new UnexpectedStatus(answer.statusCode);
    }
    const metas: Meta[] = [];
    for await (const meta of decodeMetas(bounded(answer.body), new URL(url).pathname)) if (keep(meta)) metas.push(slim(meta));
    return metas;
  }
}

function ownerOf(meta: Meta): string {
  return meta.schema === "olm.package" ? meta.name : meta.package;
}

async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new Error(`answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    yield chunk;
  }
}

function slim(meta: Meta): Meta {
  if (meta.schema === "olm.package") {
    const { schema, name, defaultChannel } = meta.blob;
    return { ...meta, blob: { schema, name, ...(defaultChannel === undefined ? {} : { defaultChannel }) } };
  }
  if (meta.schema !== "olm.bundle") return meta;
  const { relatedImages: _related, properties, ...rest } = meta.blob;
  if (!Array.isArray(properties)) return meta;
  const kept = properties.filter((p: unknown) => typeof p === "object" && p !== null && "type" in p && KEPT_PROPERTIES.has(p.type));
  return { ...meta, blob: { ...rest, properties: kept } };
}

function certificatesIn(dir: string): string[] {
  const files = readdirSync(dir, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return files.map((entry) => readFileSync(join(dir, entry.name), "utf8")).filter((text) => text.includes("-----BEGIN CERTIFICATE-----"));
}
