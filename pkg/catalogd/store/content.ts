import * as z from "zod";
import type { ContentIndex } from "./contentIndex.ts";
import type { Encoding } from "./encodings.ts";
import type { OpenForm, StoredArtifact } from "./storedArtifact.ts";
import type { DamagedError } from "./storedFile.ts";

/** How sound a content is; the findings themselves are its artifact "findings". */
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
  artifact: ArtifactName;
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
  readonly artifacts: ReadonlyMap<ArtifactName, StoredArtifact>;
  /** Whole seconds since the epoch. */
  readonly lastModified: number;
  readonly findings: FindingsSummary;
  /** The metas. */
  readonly catalog: StoredArtifact;
  #holders = 1;
  #retired = false;

  /** @throws Error when the metas are not among the artifacts. */
  constructor(origin: ContentOrigin, artifacts: ReadonlyMap<ArtifactName, StoredArtifact>, lastModified: number, findings = NO_FINDINGS) {
    const catalog = artifacts.get("catalog");
    if (!catalog) throw new Error("a content without metas");
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

  /** Sets who is told when something of it cannot be read as it was written. */
  onDamage(damaged: (damage: Damage) => void): void {
    for (const [artifact, stored] of this.artifacts) stored.onDamage((err, encoding) => damaged({ artifact, encoding, err }));
  }

  /** Hands over an artifact's compressed file. */
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
export const ARTIFACTS = ["catalog", "findings", "packages", "properties", "search", "graphql"] as const;
/** Name of an artifact of a content. */
export type ArtifactName = (typeof ARTIFACTS)[number];

/** The artifacts that are made of the metas. */
export type DerivedArtifact = Exclude<ArtifactName, "catalog">;

/** Name of an artifact's file in the folder of a content. */
export function artifactFile(artifact: ArtifactName): string {
  return `${artifact}.jsonl`;
}
