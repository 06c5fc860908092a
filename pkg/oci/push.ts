import { homedir } from "node:os";
import { pino } from "pino";
import { type Credentials, credentialsFor, readAuthFile } from "./auth.ts";
import { certificateDir, readCertificates } from "./certificates.ts";
import { digestOf } from "./digest.ts";
import { compressed, type LayerCompression, tarOf } from "./layerArchive.ts";
import { CATALOG_LIMITS } from "./limits.ts";
import { MediaType } from "./manifest.ts";
import { parseReference } from "./reference.ts";
import { Repository } from "./registry.ts";
import { registryError } from "./registryError.ts";
import { TokenSource } from "./tokens.ts";
import { Transport } from "./transport.ts";

/** A registry to push to. */
export interface PushTarget {
  /** host[:port] */
  readonly host: string;
  /** plain HTTP and unverified TLS are accepted */
  readonly insecure: boolean;
  /** docker config.json or containers auth.json */
  readonly authFile?: string | undefined;
  readonly casDir?: string | undefined;
}

/** The content of a single-layer image. */
export interface ImageContent {
  /** by relative slash path */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly labels?: Readonly<Record<string, string>>;
  /** gzip by default */
  readonly compression?: LayerCompression;
}

/** What names a manifest or blob in another one. */
export interface PushedDescriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Pushes an OCI image of one layer. The same content has the same digest each time; what the registry has already is not sent again.
 * @throws RegistryError when the registry refuses; TerminalError when host, repository and tag make no reference
 */
export async function pushImage(target: PushTarget, repository: string, tag: string, image: ImageContent): Promise<PushedDescriptor> {
  const tar = await tarOf(image.files);
  const { bytes, suffix } = await compressed(tar, image.compression ?? "gzip");
  const config = {
    architecture: "amd64",
    os: "linux",
    created: "1970-01-01T00:00:00Z",
    config: { Labels: sorted(image.labels ?? {}) },
    rootfs: { type: "layers", diff_ids: [digestOf(tar)] },
  };
  return withPusher(target, repository, async (pusher) => {
    const layer = await pusher.blob(bytes, `${MediaType.ociLayer}${suffix}`);
    const described = await pusher.blob(Buffer.from(JSON.stringify(config)), MediaType.ociConfig);
    const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, config: described, layers: [layer] };
    return pusher.manifest(tag, manifest);
  });
}

/** Pushes an index of images that are in the repository already, one a platform. */
export async function pushIndex(
  target: PushTarget,
  repository: string,
  tag: string,
  images: readonly (PushedDescriptor & { readonly platform: { readonly os: string; readonly architecture: string } })[],
): Promise<PushedDescriptor> {
  const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: images };
  return withPusher(target, repository, (pusher) => pusher.manifest(tag, index));
}

/** Lends `work` a connection to one repository. */
export async function withPusher<T>(target: PushTarget, repository: string, work: (pusher: Pusher) => Promise<T>): Promise<T> {
  const log = pino({ enabled: false });
  const transport = new Transport({ limits: CATALOG_LIMITS, env: process.env, log });
  try {
    const ref = parseReference(`${target.host}/${repository}`);
    const tls = await readCertificates(certificateDir(target.casDir, ref.registry, homedir()));
    const credentials: Credentials | undefined = credentialsFor(await readAuthFile(target.authFile), ref.registry, ref.repository);
    const peer = { insecure: target.insecure, tls };
    const tokens = new TokenSource(transport, log);
    return await work(new Pusher(new Repository({ ref, peer, credentials, transport, tokens, actions: "pull,push" })));
  } finally {
    await transport.close();
  }
}

/** Sends blobs and manifests to one repository. */
export class Pusher {
  readonly #repository: Repository;
  readonly #signal = AbortSignal.timeout(CATALOG_LIMITS.timeoutMs);

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** Sends a blob unless the repository has it. */
  async blob(bytes: Uint8Array, mediaType: string): Promise<PushedDescriptor> {
    const digest = digestOf(bytes);
    const signal = this.#signal;
    const known = await this.#repository.request({ method: "HEAD", path: `blobs/${digest}`, signal });
    await known.body.dump();
    if (known.status !== 200) {
      const started = await this.#repository.request({ method: "POST", path: "blobs/uploads/", signal });
      const { location } = started.headers;
      if (started.status !== 202 || typeof location !== "string") throw await registryError(started);
      await started.body.dump();
      const url = new URL(location, await this.#repository.base(signal));
      url.searchParams.set("digest", digest);
      const headers = { "content-type": "application/octet-stream" };
      const done = await this.#repository.request({ method: "PUT", path: url, headers, body: bytes, signal });
      if (done.status !== 201) throw await registryError(done);
      await done.body.dump();
    }
    return { mediaType, digest, size: bytes.byteLength };
  }

  /** Sends a manifest or index under a tag; what it names must be there. `mediaType` of the document is that of the request. */
  async manifest(tag: string, manifest: { readonly mediaType: string }): Promise<PushedDescriptor> {
    const { mediaType } = manifest;
    const body = Buffer.from(JSON.stringify(manifest));
    const headers = { "content-type": mediaType };
    const done = await this.#repository.request({ method: "PUT", path: `manifests/${tag}`, headers, body, signal: this.#signal });
    if (done.status !== 201) throw await registryError(done);
    await done.body.dump();
    return { mediaType, digest: digestOf(body), size: body.byteLength };
  }
}

function sorted(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
