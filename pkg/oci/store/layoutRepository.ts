import { isDigest } from "../imagePlace.ts";
import type { Descriptor } from "../manifest.ts";
import { type FetchedManifest, parseReferrers, type Referrer } from "../registry/repository.ts";
import type { BlobBytes, BlobOutcome, ImageReader, ImageWriter } from "./imageStore.ts";
import type { LayoutStore } from "./layoutStore.ts";

/**
 * The images of one repository in a layout with several repositories: the name in the layout is the
 * whole reference, such as "quay.io/team/app:v1".
 */
export class LayoutRepository implements ImageReader, ImageWriter {
  readonly name: string;
  readonly isWhole = false;
  readonly #layout: LayoutStore;
  readonly #repository: string;

  /** @param repository for example "quay.io/team/app" */
  constructor(layout: LayoutStore, repository: string) {
    this.#layout = layout;
    this.#repository = repository;
    this.name = `${layout.name}:${repository}`;
  }

  manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest> {
    return this.#layout.manifest(this.#named(reference), signal);
  }

  find(reference: string, signal: AbortSignal): Promise<FetchedManifest | undefined> {
    return this.#layout.find(this.#named(reference), signal);
  }

  blob(blob: Descriptor, signal: AbortSignal): BlobBytes {
    return this.#layout.blob(blob, signal);
  }

  has(reference: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#layout.has(this.#named(reference), signal);
  }

  putBlob(blob: Descriptor, bytes: BlobBytes, o: { signal: AbortSignal }): Promise<BlobOutcome> {
    return this.#layout.putBlob(blob, bytes, o);
  }

  putManifest(manifest: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void> {
    return this.#layout.putManifest(manifest, tag === undefined ? undefined : this.#named(tag), signal);
  }

  /** Reads the referrers tag, as for registries without a referrers endpoint. */
  async referrers(digest: string, signal: AbortSignal): Promise<Referrer[]> {
    const list = await this.find(digest.replace(":", "-"), signal);
    return list ? parseReferrers(list.bytes) : [];
  }

  #named(reference: string): string {
    return isDigest(reference) ? reference : `${this.#repository}:${reference}`;
  }
}
