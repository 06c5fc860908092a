import { systemClock } from "../async/clock.ts";
import type { PullCounts } from "../controller/pullMetrics.ts";
import { PullPool, type PullState, targetOf } from "../oci/pullPool.ts";
import type { ResolvedImage, UnpackedImage } from "./facts.ts";
import type { CatalogKeeper } from "./steps/withdraw.ts";

/** Looks up and pulls catalog images; of each only the catalog's folder is unpacked. */
export interface CatalogPuller extends CatalogKeeper {
  /** The digest that a reference stands for now. */
  resolve(ref: string, signal: AbortSignal): Promise<ResolvedImage>;
  /** @param identity the reference that the signature policy is applied to; `ref` by default. */
  pull(name: string, ref: string, signal: AbortSignal, identity?: string): Promise<UnpackedImage>;
}

/** What a reference stands for, and its image unless that is stored already. */
export interface FetchedImage {
  readonly resolved: ResolvedImage;
  readonly unpacked?: UnpackedImage;
  /** When its pull began, in milliseconds as `performance.now` gives them. */
  readonly pullBegan?: number;
}

/** What passes over catalogs need of their images. Nothing of it waits for a registry. */
export interface CatalogImageSource extends CatalogKeeper {
  /** How the lookup of `ref` stands, and the pull of what it stands for unless that is stored; both are started if need be. */
  fetch(name: string, ref: string, isStored: (canonical: string) => boolean): PullState<FetchedImage>;
  /** How the pull of an image by digest stands, which is started if need be. @param identity as CatalogPuller has it. */
  load(name: string, ref: string, identity: string): PullState<UnpackedImage>;
}

/** Images by catalog. They are looked up and pulled outside of passes; the catalog is woken when that has ended. */
export class CatalogImages implements CatalogImageSource {
  readonly #puller: CatalogPuller;
  readonly #pool: PullPool<FetchedImage>;

  constructor(puller: CatalogPuller, wake: (catalog: string) => void) {
    this.#puller = puller;
    this.#pool = new PullPool({ onChange: wake, clock: systemClock });
  }

  /** How many pulls run and wait. */
  get pulls(): PullCounts {
    return this.#pool;
  }

  fetch(name: string, ref: string, isStored: (canonical: string) => boolean): PullState<FetchedImage> {
    return this.#pool.request(name, JSON.stringify(["fetch", ref]), targetOf(ref), async (signal) => {
      const resolved = await this.#puller.resolve(ref, signal);
      if (isStored(resolved.canonical)) return { resolved };
      const pullBegan = performance.now();
      const unpacked = await this.#puller.pull(name, ref, signal);
      return { resolved: { canonical: unpacked.canonical, digest: unpacked.digest }, unpacked, pullBegan };
    });
  }

  load(name: string, ref: string, identity: string): PullState<UnpackedImage> {
    const state = this.#pool.request(name, JSON.stringify(["load", ref, identity]), targetOf(ref), async (signal) => {
      const unpacked = await this.#puller.pull(name, ref, signal, identity);
      return { resolved: unpacked, unpacked };
    });
    if (state.kind !== "done") return state;
    const { unpacked } = state.value;
    return unpacked ? { kind: "done", value: unpacked } : { kind: "failed", error: new Error("the image was not unpacked") };
  }

  /** Ends the catalog's pull and removes its images. */
  async remove(name: string): Promise<void> {
    await this.#pool.cancel(name);
    await this.#puller.remove(name);
  }

  /** Credentials have changed: what fails with those before is started again. */
  renew(): void {
    this.#pool.renew();
  }

  /** Ends all pulls; new ones may start. */
  async clear(): Promise<void> {
    await this.#pool.clear();
  }

  /** Ends all pulls. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}
