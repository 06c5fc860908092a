import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatImagePlace, type ImagePlace, type LayoutPlace } from "../imagePlace.ts";
import type { RegistryAccess } from "../registry/registryAccess.ts";
import type { FetchedManifest } from "../registry/repository.ts";
import type { ImageReader, ImageWriter } from "./imageStore.ts";
import { openLayout, packLayout, requireReplaceable } from "./layoutArchive.ts";
import { LayoutStore } from "./layoutStore.ts";
import { RegistryStore } from "./registryStore.ts";

/** An image and its source. */
export interface FoundImage {
  readonly reader: ImageReader;
  readonly manifest: FetchedManifest;
}

/** Opens image locations; removes its temporary files on `close`. */
export class ImageStores {
  readonly #access: RegistryAccess;
  readonly #folders: string[] = [];

  constructor(access: RegistryAccess) {
    this.#access = access;
  }

  /** Finds an image. @throws Error that describes where it is missing. */
  async find(place: ImagePlace, signal: AbortSignal): Promise<FoundImage> {
    if (place.kind === "registry") {
      const { repository, manifest } = await this.#access.locate(place.ref, signal);
      return { reader: new RegistryStore(repository, this.#access.limits), manifest };
    }
    const reader = await this.opened(place, signal);
    return { reader, manifest: await reader.manifest(place.tag, signal) };
  }

  /**
   * Calls `work` with an image. For a registry, tries the mirrors one after another until `work`
   * succeeds.
   * @throws Error that describes where the image is missing, or the error of `work`.
   */
  async withImage<T>(place: ImagePlace, signal: AbortSignal, work: (found: FoundImage) => Promise<T>): Promise<T> {
    if (place.kind !== "registry") return work(await this.find(place, signal));
    return this.#access.withImage(place.ref, signal, ({ repository, manifest }) =>
      work({ reader: new RegistryStore(repository, this.#access.limits), manifest }),
    );
  }

  /**
   * Calls `work` with a writer for a location; an archive is written afterwards. @throws Error, before `work`, if the location exists and is not a layout
   */
  async writing<T>(place: ImagePlace, signal: AbortSignal, work: (writer: ImageWriter) => Promise<T>): Promise<T> {
    if (place.kind === "registry") return work(await this.registry(place.ref));
    if (place.kind === "oci") return work(await this.layout(place.path));
    await requireReplaceable(place.path);
    const layout = new LayoutStore(await this.#folder(), formatImagePlace({ ...place, tag: "" }));
    await layout.create();
    const result = await work(layout);
    await packLayout(layout.dir, place.path, signal);
    return result;
  }

  /** Returns a layout in a folder for writing images. @throws Error for a file, and for a folder with other files */
  async layout(path: string): Promise<LayoutStore> {
    const held = await stat(path).catch(() => undefined);
    if (held && !held.isDirectory()) throw new Error(`${path} is a file, not a folder with an OCI image layout`);
    const layout = new LayoutStore(path, `oci:${path}`);
    await layout.create();
    return layout;
  }

  /**
   * Opens a layout for reading; an unpacked archive is removed on `close`. @throws
   * ImageContentError that describes the problem
   */
  opened(place: LayoutPlace, signal: AbortSignal): Promise<LayoutStore> {
    return openLayout(place, () => this.#folder(), signal);
  }

  /** Returns a repository for writing. */
  async registry(ref: Extract<ImagePlace, { kind: "registry" }>["ref"]): Promise<RegistryStore> {
    return new RegistryStore(await this.#access.repository(ref), this.#access.limits);
  }

  /** Returns an empty layout that is removed on `close`. */
  async scratch(): Promise<LayoutStore> {
    const layout = new LayoutStore(await this.#folder(), "a temporary layout");
    await layout.create();
    return layout;
  }

  async close(): Promise<void> {
    for (const folder of this.#folders.splice(0)) await rm(folder, { recursive: true, force: true });
    await this.#access.close();
  }

  async #folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "olmv1-layout-"));
    this.#folders.push(folder);
    return folder;
  }
}
