import { Readable } from "node:stream";
import { buildBundleParts } from "../authoring/build/imageContent.ts";
import { publishImage } from "../authoring/build/publishImage.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { CONFIG_DIR_LABEL } from "../oci/pull/imageFilter.ts";
import { formatReference, type Reference } from "../oci/reference.ts";
import type { ImageStores } from "../oci/store/imageStores.ts";
import { buildCatalogMetas, getBundleName, type TableBundle, type TableCatalog } from "./catalogTable.ts";
import type { ScenarioNames } from "./scenarioNames.ts";
import { buildTableBundle, type DefinitionVersions } from "./tableBundle.ts";

/** A repository that this program can push to and the cluster can pull from. */
export interface ImageRepository {
  readonly stores: ImageStores;
  readonly repository: Reference;
}

/** Publishes the images of one scenario in one repository, each under a tag of its own. */
export class ScenarioImages {
  readonly #repository: ImageRepository;
  readonly #names: ScenarioNames;
  readonly #definitions: DefinitionVersions;
  readonly #signal: AbortSignal;
  /** References by digest, by bundle name. */
  readonly #bundles = new Map<string, string>();
  readonly #tags = new Set<string>();

  constructor(repository: ImageRepository, names: ScenarioNames, definitions: DefinitionVersions, signal: AbortSignal) {
    this.#repository = repository;
    this.#names = names;
    this.#definitions = definitions;
    this.#signal = signal;
  }

  /** Pushes a catalog under a tag, and the bundles of its table that are not published yet. */
  async publishCatalog(name: string, tag: string, content: TableCatalog): Promise<void> {
    for (const bundle of content.table.bundles) await this.#publishBundle(bundle);
    const metas = buildCatalogMetas(content, (bundle) => this.#bundles.get(getBundleName(bundle)) ?? "");
    const bytes = Buffer.from(metas.map((meta) => `${JSON.stringify(this.#names.substitute(meta))}\n`).join(""));
    await this.publishFiles(`${name}-${tag}`, new Map([["configs/catalog.json", bytes]]));
  }

  /** Pushes an image with these files, and the label of catalogs. @param image part of its tag. @returns its reference by digest */
  async publishFiles(image: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
    const parts = [...files].map(([path, bytes]) => ({ path, size: bytes.byteLength, open: () => Readable.from([bytes]) }));
    return this.#publish(image, { files: parts, labels: { [CONFIG_DIR_LABEL]: "/configs" }, annotations: {} });
  }

  /** Deletes the tags. @returns the references that are not deleted, with the reason */
  async remove(signal: AbortSignal): Promise<string[]> {
    const { stores, repository } = this.#repository;
    const left: string[] = [];
    for (const tag of this.#tags)
      await stores
        .registry(repository)
        .then((store) => store.deleteTag(tag, signal))
        .catch((err: unknown) => void left.push(`${formatReference({ ...repository, tag })}: ${getErrorMessage(err)}`));
    this.#tags.clear();
    return left;
  }

  async #publishBundle(bundle: TableBundle): Promise<void> {
    const name = getBundleName(bundle);
    if (this.#bundles.has(name)) return;
    const parts = buildBundleParts(buildTableBundle(bundle, this.#definitions), { labels: {}, annotations: {} });
    this.#bundles.set(name, await this.#publish(name, parts));
  }

  async #publish(image: string, parts: Parameters<typeof publishImage>[2]): Promise<string> {
    const { stores, repository } = this.#repository;
    const tag = this.#names.tag(image.replaceAll(/[^\w.-]/g, "-"));
    this.#tags.add(tag);
    return (await publishImage(stores, { kind: "registry", ref: { ...repository, tag } }, parts, this.#signal)).image;
  }
}
