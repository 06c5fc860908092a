/** What of a bundle is compared. */
export interface ComparedBundle {
  readonly image: string;
  /** With its release. */
  readonly version: string;
  /** Values by type, in their order; those of manifests and metadata only where they are compared. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  /** Sorted. */
  readonly relatedImages: readonly string[];
}
