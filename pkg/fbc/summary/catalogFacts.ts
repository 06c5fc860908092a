import { isName } from "../boundedTexts.ts";
import { packageOf } from "../content.ts";
import type { Meta } from "../types.ts";
import { PackageFacts } from "./packageFacts.ts";

/** What has been learnt of the packages of a catalog. */
export class CatalogFacts {
  readonly #packages = new Map<string, PackageFacts>();

  /** The packages with at least one meta, by name. Metas that name no package, or one with an impossibly long name, belong to none. */
  get packages(): PackageFacts[] {
    return [...this.#packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @param meta is not kept. @param sha256 of its canonical form. */
  add(meta: Meta, sha256: Buffer): void {
    const name = packageOf(meta);
    if (!isName(name)) return;
    let facts = this.#packages.get(name);
    if (!facts) {
      facts = new PackageFacts(name);
      this.#packages.set(facts.name, facts);
    }
    facts.add(meta, sha256);
  }
}
