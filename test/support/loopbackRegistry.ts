import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions as TlsServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { MediaType } from "../../pkg/oci/manifest.ts";

/** A request that the registry received. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/** Certificate of a registry, and whether it requests one from its clients. */
export type RegistryTls = Pick<TlsServerOptions, "key" | "cert" | "requestCert" | "rejectUnauthorized">;

/**
 * A registry that serves pushed and added content, and misbehaves on demand. Well-behaved registries are tested with the real one.
 */
export class LoopbackRegistry {
  readonly requests: SeenRequest[] = [];
  /** Responds to a request instead of the registry if it returns true. */
  misbehave: (req: IncomingMessage, res: ServerResponse) => boolean = () => false;
  readonly #server: Server;
  readonly #blobs = new Map<string, Buffer>();
  /** The received bytes of uploads, by number. */
  readonly #uploads: Buffer[] = [];
  /** by "repository/reference" */
  readonly #manifests = new Map<string, { body: Buffer; mediaType: string }>();
  readonly #scheme: string;

  private constructor(tls: RegistryTls | undefined) {
    const listener = (req: IncomingMessage, res: ServerResponse): void => this.#answer(req, res);
    this.#server = tls ? createTlsServer(tls, listener) : createServer(listener);
    this.#scheme = tls ? "https" : "http";
  }

  static async start(tls?: RegistryTls): Promise<LoopbackRegistry> {
    const registry = new LoopbackRegistry(tls);
    await new Promise<void>((resolve) => registry.#server.listen(0, "127.0.0.1", resolve));
    return registry;
  }

  /** "127.0.0.1:port" */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.#scheme}://${this.host}`;
  }

  /** Returns the requested paths that match, in order. */
  paths(pattern: RegExp): string[] {
    return this.requests.map(({ path }) => path).filter((path) => pattern.test(path));
  }

  addBlob(content: string | Uint8Array, mediaType = "application/octet-stream"): Descriptor {
    const body = Buffer.from(content);
    const digest = sha256(body);
    this.#blobs.set(digest, body);
    return { mediaType, digest, size: body.byteLength };
  }

  /** @param body the document, or its text if it should be malformed. */
  addManifest(repository: string, tag: string, body: object | string, mediaType: string = MediaType.ociManifest): Descriptor {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const digest = sha256(bytes);
    for (const reference of [tag, digest]) this.#manifests.set(`${repository}/${reference}`, { body: bytes, mediaType });
    return { mediaType, digest, size: bytes.byteLength };
  }

  /** Creates an image of these layers, lowest first. */
  addImage(repository: string, tag: string, image: { layers: readonly Uint8Array[]; labels?: Record<string, string> }): Descriptor {
    const config = this.addBlob(
      JSON.stringify({ architecture: "amd64", os: "linux", config: { Labels: image.labels ?? {} } }),
      MediaType.ociConfig,
    );
    const layers = image.layers.map((layer) => this.addBlob(layer, MediaType.ociLayer));
    return this.addManifest(repository, tag, { schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers });
  }

  /** Returns the content of a blob, for responses that misbehave. */
  blob(digest: string): Buffer {
    const found = this.#blobs.get(digest);
    if (!found) throw new Error(`no blob ${digest}`);
    return found;
  }

  /** Whether a manifest exists, by tag or digest. */
  has(repository: string, reference: string): boolean {
    return this.#manifests.has(`${repository}/${reference}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Handles uploads; keeps the bytes that arrived before a connection broke. */
  async #receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? "", this.url);
    const manifest = /^\/v2\/(.+)\/manifests\/([^/]+)$/.exec(url.pathname);
    if (manifest) {
      this.addManifest(manifest[1] ?? "", manifest[2] ?? "", (await readBody(req)).toString("utf8"), req.headers["content-type"]);
      return void res.writeHead(201).end();
    }
    const number = req.method === "POST" ? this.#uploads.push(Buffer.alloc(0)) - 1 : Number(url.pathname.split("/").at(-1));
    const before = this.#uploads[number] ?? Buffer.alloc(0);
    const from = Number(/^(\d+)-/.exec(req.headers["content-range"] ?? "")?.[1] ?? before.byteLength);
    if (from !== before.byteLength) return void refuse(res, 416, "RANGE_INVALID", "");
    const chunks: Buffer[] = [];
    try {
      await readBody(req, chunks);
    } finally {
      this.#uploads[number] = Buffer.concat([before, ...chunks]);
    }
    const sent = this.#uploads[number];
    const headers = { location: `${url.pathname.replace(/[^/]*$/, "")}${number}`, range: `0-${Math.max(sent.byteLength - 1, 0)}` };
    if (req.method === "PUT") {
      if (sha256(sent) !== url.searchParams.get("digest")) return void refuse(res, 400, "DIGEST_INVALID", "");
      this.addBlob(sent);
      return void res.writeHead(201).end();
    }
    res.writeHead(req.method === "GET" ? 204 : 202, headers).end();
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    this.requests.push({ method: req.method ?? "", path: req.url ?? "", headers: req.headers });
    if (this.misbehave(req, res)) return;
    if (req.method === "POST" || req.method === "PATCH" || req.method === "PUT" || (req.url ?? "").includes("/blobs/uploads/"))
      return void this.#receive(req, res).catch(() => res.destroy());
    const [, repository, kind, reference] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(req.url ?? "") ?? [];
    if (req.url === "/v2/") res.end("{}");
    else if (kind === "manifests") {
      const manifest = this.#manifests.get(`${repository}/${reference}`);
      if (!manifest) refuse(res, 404, "MANIFEST_UNKNOWN", "manifest unknown");
      else res.setHeader("content-type", manifest.mediaType).setHeader("docker-content-digest", sha256(manifest.body)).end(manifest.body);
    } else {
      const blob = this.#blobs.get(reference ?? "");
      if (blob) sendBlob(req, res, blob);
      else refuse(res, 404, "BLOB_UNKNOWN", "blob unknown to registry");
    }
  }
}

async function readBody(req: IncomingMessage, chunks: Buffer[] = []): Promise<Buffer> {
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Responds with an error in the form of the distribution specification. */
export function refuse(res: ServerResponse, status: number, code: string, message: string): true {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ errors: [{ code, message }] }));
  return true;
}

/** Sends a blob, or the requested part of it. */
export function sendBlob(req: IncomingMessage, res: ServerResponse, blob: Buffer): void {
  const from = Number(/^bytes=(\d+)-$/.exec(req.headers.range ?? "")?.[1] ?? 0);
  if (from > 0) res.writeHead(206, { "content-range": `bytes ${from}-${blob.byteLength - 1}/${blob.byteLength}` });
  else res.writeHead(200, { "content-length": blob.byteLength });
  res.end(blob.subarray(from));
}

function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
