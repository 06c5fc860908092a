import * as z from "zod";
import type { ContentIndex } from "./contentIndex.ts";
import type { Encoding } from "./encodings.ts";
import type { OpenForm, StoredArtifact } from "./storedArtifact.ts";
import type { DamagedError } from "./storedFile.ts";

/** The numbers of findings in a content. The findings themselves are in artifact "findings". */
export const FindingsSummary = z.object({
  errors: z.int().min(0),
  warnings: z.int().min(0),
  /** The first ten findings, errors first, each on one line of at most 512 characters. */
  first: z.array(z.string()),
});
export type FindingsSummary = z.output<typeof FindingsSummary>;

/** The summary of a content without findings. */
export const NO_FINDINGS: FindingsSummary = { errors: 0, warnings: 0, first: [] };

/** The image from which a catalog's content was unpacked. */
export interface ContentOrigin {
  /** Image reference with digest. */
  ref: string;
  /** Digest of the image. */
  digest: string;
  /** When the image was unpacked, RFC 3339 in whole seconds. */
  lastUnpacked: string;
}

/** Damage to a content. */
export interface Damage {
  artifact: ArtifactName;
  /** The damaged compressed file; undefined if the content itself is damaged. */
  encoding: Encoding | undefined;
  err: DamagedError;
}

/**
 * One version of a catalog's served content. Call `hold` before reading and `release` afterwards.
 * Its files are closed when it is retired and no holder is left.
 */
export class CatalogContent {
  readonly origin: ContentOrigin;
  readonly artifacts: ReadonlyMap<ArtifactName, StoredArtifact>;
  /** Whole seconds since the epoch. */
  readonly lastModified: number;
  readonly findings: FindingsSummary;
  /** The metas. */
  readonly catalog: StoredArtifact;
  #holders = 1;
  #retired = false;

  /** @throws Error if the artifacts do not include the metas. */
  constructor(origin: ContentOrigin, artifacts: ReadonlyMap<ArtifactName, StoredArtifact>, lastModified: number, findings = NO_FINDINGS) {
    const catalog = artifacts.get("catalog");
    if (!catalog) throw new Error("the content has no metas");
    this.origin = origin;
    this.artifacts = artifacts;
    this.lastModified = lastModified;
    this.findings = findings;
    this.catalog = catalog;
  }

  /** The index of each artifact. */
  get indexes(): Map<ArtifactName, ContentIndex> {
    return new Map([...this.artifacts].map(([artifact, { index }]) => [artifact, index]));
  }

  /** Sets the callback for damage found while reading. */
  onDamage(damaged: (damage: Damage) => void): void {
    for (const [artifact, stored] of this.artifacts) stored.onDamage((err, encoding) => damaged({ artifact, encoding, err }));
  }

  /** Adds an artifact's compressed file, which this object will close. */
  async addCompressed(artifact: ArtifactName, encoding: Encoding, form: OpenForm): Promise<void> {
    const stored = this.#retired ? undefined : this.artifacts.get(artifact);
    if (stored) stored.addCompressed(encoding, form);
    else await form.handle.close();
  }

  hold(): void {
    this.#holders++;
  }

  release(): void {
    if (--this.#holders > 0) return;
    for (const artifact of this.artifacts.values()) artifact.close();
  }

  /** Releases the owner's hold. Afterwards, only existing holders can use this content. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.release();
  }
}

/**
 * The stored files of a catalog, in JSON Lines with an index: the metas ("catalog"), and the
 * artifacts that are derived from the metas.
 */
export const ARTIFACTS = ["catalog", "findings", "packages", "properties", "search", "graphql"] as const;
/** Name of an artifact of a content. */
export type ArtifactName = (typeof ARTIFACTS)[number];

/** The artifacts that are derived from the metas. */
export type DerivedArtifact = Exclude<ArtifactName, "catalog">;

/** Returns the name of an artifact's file in the folder of a content. */
export function getArtifactFile(artifact: ArtifactName): string {
  return `${artifact}.jsonl`;
}
