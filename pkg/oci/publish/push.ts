import { homedir } from "node:os";
import { Readable } from "node:stream";
import { pino } from "pino";
import { computeDigest } from "../digest.ts";
import { CATALOG_IMAGE_LIMITS } from "../limits.ts";
import { MediaType } from "../manifest.ts";
import { parseReference } from "../reference.ts";
import { NO_LOGINS, readLogins } from "../registry/authFile.ts";
import { RegistryAccess } from "../registry/registryAccess.ts";
import { compressLayer, createTar, type LayerCompression } from "../store/layerArchive.ts";
import { RegistryStore } from "../store/registryStore.ts";
import { buildImageConfig } from "./buildImage.ts";

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

/** References a manifest or blob from another one. */
export interface PushedDescriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Pushes a single-layer OCI image. The same content always has the same digest; existing blobs are
 * not sent again.
 * @throws RegistryError if the registry rejects it; TerminalError if host, repository and tag are
 * not a valid reference
 */
export async function pushImage(target: PushTarget, repository: string, tag: string, image: ImageContent): Promise<PushedDescriptor> {
  const tar = await createTar(image.files);
  const { bytes, suffix } = await compressLayer(tar, image.compression ?? "gzip");
  const config = buildImageConfig(image.labels ?? {}, computeDigest(tar));
  return withPusher(target, repository, async (pusher) => {
    const layer = await pusher.blob(bytes, `${MediaType.ociLayer}${suffix}`);
    const described = await pusher.blob(Buffer.from(JSON.stringify(config)), MediaType.ociConfig);
    const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, config: described, layers: [layer] };
    return pusher.manifest(tag, manifest);
  });
}

/** Calls `work` with a connection to one repository. */
export async function withPusher<T>(target: PushTarget, repository: string, work: (pusher: Pusher) => Promise<T>): Promise<T> {
  const { host, insecure, authFile, casDir } = target;
  const { env } = process;
  const logins = authFile === undefined ? NO_LOGINS : readLogins(authFile, env, homedir());
  const access = new RegistryAccess({ logins, casDir, insecure, env, log: pino({ enabled: false }) });
  try {
    return await work(new Pusher(new RegistryStore(await access.repository(parseReference(`${host}/${repository}`)), access.limits)));
  } finally {
    await access.close();
  }
}

/** Sends blobs and manifests to one repository. */
export class Pusher {
  readonly #store: RegistryStore;
  readonly #signal = AbortSignal.timeout(CATALOG_IMAGE_LIMITS.timeoutMs);

  constructor(store: RegistryStore) {
    this.#store = store;
  }

  /** Sends a blob unless it exists in the repository. */
  async blob(bytes: Uint8Array, mediaType: string): Promise<PushedDescriptor> {
    const blob = { mediaType, digest: computeDigest(bytes), size: bytes.byteLength };
    await this.#store.putBlob(blob, (offset) => Readable.from([bytes.subarray(offset)]), { signal: this.#signal });
    return blob;
  }

  /**
   * Sends a manifest or index under a tag; the content that it references must exist. The request
   * uses the `mediaType` of the document.
   */
  async manifest(tag: string, manifest: { readonly mediaType: string }): Promise<PushedDescriptor> {
    const { mediaType } = manifest;
    const bytes = Buffer.from(JSON.stringify(manifest));
    const digest = computeDigest(bytes);
    await this.#store.putManifest({ bytes, mediaType, digest }, tag, this.#signal);
    return { mediaType, digest, size: bytes.byteLength };
  }
}
