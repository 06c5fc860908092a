import * as z from "zod";
import type { ContentIndex } from "./contentIndex.ts";
import type { Encoding } from "./encodings.ts";
import type { DamagedError } from "./storedFile.ts";
import type { OpenForm, StoredPart } from "./storedPart.ts";

/** How sound a content is; the findings themselves are its part "findings". */
export const FindingsSummary = z.object({
  errors: z.int().min(0),
  warnings: z.int().min(0),
  /** The first ten, errors first, each on one line of at most 512 characters. */
  first: z.array(z.string()),
});
export type FindingsSummary = z.output<typeof FindingsSummary>;

/** A content in which nothing was found. */
export const NO_FINDINGS: FindingsSummary = { errors: 0, warnings: 0, first: [] };

/** Where a catalog's content comes from. */
export interface ContentOrigin {
  /** Image reference by digest. */
  ref: string;
  /** Digest of the image. */
  digest: string;
  /** When the image was unpacked, RFC 3339 in whole seconds. */
  lastUnpacked: string;
}

/** What of a content is not as it was written. */
export interface Damage {
  part: PartName;
  /** The compressed form; without, it is the content itself. */
  encoding: Encoding | undefined;
  err: DamagedError;
}

/**
 * What is served of one catalog at one time. `hold` it before reading and `release` it afterwards; its files are closed when it is retired and
 * nobody holds it.
 */
export class CatalogContent {
  readonly origin: ContentOrigin;
  readonly parts: ReadonlyMap<PartName, StoredPart>;
  /** Whole seconds since the epoch. */
  readonly lastModified: number;
  readonly findings: FindingsSummary;
  /** The metas. */
  readonly catalog: StoredPart;
  #holders = 1;
  #retired = false;

  /** @throws Error when the metas are not among the parts. */
  constructor(origin: ContentOrigin, parts: ReadonlyMap<PartName, StoredPart>, lastModified: number, findings = NO_FINDINGS) {
    const catalog = parts.get("catalog");
    if (!catalog) throw new Error("a content without metas");
    this.origin = origin;
    this.parts = parts;
    this.lastModified = lastModified;
    this.findings = findings;
    this.catalog = catalog;
  }

  /** The index of each part. */
  get indexes(): Map<PartName, ContentIndex> {
    return new Map([...this.parts].map(([part, { index }]) => [part, index]));
  }

  /** Sets who is told when something of it cannot be read as it was written. */
  onDamage(damaged: (damage: Damage) => void): void {
    for (const [part, stored] of this.parts) stored.onDamage((err, encoding) => damaged({ part, encoding, err }));
  }

  /** Hands over a part's compressed file. */
  async addCompressed(part: PartName, encoding: Encoding, form: OpenForm): Promise<void> {
    const stored = this.#retired ? undefined : this.parts.get(part);
    if (stored) stored.addCompressed(encoding, form);
    else await form.handle.close();
  }

  hold(): void {
    this.#holders++;
  }

  release(): void {
    if (--this.#holders > 0) return;
    for (const part of this.parts.values()) part.close();
  }

  /** Ends the owner's hold: nobody new will get this content. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.release();
  }
}

/**
 * What is stored of a catalog, each as a file of JSON Lines with an index: the metas themselves ("catalog"), and what is made of them while they
 * are read.
 */
export const PARTS = ["catalog", "findings", "packages", "properties", "search", "graphql"] as const;
/** Name of a part of a content. */
export type PartName = (typeof PARTS)[number];

/** The parts that are made of the metas. */
export type DerivedPart = Exclude<PartName, "catalog">;

/** Name of a part's file in the folder of a content. */
export function partFile(part: PartName): string {
  return `${part}.jsonl`;
}
