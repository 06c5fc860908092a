import { KeyedLock } from "../keyedLock.ts";

/** Which repositories have which blobs, as far as this process put them there or saw them: a registry need not be sent a blob twice. */
export class BlobBook {
  readonly #lock = new KeyedLock();
  /** "registry/repository" by digest */
  readonly #held = new Map<string, Set<string>>();

  /**
   * Calls `put` with the paths of those repositories that have a blob and lie in the registry of `repository`; one blob is put in one place at a time, so that
   * the next can take it from there.
   * @param repository "registry/repository", which has the blob afterwards
   */
  placing<T>(digest: string, repository: string, signal: AbortSignal, put: (mountFrom: readonly string[]) => Promise<T>): Promise<T> {
    return this.#lock.run(digest, signal, async () => {
      const held = this.#held.get(digest) ?? new Set();
      const registry = `${repository.split("/")[0]}/`;
      const others = [...held].filter((one) => one !== repository && one.startsWith(registry));
      const result = await put(others.map((one) => one.slice(registry.length)));
      this.#held.set(digest, held.add(repository));
      return result;
    });
  }
}
