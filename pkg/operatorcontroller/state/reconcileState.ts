import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Plan } from "../../api/clusterExtensionStatus.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, RECONCILE_REQUEST_MAX } from "../../api/constants.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { CertificateProvider } from "../../certificates/providers.ts";
import type { FbcDeprecations } from "../../fbc/types.ts";
import type { Client } from "../../kube/client.ts";
import type { Availability } from "../../release/health/availability.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { HiddenTexts } from "../../render/redaction.ts";
import type { CatalogPackage, FilteredCatalogs } from "../../resolve/resolution.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import { isSameVersion, type VersionRelease } from "../../version/version.ts";
import type { BundleContent } from "../bundles/bundleCache.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { noReleases, type ReleaseHistory } from "../releases/releaseStore.ts";
import type { LiveObjects, ObjectAction } from "./objectActions.ts";
import type { IsOver } from "./waiting.ts";

/** The bundle this pass works towards. */
export interface ResolvedBundle extends InstalledBundle {
  /** Why this bundle and no other, one sentence. */
  explanation: string;
  /** Absent when no catalog was asked: the installed bundle is kept because no catalog is left. */
  catalog?: string;
  /** What the catalog names by now, where that is other content than `image`, which was installed. */
  offered?: string;
  /** Where the image is to be pulled from, where that is not `image`: by the digest that was installed. */
  pullFrom?: string;
  /** The upgrade edge that makes it a legal successor. */
  edge?: string;
}

/** What the catalogs said about deprecation in this pass. */
export type DeprecationFacts = { kind: "unknown" } | { kind: "known"; entries: FbcDeprecations | undefined };

/** Reason and message of condition Progressing. */
export interface Held {
  reason: "ProgressDeadlineExceeded" | "Retrying";
  message: string;
}

/**
 * All that the steps of one pass found out, in the order in which they find it.
 * Steps add facts, `statusFrom` turns them into conditions; no step writes status.
 */
export interface ReconcileState {
  readonly extension: Readonly<ClusterExtension>;
  /** Of the OpenShift cluster, at the start of the pass. */
  readonly clusterVersion: ClusterVersion;
  /** For installed operators, at the start of the pass. */
  readonly clusterProxy: ClusterProxy;
  history: ReleaseHistory;
  installed: InstalledBundle | undefined;
  /** Set when it could not be told what is installed, or whether the pass may act: the text of condition Installed. */
  unknownBecause?: string;
  /** The releases that count at the end of the pass: the last deployed one and every attempt after it. Absent while they are not known. */
  active?: readonly Pick<ReleaseRecord, "labels" | "annotations">[];
  /** Why the releases do not say all that may be installed, a sentence each: some cannot be read, or none is found although one must exist. */
  unreadable?: readonly string[];
  /** What the selected catalogs say about the package; absent while they were not asked. */
  catalogs?: readonly CatalogPackage[];
  /** What resolution chose from, or could not; absent while the catalogs were not asked. */
  filtered?: FilteredCatalogs;
  /** What has to be installed before the resolved bundle; absent where everything is. */
  pending?: PendingDependencies;
  deprecation: DeprecationFacts;
  /** Highest version of the package in the catalog that was resolved from, whatever limits the extension sets. */
  newest?: VersionRelease;
  /** Client with the identity that `spec.serviceAccount` names. */
  scoped?: Client;
  resolved?: ResolvedBundle;
  /** Absent in maintain mode: the image could not be pulled, and what is installed is kept as it is. */
  content?: BundleContent;
  /** Set while the bundle's image is pulled: its reference, and why the pull before failed, where one did. */
  unpacking?: { readonly image: string; readonly lastError: unknown };
  /** What is wrong with the bundle itself and keeps nothing back, a sentence each. */
  flaws?: readonly string[];
  /** Who provides the certificates of the bundle's webhooks and API services; absent where it has none, or nobody is to. */
  certProvider?: CertificateProvider | undefined;
  /**
   * `spec.config` with what the objects hold that it names, and the uids of those; absent where it names none, or they were not read.
   */
  sourcedConfig?: { readonly config: JsonObject; readonly identities: readonly string[] };
  /** What came from such objects, in this pass or for a release that counts: it is shown nowhere. */
  readonly hidden: HiddenTexts;
  /** Identity of everything that goes into rendering; equal digests render equal objects. */
  inputDigest?: string;
  /** The release that the extension aims at is noted in the handovers. */
  isAimed?: boolean;
  /** Objects may have been written in this pass. */
  began?: boolean;
  /** The deployed release as it is by now, where this pass changed it; otherwise it is in the history. */
  deployed?: ReleaseRecord;
  /** Objects as the API server answered when they were compared or applied in this pass. */
  live?: LiveObjects;
  /** Whether what is installed works; absent when it could not be asked. */
  availability?: Availability;
  /** A release that was refused in the middle in this pass: its record, what had been applied, and everything that was done. */
  failed?: { release: ReleaseRecord; applied: LiveObjects; actions: readonly ObjectAction[] };
  /** Set while an annotation keeps the extension at an earlier release: the number that it names, and the release it names or has led to. */
  pinned?: { revision: number; release: ReleaseRecord };
  /** Set while a bundle that was given up is not tried again: what condition Progressing says about it. */
  held?: Held;
  /** The rollout takes longer than `spec.progressDeadlineMinutes` gives it: the text of condition Progressing. */
  overdue?: string;
  /** Set while the extension is being removed: what is going on. */
  deleting?: string;
  /** `spec.suspend` is set: nothing was done. */
  isSuspended?: boolean;
  /** No status is written: the object is gone, or another one by now than the pass began with, or the next pass knows more very soon. */
  leave?: boolean;
  /** Rights that the ServiceAccount lacks and that the pass went on without; said whatever the pass came to. */
  lacking?: string;
  /** What would be done once it is approved. */
  plan?: Plan;
  /** Asks whether a pass would find something else, although this one came to its end. */
  awaits?: IsOver;
  /** Said behind "Desired state reached", such as catalogs that could not be asked. */
  notes: string[];
}

/** Facts before the first step. */
export function newReconcileState(
  extension: Readonly<ClusterExtension>,
  clusterVersion: ClusterVersion = { kind: "none" },
  clusterProxy: ClusterProxy = { kind: "none" },
): ReconcileState {
  return {
    extension,
    clusterVersion,
    clusterProxy,
    history: noReleases(),
    installed: undefined,
    deprecation: { kind: "unknown" },
    hidden: new HiddenTexts(),
    notes: [],
  };
}

/** The configuration of the extension: `spec.config.inline`, merged over its sources where it has any. */
export function configOf({ extension, sourcedConfig }: Pick<ReconcileState, "extension" | "sourcedConfig">): JsonObject | undefined {
  return sourcedConfig?.config ?? extension.spec.config?.inline;
}

/**
 * Returns the name of the catalog that the installed bundle was resolved from: in this pass, or else as status has it. Undefined where nothing is
 * installed or that is not known.
 */
export function findInstalledCatalog({ extension: { status }, installed, resolved }: ReconcileState): string | undefined {
  if (!installed) return undefined;
  const isSame = (one: Pick<InstalledBundle, "name" | "version">): boolean => one.name === installed.name && isSameVersion(one, installed);
  if (resolved?.catalog !== undefined && isSame(resolved)) return resolved.catalog;
  return status?.install && isSame(status.install.bundle) ? status.install.catalog : undefined;
}

/** Older definitions let extensions in that have no spec, although the type says that there is one. */
export function hasSpec(extension: { readonly spec?: unknown }): boolean {
  return extension.spec !== undefined && extension.spec !== null;
}

/** The value that asks for a comparison of everything, as status tells it once it was dealt with; undefined where nobody asks. */
export function reconcileRequestOf({ metadata }: Readonly<ClusterExtension>): string | undefined {
  return metadata.annotations?.[ANNOTATION_RECONCILE_REQUESTED_AT]?.slice(0, RECONCILE_REQUEST_MAX);
}

/** A package that has to be installed for the sake of an extension. */
export interface DependencyNeed {
  readonly bundle: SolverBundle;
  /** For `spec.source.catalog.version`; empty for any. */
  readonly version: string;
}

/** What has to be installed before the chosen bundle; only with policy Install. */
export interface PendingDependencies {
  /** At least one, by name of the package. */
  readonly needs: readonly DependencyNeed[];
  /** Whether what is missing has changed. */
  readonly isOver: IsOver;
}
