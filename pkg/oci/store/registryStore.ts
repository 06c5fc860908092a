import { blobBytes, type DownloadLimits } from "../download.ts";
import { ACCEPTED_MANIFESTS, type Descriptor } from "../manifest.ts";
import { type Referrer, referrersOf } from "../policy/referrers.ts";
import { nameOf } from "../reference.ts";
import type { FetchedManifest, Repository } from "../registry.ts";
import { RegistryError, registryError } from "../registryError.ts";
import type { BlobBytes, BlobFate, ImageReader, ImageWriter } from "./imageStore.ts";
import { pushFailure } from "./pushFailure.ts";
import { uploadBlob } from "./upload.ts";

/** What reading from and writing to a registry may cost, see Limits. */
export interface StoreLimits extends DownloadLimits {
  readonly manifestBytes: number;
  readonly retryAfterMs: number;
}

/** One repository of a registry, to read images from and, where its credentials allow it, to write them to. */
export class RegistryStore implements ImageReader, ImageWriter {
  readonly name: string;
  readonly isWhole = true;
  readonly #repository: Repository;
  readonly #limits: StoreLimits;

  constructor(repository: Repository, limits: StoreLimits) {
    this.name = nameOf(repository.ref);
    this.#repository = repository;
    this.#limits = limits;
  }

  manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#repository.manifest(reference === "" ? "latest" : reference, this.#limits.manifestBytes, signal);
  }

  async find(reference: string, signal: AbortSignal): Promise<FetchedManifest | undefined> {
    try {
      return await this.manifest(reference, signal);
    } catch (err) {
      if (err instanceof RegistryError && err.status === 404) return undefined;
      throw err;
    }
  }

  blob(blob: Descriptor, signal: AbortSignal): BlobBytes {
    return (offset) => blobBytes(this.#repository, blob, offset, this.#limits, signal);
  }

  async has(reference: string, signal: AbortSignal): Promise<string | undefined> {
    const headers = { accept: ACCEPTED_MANIFESTS.join(", ") };
    try {
      const answer = await this.#repository.request({ method: "HEAD", path: `manifests/${reference}`, headers, signal });
      await answer.body.dump();
      if (answer.status === 404) return undefined;
      const digest = answer.headers["docker-content-digest"];
      if (answer.status === 200 && typeof digest === "string") return digest;
      // An answer to HEAD has no body that says why, and few registries leave the digest out.
      return (await this.find(reference, signal))?.digest;
    } catch (err) {
      signal.throwIfAborted();
      throw pushFailure(`looking for ${reference} in`, this.#repository.ref, err);
    }
  }

  putBlob(
    blob: Descriptor,
    bytes: BlobBytes,
    { mountFrom, signal }: { mountFrom?: readonly string[]; signal: AbortSignal },
  ): Promise<BlobFate> {
    return uploadBlob(this.#repository, blob, bytes, { mountFrom, limits: this.#limits, signal });
  }

  /** What refers to a manifest, in the registry's order. @throws as `referrersOf` */
  referrers(digest: string, signal: AbortSignal): Promise<Referrer[]> {
    return referrersOf(this.#repository, digest, this.#limits.manifestBytes, signal);
  }

  async putManifest(manifest: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void> {
    const { bytes: body, mediaType, digest } = manifest;
    const headers = { "content-type": mediaType };
    const doing = `pushing manifest ${tag ?? digest} to`;
    try {
      const path = `manifests/${tag ?? digest}`;
      const answer = await this.#repository.request({ method: "PUT", path, headers, body, repeatable: true, signal });
      if (answer.status !== 201 && answer.status !== 200) throw await registryError(answer);
      await answer.body.dump();
      const taken = answer.headers["docker-content-digest"];
      if (typeof taken === "string" && taken !== digest)
        throw new Error(`the registry has changed it: its digest is ${taken}, expected ${digest}`);
    } catch (err) {
      signal.throwIfAborted();
      throw pushFailure(doing, this.#repository.ref, err);
    }
  }
}
