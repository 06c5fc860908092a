import type { ContentIndex } from "./contentIndex.ts";
import type { PartName } from "./parts.ts";

interface LastContent {
  tags: ReadonlyMap<PartName, string>;
  /** Whole seconds since the epoch. */
  lastModified: number;
}

/** What each catalog's content was last and since when, also after it was lost; so its time moves only with the content. */
export class LastContents {
  readonly #contents = new Map<string, LastContent>();

  remember(name: string, { indexes, lastModified }: { indexes: ReadonlyMap<PartName, ContentIndex>; lastModified: number }): void {
    this.#contents.set(name, { tags: new Map([...indexes].map(([part, { tag }]) => [part, tag])), lastModified });
  }

  forget(name: string): void {
    this.#contents.delete(name);
  }

  /** Since when a content is what it is: as before when all parts are equal, otherwise `now`, but later than before. Whole seconds since the epoch. */
  timeOf(name: string, indexes: ReadonlyMap<PartName, ContentIndex>, now: number): number {
    const last = this.#contents.get(name);
    if (!last) return now;
    const isEqual = last.tags.size === indexes.size && [...indexes].every(([part, { tag }]) => last.tags.get(part) === tag);
    return isEqual ? last.lastModified : Math.max(now, last.lastModified + 1);
  }
}
