/** A bundle of a catalog. */
export interface RecordedBundle {
  readonly catalog: string;
  readonly priority: number;
  readonly bundle: string;
  /** Version and release as users write them; absent where none can be read. */
  readonly version?: string;
  readonly deprecated: boolean;
}

/** A candidate that a filter removed, and the rule that did, a clause. */
export interface RemovedCandidate {
  readonly bundle: string;
  readonly version?: string;
  readonly rule: string;
}

/** One filter over the candidates of one catalog. */
export interface FilterRecord {
  /** channels, versionRange, upgradeEdges, clusterVersion, deprecation, or a later one. */
  readonly filter: string;
  /** What it asks for, such as `in channels [stable]`. */
  readonly asks: string;
  readonly left: number;
  readonly removed: number;
  /** Of those that it removed the highest versions, highest first; at most ten. */
  readonly last: readonly RemovedCandidate[];
}

/** One selected catalog. */
export interface CatalogRecord {
  readonly catalog: string;
  readonly priority: number;
  /** `silent`: it could not be asked. */
  readonly state: "asked" | "withoutPackage" | "silent";
  /** Why it could not be asked. */
  readonly because?: string;
  /** How many bundles of the package it has. */
  readonly bundles: number;
  /** The filters that were asked for, in order, up to the one that left nothing. */
  readonly filters: readonly FilterRecord[];
  /** The filter that left nothing. */
  readonly emptiedBy?: string;
  /** What would have been near then, clauses; at most five. */
  readonly near?: readonly string[];
  /** The best of what is left. */
  readonly best?: RecordedBundle;
}

/** What was chosen and why it beat the next one, or why nothing was chosen. */
export type OutcomeRecord =
  | {
      readonly kind: "resolved";
      readonly winner: RecordedBundle;
      /** How it follows what is installed, such as `replaces in channel stable`, or `stay`. */
      readonly edge?: string;
      /** What would be taken without the winner; absent where it is the only one. */
      readonly runnerUp?: RecordedBundle;
      /** What decided between the two, and the same as a clause. */
      readonly decidedBy?: "deprecation" | "priority" | "version" | "release" | "channel" | "name";
      readonly because?: string;
      readonly explanation: string;
      readonly notes: readonly string[];
    }
  | {
      readonly kind: "unresolved";
      readonly cause: string;
      /** The text of the reference implementation. */
      readonly reason: string;
      readonly explanation: string;
      /** The offers between which the choice is ambiguous; at most ten. */
      readonly tied?: readonly RecordedBundle[];
      /** What would help, sentences; only where `olmv1 resolve` asks. */
      readonly notes?: readonly string[];
    };

/** What was asked for, as far as it was. */
export interface AskedRecord {
  /** At most ten. */
  readonly channels?: readonly string[];
  readonly version?: string;
  readonly upgradeConstraintPolicy: "CatalogProvided" | "SelfCertified";
  readonly clusterVersionPolicy: "Warn" | "Enforce";
  readonly installed?: { readonly bundle: string; readonly version: string };
  readonly clusterVersion?: string;
}

/** How a resolution went, as JSON; a few kilobytes as a rule, and bounded whatever catalogs hold. Members may be added, none changes its meaning. */
export interface ResolutionRecord {
  readonly formatVersion: 1;
  readonly package: string;
  /** Absent where the selector or the version range cannot be read. */
  readonly asked?: AskedRecord;
  /** The selected catalogs, highest priority first, then by name; at most 32, and how many more there are. */
  readonly catalogs: readonly CatalogRecord[];
  readonly moreCatalogs: number;
  readonly outcome: OutcomeRecord;
  /** What could not be judged and why, sentences; absent where everything was. Only where `olmv1 resolve` asks. */
  readonly unjudged?: readonly string[];
}
