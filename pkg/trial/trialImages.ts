import { Readable } from "node:stream";
import { buildBundleParts } from "../authoring/build/imageContent.ts";
import { publishImage, pushInto } from "../authoring/build/publishImage.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { findLayoutPlace, type ImagePlace, parsePlace } from "../oci/imagePlace.ts";
import { CONFIG_DIR_LABEL } from "../oci/pull/imageFilter.ts";
import { formatReference, type Reference } from "../oci/reference.ts";
import type { ImageStores } from "../oci/store/imageStores.ts";
import { isFolderSource } from "../sources/bundleReader.ts";
import { buildTrialCatalog, type PublishedBundle, type TrialBundle } from "./trialCatalog.ts";

/** The images of one trial in one repository, each under a tag of its own. The cluster must be able to pull from the repository. */
export class TrialImages {
  readonly #stores: ImageStores;
  readonly #repository: Reference;
  readonly #name: string;
  readonly #tags: string[] = [];

  /** @param name of the trial; the tags start with it */
  constructor(stores: ImageStores, repository: Reference, name: string) {
    this.#stores = stores;
    this.#repository = repository;
    this.#name = name;
  }

  /**
   * Pushes the bundles and a catalog of them. Builds an image for a bundle in a folder, and copies all other bundles without changing their digest.
   * @returns the reference of the catalog by digest
   */
  async publish(bundles: readonly TrialBundle[], signal: AbortSignal): Promise<string> {
    const published: PublishedBundle[] = [];
    for (const [at, bundle] of bundles.entries()) {
      published.push({ bundle, image: await this.#publishBundle(bundle, `bundle-${at + 1}`, signal) });
    }
    const bytes = Buffer.from(buildTrialCatalog(published));
    const file = { path: "configs/catalog.json", size: bytes.byteLength, open: () => Readable.from([bytes]) };
    const parts = { files: [file], labels: { [CONFIG_DIR_LABEL]: "/configs" }, annotations: {} };
    return (await publishImage(this.#stores, this.#place("catalog"), parts, signal)).image;
  }

  /** Deletes the tags. @returns the references that the registry did not delete, with the reason */
  async remove(signal: AbortSignal): Promise<string[]> {
    const store = await this.#stores.registry(this.#repository);
    const left: string[] = [];
    for (const tag of this.#tags.splice(0)) {
      await store
        .deleteTag(tag, signal)
        .catch((err: unknown) => void left.push(`${formatReference({ ...this.#repository, tag })}: ${getErrorMessage(err)}`));
    }
    return left;
  }

  async #publishBundle({ source, files }: TrialBundle, suffix: string, signal: AbortSignal): Promise<string> {
    const layout = await findLayoutPlace(source);
    const to = this.#place(suffix);
    if (!layout && (await isFolderSource(source)))
      return (await publishImage(this.#stores, to, buildBundleParts(files, { labels: {}, annotations: {} }), signal)).image;
    return (await pushInto(this.#stores, { from: layout ?? parsePlace(source), to, expected: undefined }, signal)).image;
  }

  #place(suffix: string): ImagePlace {
    const tag = `${this.#name}-${suffix}`;
    this.#tags.push(tag);
    return { kind: "registry", ref: { ...this.#repository, tag } };
  }
}
