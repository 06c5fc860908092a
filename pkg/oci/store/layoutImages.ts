import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatImagePlace, isDigest, type LayoutPlace } from "../imagePlace.ts";
import type { Limits } from "../limits.ts";
import { type Descriptor, getPlatform } from "../manifest.ts";
import type { SignaturePolicy } from "../policy/signaturePolicy.ts";
import { ImageCache, removeTree } from "../pull/cache.ts";
import { filterAtOrBelow, type ImageFilter } from "../pull/imageFilter.ts";
import type { PulledImage } from "../pull/puller.ts";
import { applyLayers, describeImage, downloadLayers } from "../pull/unpack.ts";
import type { FoundContent } from "../registry/imageSource.ts";
import { openLayout } from "./layoutArchive.ts";
import type { LayoutStore } from "./layoutStore.ts";

/** Unpacks images in layouts, like `Puller` for registries, below a temporary folder until `close`. */
export class LayoutImages {
  readonly #dir: string;
  readonly #policy: Pick<SignaturePolicy, "requireLayout">;
  readonly #cache: ImageCache;
  /** by type and path: an archive is unpacked once */
  readonly #layouts = new Map<string, Promise<LayoutStore>>();
  #owners = 0;

  private constructor(dir: string, policy: Pick<SignaturePolicy, "requireLayout">) {
    this.#dir = dir;
    this.#policy = policy;
    this.#cache = new ImageCache(join(dir, "images"));
  }

  static async open(policy: Pick<SignaturePolicy, "requireLayout">): Promise<LayoutImages> {
    return new LayoutImages(await mkdtemp(join(tmpdir(), "olmv1-layouts-")), policy);
  }

  /**
   * Resolves the image to a digest. @throws ImageContentError that describes the missing image;
   * RejectedError of the signature policy
   */
  async resolve(place: LayoutPlace, signal: AbortSignal): Promise<{ canonical: string; digest: string }> {
    const { digest } = (await this.#found(place, signal)).manifest;
    return { canonical: formatImagePlace({ ...place, tag: digest }), digest };
  }

  /**
   * Calls `use` with the image, unpacked according to `filter`. @throws as `resolve`; the error of
   * the filter
   */
  async withImage<T>(
    place: LayoutPlace,
    filter: ImageFilter,
    o: { limits: Limits; signal: AbortSignal },
    use: (image: PulledImage) => Promise<T>,
  ): Promise<T> {
    const owner = `layout-${++this.#owners}`;
    try {
      return await use(await this.#unpacked(place, filter, owner, o));
    } finally {
      await this.#cache.remove(owner);
    }
  }

  /** Unpacks the image according to `filter` until `close`. @throws as `withImage` */
  unpack(place: LayoutPlace, filter: ImageFilter, o: { limits: Limits; signal: AbortSignal }): Promise<PulledImage> {
    return this.#unpacked(place, filter, `layout-${++this.#owners}`, o);
  }

  /** Removes all unpacked images. */
  async close(): Promise<void> {
    await removeTree(this.#dir);
  }

  async #unpacked(
    place: LayoutPlace,
    filter: ImageFilter,
    owner: string,
    { limits, signal }: { limits: Limits; signal: AbortSignal },
  ): Promise<PulledImage> {
    const found = await this.#found(place, signal);
    const { digest } = found.manifest;
    const image = await describeImage(found, getPlatform(process.arch), limits, signal);
    const part = filterAtOrBelow(filter(image.config, { text: formatImagePlace(place), isPinned: true }).root);
    const draft = await this.#cache.begin(owner);
    try {
      await downloadLayers(found, image.layers, draft.scratch, limits, signal);
      await applyLayers(image.layers, draft.scratch, draft.content, part, limits, signal);
      const { dir, modTime } = await this.#cache.publish(draft, owner, digest, { config: image.config, root: part.root });
      return { canonical: formatImagePlace({ ...place, tag: digest }), digest, dir, root: part.root, labels: image.config.labels, modTime };
    } finally {
      await this.#cache.discard(draft);
    }
  }

  async #found(place: LayoutPlace, signal: AbortSignal): Promise<FoundContent> {
    const path = await realpath(place.path).catch(() => place.path);
    await this.#policy.requireLayout({ transport: place.kind, path, name: isDigest(place.tag) ? "" : place.tag });
    const key = `${place.kind}:${path}`;
    const opening = this.#layouts.get(key) ?? openLayout(place, () => mkdtemp(join(this.#dir, "layout-")), signal);
    this.#layouts.set(key, opening);
    const layout = await opening;
    const manifest = await layout.manifest(place.tag, signal);
    const blob = async (target: Descriptor, offset: number): Promise<{ body: AsyncIterable<Uint8Array>; offset: number }> =>
      Promise.resolve({ body: layout.blob(target, signal)(offset), offset });
    return { repository: { manifest: (digest) => layout.manifest(digest, signal), blob }, manifest };
  }
}
