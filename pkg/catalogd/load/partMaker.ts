import type { PlacedMeta } from "../../fbc/types.ts";

/** One line of a part: what it is found by, and the object itself. */
export interface PartLine {
  schema: string;
  package: string;
  name: string;
  value: unknown;
}

/** Takes a part's lines in order. */
export type EmitLine = (line: PartLine) => void;

/** Makes one part of a catalog's content out of its metas as they pass; one maker for each reading of a catalog. */
export interface PartMaker {
  /**
   * @param meta must not be kept: it is large. Text taken from it has to be copied, see `ownText`.
   * @param sha256 of its line in the part "catalog".
   * @throws ContentError to refuse the catalog.
   */
  add(meta: PlacedMeta, emit: EmitLine, sha256: Buffer): void;
  /** After the last meta. @throws ContentError to refuse the catalog. */
  end(emit: EmitLine): void;
}
