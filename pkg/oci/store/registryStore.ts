import { setTimeout as sleep } from "node:timers/promises";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Descriptor } from "../manifest.ts";
import { formatRepository, type Reference } from "../reference.ts";
import { blobBytes, type DownloadLimits } from "../registry/download.ts";
import { isFetchFailure, isPlainHttp, isTransient } from "../registry/networkError.ts";
import { RegistryError, readRegistryError } from "../registry/registryError.ts";
import { type FetchedManifest, listReferrers, type Referrer, type Repository } from "../registry/repository.ts";
import type { RegistryResponse } from "../registry/transport.ts";
import type { BlobBytes, BlobOutcome, ImageReader, ImageWriter } from "./imageStore.ts";

/** Advice by status of the response. */
const ADVICE: Readonly<Record<number, (ref: Reference) => string>> = {
  401: ({ registry }) => `log in to ${registry} first, for example with docker login or podman login`,
  403: ({ repository }) => `the user needs permission to push to ${repository}`,
  404: ({ repository }) => `some registries require you to create repository ${repository} first`,
  405: ({ registry }) => `${registry} does not accept pushes, for example because it is a proxy for another registry`,
  413: ({ registry }) => `${registry} or a proxy limits the request size`,
  429: ({ registry }) => `${registry} limits the request rate`,
};

/** Returns the error of a push: the operation and its target, the registry's message, and advice. */
function pushFailure(doing: string, ref: Reference, err: unknown): Error {
  const text = `${doing} ${formatRepository(ref)}: ${getErrorMessage(err)}`;
  if (!(err instanceof RegistryError))
    return new Error(isPlainHttp(err) ? `${text}; use --insecure to allow plain HTTP` : text, { cause: err });
  const wait = err.retryAfterMs === undefined ? "" : `; retry after ${Math.ceil(err.retryAfterMs / 1000)} s`;
  const advice = ADVICE[err.status]?.(ref);
  return new RegistryError(advice === undefined ? text : `${text}; ${advice}${wait}`, err.status, err.retryAfterMs);
}

/** Blobs up to this size are sent in one request from memory. */
const WHOLE_BYTES = 1024 * 1024;
const BYTES = { "content-type": "application/octet-stream" };
const RETRIED = new Set([408, 429, 500, 502, 503, 504]);

/** Options of an upload. */
interface UploadOptions {
  /** paths of repositories in the same registry that may have the blob */
  readonly mountFrom?: readonly string[] | undefined;
  readonly limits: DownloadLimits & { readonly retryAfterMs: number };
  readonly signal: AbortSignal;
}

/** An upload session of the registry, and the number of received bytes. */
interface Session {
  readonly location: URL;
  readonly offset: number;
}

/**
 * Sends a blob unless the repository has it or the registry mounts it from another repository.
 * Resumes a broken upload; if the registry has lost the session, restarts from the first byte.
 * @throws RegistryError or Error `pushing blob DIGEST to NAME: …`
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#push
 */
async function uploadBlob(to: Repository, blob: Descriptor, bytes: BlobBytes, options: UploadOptions): Promise<BlobOutcome> {
  const { limits, signal } = options;
  let session: Session | undefined;
  for (let failures = 0; ; ) {
    const before: number = session?.offset ?? 0;
    try {
      if (failures === 0 || session === undefined) {
        if (await isThere(to, blob, signal)) return failures === 0 ? "present" : "sent";
        const begun = await begin(to, blob, failures === 0 ? (options.mountFrom ?? []) : [], signal);
        if (begun === "mounted") return begun;
        session = begun;
      }
      await send(to, blob, bytes, session, signal);
      return "sent";
    } catch (err) {
      signal.throwIfAborted();
      const again = waitFor(err, failures, limits);
      if (again === undefined) throw pushFailure(`pushing blob ${blob.digest} to`, to.ref, err);
      await sleep(again, undefined, { signal });
      session = session && (await resumeSession(to, session, blob, signal));
      failures = (session?.offset ?? 0) > before ? 1 : failures + 1;
    }
  }
}

/** Returns the delay before the next attempt in milliseconds; undefined if a retry does not help. */
function waitFor(err: unknown, failures: number, limits: UploadOptions["limits"]): number | undefined {
  if (failures + 1 >= limits.attempts || isFetchFailure(err)) return undefined;
  const backoff = limits.backoffMs * 2 ** failures * (1 + Math.random() / 4);
  if (!(err instanceof RegistryError)) return isTransient(err) ? backoff : undefined;
  const wait = err.retryAfterMs ?? backoff;
  return RETRIED.has(err.status) && wait <= limits.retryAfterMs ? wait : undefined;
}

async function isThere(to: Repository, { digest }: Descriptor, signal: AbortSignal): Promise<boolean> {
  const response = await to.request({ method: "HEAD", path: `blobs/${digest}`, signal });
  await response.body.dump();
  return response.status === 200;
}

/** Mounts the blob, or starts an upload. */
async function begin(to: Repository, blob: Descriptor, mountFrom: readonly string[], signal: AbortSignal): Promise<Session | "mounted"> {
  const [from] = mountFrom;
  const mount = from === undefined ? "" : `?${new URLSearchParams({ mount: blob.digest, from }).toString()}`;
  const reads = from === undefined ? [] : [from];
  const response = await to.request({ method: "POST", path: `blobs/uploads/${mount}`, reads, repeatable: true, signal });
  if (response.status === 201) {
    await response.body.dump();
    return "mounted";
  }
  if (from !== undefined && response.status !== 202) {
    await response.body.dump();
    return begin(to, blob, [], signal);
  }
  return { location: await readUploadLocation(to, response, 202, signal), offset: 0 };
}

async function send(to: Repository, blob: Descriptor, bytes: BlobBytes, session: Session, signal: AbortSignal): Promise<void> {
  let { location } = session;
  let body: Uint8Array | undefined;
  if (blob.size <= WHOLE_BYTES && session.offset === 0) body = await whole(bytes(0));
  else if (session.offset < blob.size) {
    const range = session.offset === 0 ? {} : { "content-range": `${session.offset}-${blob.size - 1}` };
    const headers = { ...BYTES, "content-length": String(blob.size - session.offset), ...range };
    const sent = await to.request({ method: "PATCH", path: location, headers, body: () => bytes(session.offset), signal });
    location = await readUploadLocation(to, sent, 202, signal, 204);
  }
  const last = new URL(location);
  last.searchParams.set("digest", blob.digest);
  const headers = { ...BYTES, "content-length": String(body?.byteLength ?? 0) };
  const done = await to.request({ method: "PUT", path: last, headers, body, signal });
  if (done.status !== 201 && done.status !== 204) throw await readRegistryError(done);
  await done.body.dump();
}

/** Returns the state of a broken upload; undefined if the registry no longer knows it. */
async function resumeSession(to: Repository, session: Session, blob: Descriptor, signal: AbortSignal): Promise<Session | undefined> {
  try {
    const response = await to.request({ method: "GET", path: session.location, signal });
    const range = /^(?:bytes=)?0-(\d+)$/.exec(String(response.headers["range"] ?? ""));
    const location = await readUploadLocation(to, response, 204, signal, 202);
    const offset = range ? Number(range[1]) + 1 : 0;
    return range && offset > 1 && offset <= blob.size ? { location, offset } : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Returns the location of the next upload request. @throws RegistryError for another status. */
async function readUploadLocation(to: Repository, response: RegistryResponse, want: number, signal: AbortSignal, or = want): Promise<URL> {
  const { location } = response.headers;
  if (response.status !== want && response.status !== or) throw await readRegistryError(response);
  await response.body.dump();
  if (typeof location !== "string") throw new Error("the registry returned no upload Location");
  const url = URL.parse(location, (await to.base(signal)).href);
  if (!url) throw new Error("the registry returned an invalid upload Location");
  return url;
}

async function whole(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Limits for reading from and writing to a registry, see Limits. */
export interface StoreLimits extends DownloadLimits {
  readonly manifestBytes: number;
  readonly retryAfterMs: number;
}

/** One repository of a registry for reading images and, if its credentials allow it, writing them. */
export class RegistryStore implements ImageReader, ImageWriter {
  readonly name: string;
  readonly isWhole = true;
  readonly #repository: Repository;
  readonly #limits: StoreLimits;

  constructor(repository: Repository, limits: StoreLimits) {
    this.name = formatRepository(repository.ref);
    this.#repository = repository;
    this.#limits = limits;
  }

  manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#repository.manifest(reference === "" ? "latest" : reference, this.#limits.manifestBytes, signal);
  }

  find(reference: string, signal: AbortSignal): Promise<FetchedManifest | undefined> {
    return this.#repository.findManifest(reference === "" ? "latest" : reference, this.#limits.manifestBytes, signal);
  }

  blob(blob: Descriptor, signal: AbortSignal): BlobBytes {
    return (offset) => blobBytes(this.#repository, blob, offset, this.#limits, signal);
  }

  async has(reference: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { status, digest } = await this.#repository.headManifest(reference, signal);
      if (status === 404 || digest !== undefined) return digest;
      return (await this.find(reference, signal))?.digest;
    } catch (err) {
      signal.throwIfAborted();
      throw pushFailure(`checking ${reference} in`, this.#repository.ref, err);
    }
  }

  putBlob(
    blob: Descriptor,
    bytes: BlobBytes,
    { mountFrom, signal }: { mountFrom?: readonly string[]; signal: AbortSignal },
  ): Promise<BlobOutcome> {
    return uploadBlob(this.#repository, blob, bytes, { mountFrom, limits: this.#limits, signal });
  }

  /** Returns the referrers of a manifest, in the registry's order. @throws as `listReferrers` */
  referrers(digest: string, signal: AbortSignal): Promise<Referrer[]> {
    return listReferrers(this.#repository, digest, this.#limits.manifestBytes, signal);
  }

  async putManifest(manifest: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void> {
    const { bytes: body, mediaType, digest } = manifest;
    const headers = { "content-type": mediaType };
    const doing = `pushing manifest ${tag ?? digest} to`;
    try {
      const path = `manifests/${tag ?? digest}`;
      const response = await this.#repository.request({ method: "PUT", path, headers, body, repeatable: true, signal });
      if (response.status !== 201 && response.status !== 200) throw await readRegistryError(response);
      await response.body.dump();
      const taken = response.headers["docker-content-digest"];
      if (typeof taken === "string" && taken !== digest)
        throw new Error(`the registry has changed the manifest: its digest is ${taken}, expected ${digest}`);
    } catch (err) {
      signal.throwIfAborted();
      throw pushFailure(doing, this.#repository.ref, err);
    }
  }

  /**
   * Deletes a tag; the registry keeps the manifest while other tags reference it.
   * @throws RegistryError, for example 405 if the registry does not delete tags
   * @see https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#deleting-tags
   */
  async deleteTag(tag: string, signal: AbortSignal): Promise<void> {
    const response = await this.#repository.request({ method: "DELETE", path: `manifests/${tag}`, repeatable: true, signal });
    if (response.status !== 202 && response.status !== 200 && response.status !== 404) throw await readRegistryError(response);
    await response.body.dump();
  }
}
