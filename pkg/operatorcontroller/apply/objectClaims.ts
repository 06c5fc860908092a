import { RetryableError } from "../../errors/errors.ts";

/** Another extension is writing one of the objects. */
export class ObjectsClaimed extends RetryableError {}

/**
 * Which extension is writing which object just now. Two extensions that hold the same object may be worked on side by side: both would see
 * that it does not exist yet, and the second would take from the first what that has just created.
 */
export class ObjectClaims {
  readonly #held = new Map<string, string>();

  /**
   * Claims objects until the returned function is called.
   * @param keys of `objectKey`, once each.
   * @throws ObjectsClaimed Retrying when another extension holds one of them; then none is claimed.
   */
  claim(extension: string, keys: readonly string[]): () => void {
    for (const key of keys) {
      const holder = this.#held.get(key);
      if (holder === undefined) continue;
      throw new ObjectsClaimed("Retrying", `ClusterExtension "${holder}" is just writing ${key}, which this bundle holds too`);
    }
    for (const key of keys) this.#held.set(key, extension);
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }
}
