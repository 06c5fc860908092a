import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { CatalogContent } from "../store/content.ts";
import type { CatalogFollower } from "./catalogFollower.ts";
import { servedImage } from "./servedImage.ts";

/** What a leader needs that has lost content. */
export interface LostContentsInit {
  contents: { get(name: string): CatalogContent | undefined };
  follower: Pick<CatalogFollower, "follow" | "failing">;
  /** Leaves leading to another replica, if there is one that has all content. */
  stepDown: (why: string) => void;
}

/**
 * Content that was stored here and turned out to be damaged or gone while this replica leads. It is loaded again as the status names it. Where
 * that fails, with the registry down for one, the other replicas may still have it: a leader that said that it is not served would have them drop
 * it. So leading is left to them, once; when it comes back to this replica nobody has it.
 */
export class LostContents {
  readonly #init: LostContentsInit;
  readonly #names = new Set<string>();
  /** For which leading was left to others, by the digest. */
  readonly #left = new Map<string, string>();

  constructor(init: LostContentsInit) {
    this.#init = init;
  }

  /** Tells that content was lost. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** Loads again what was lost of a catalog. @throws the signal's reason when it aborts. */
  async replace(
    name: string,
    catalog: Readonly<ClusterCatalog>,
    log: Logger,
    signal: AbortSignal,
  ): Promise<"nothing to do" | "pending" | "loaded" | "left to others"> {
    const { contents, follower, stepDown } = this.#init;
    const image = servedImage(catalog);
    if (contents.get(name)) this.#forget(name);
    if (!image || !this.#names.has(name) || this.#left.get(name) === image.digest) return "nothing to do";
    const result = await follower.follow(name, catalog, log, signal);
    if (result?.isPending) return "pending";
    if (!follower.failing.includes(name)) {
      this.#forget(name);
      return "loaded";
    }
    this.#left.set(name, image.digest);
    stepDown(`content of catalog ${name} was lost here and cannot be loaded again; other replicas may have it`);
    return "left to others";
  }

  #forget(name: string): void {
    this.#names.delete(name);
    this.#left.delete(name);
  }
}
