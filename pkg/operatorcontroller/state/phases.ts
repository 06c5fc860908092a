import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { CertificateProvider } from "../../certificates/providers.ts";
import type { Step } from "../../controller/story.ts";
import type { Client } from "../../kube/client.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { HiddenTexts } from "../../render/redaction.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { type ClusterChanges, type Held, type KnownReleases, unknownReleases } from "./clusterChanges.ts";
import { newReport, type Report } from "./report.ts";
import type { IsOver } from "./waiting.ts";

/** What a reconcile knows at its start. */
export interface WithExtension {
  readonly extension: Readonly<ClusterExtension>;
  /** Of the OpenShift cluster, at the start of the reconcile. */
  readonly clusterVersion: ClusterVersion;
  /** For installed operators, at the start of the reconcile. */
  readonly clusterProxy: ClusterProxy;
  /** Values that no log, Event or status shows: what objects hold that `spec.config.valuesFrom` names, now or for a current release. */
  readonly hidden: HiddenTexts;
  readonly report: Report;
}

/** What a reconcile knows that has read the releases. */
export interface WithReleases extends WithExtension {
  readonly releases: KnownReleases;
}

/** What a reconcile has that acts as the extension's ServiceAccount. */
export interface WithClient extends WithReleases {
  /** With the identity that `spec.serviceAccount` names. */
  readonly client: Client;
  /** Kept by the apply code; it is seen after a failure as well. */
  readonly changes: ClusterChanges;
  /** Set while an annotation keeps the extension at an earlier release. */
  readonly pinned?: PinnedRevision;
}

/** What a reconcile knows that works towards a bundle. */
export interface WithBundle extends WithClient {
  readonly bundle: ResolvedBundle;
  /** What has to be installed before the bundle; absent if everything is. */
  readonly pending?: PendingDependencies;
  /** `spec.config` merged with its sources; absent if it names none, or they were not read. */
  readonly sourcedConfig?: SourcedConfig;
  /** Set while the bundle is not tried again, since it was rolled back. */
  readonly held?: Held;
  /** Identity of everything that goes into rendering; equal digests render equal objects. Absent before unpacking, and for an earlier release. */
  readonly inputDigest?: string;
}

/** What a reconcile knows that has pulled the bundle, or keeps the installed objects without it. */
export interface WithContent extends WithBundle {
  /** Absent in maintain mode: the image is not needed or could not be pulled, and the installed objects are kept. */
  readonly content?: RenderableBundle;
  /** Provides the certificates of the bundle's webhooks and API services; absent if it has none, or nothing provides them. */
  readonly certProvider?: CertificateProvider | undefined;
  /** Mistakes of the bundle's author that do not stop its installation, a sentence each. */
  readonly flaws?: readonly string[];
}

/** Before the first step. */
export interface Started extends WithExtension {
  readonly phase: "started";
}

/** After `retrieveReleases`: what is installed is known, or why it is not. */
export interface Observed extends WithReleases {
  readonly phase: "observed";
}

/** After `validate`: the reconcile can act as the extension's ServiceAccount. */
export interface Authenticated extends WithClient {
  readonly phase: "authenticated";
}

/** After `resolveBundle`: the bundle to work towards is known. */
export interface Resolved extends WithBundle {
  readonly phase: "resolved";
}

/** After `unpackBundle`: the content of the bundle is here, unless the installed objects are kept. */
export interface Unpacked extends WithContent {
  readonly phase: "unpacked";
}

/** After the last step. */
export interface Applied extends WithContent {
  readonly phase: "applied";
}

/** Ended by `handleDeletion`: the extension is being deleted. */
export interface Deleting extends WithReleases {
  readonly phase: "deleting";
  /** What the uninstallation does or waits for: the message of conditions. */
  readonly progress: string;
}

/** Ended by `skipSuspended`: spec.suspend is true. */
interface Suspended extends WithReleases {
  readonly phase: "suspended";
}

/** Ended by `unpackBundle` while the image of the bundle is pulled. */
export interface Unpacking extends WithBundle {
  readonly phase: "unpacking";
  /** Reference of the image. */
  readonly image: string;
  /** Why the pull before failed; undefined if none did. */
  readonly lastError: unknown;
}

/** Every phase that a reconcile can end in. What runs after the steps narrows on `phase`. */
export type Phase = Started | Observed | Authenticated | Resolved | Unpacked | Applied | Deleting | Suspended | Unpacking;

/** A phase in which the reconcile can act as the extension's ServiceAccount. */
export type ActingPhase = Extract<Phase, WithClient>;

/** A step of the reconcile of a ClusterExtension. */
export type ReconcileStep<In extends Phase, Out extends Phase = In> = Step<In, Out, Phase>;

/** Returns the phase before the first step. */
export function newStarted(
  extension: Readonly<ClusterExtension>,
  clusterVersion: ClusterVersion = { kind: "none" },
  clusterProxy: ClusterProxy = { kind: "none" },
): Started {
  return { phase: "started", extension, clusterVersion, clusterProxy, hidden: new HiddenTexts(), report: newReport() };
}

/** Returns what is known of the releases in a phase; nothing before they are read. */
export function releasesIn(phase: Phase): KnownReleases {
  return phase.phase === "started" ? unknownReleases() : phase.releases;
}

/** Reports whether the reconcile can act as the extension's ServiceAccount. */
export function hasClient(phase: Phase): phase is ActingPhase {
  return "client" in phase;
}

/** Reports whether the reconcile works towards a bundle. */
export function hasBundle(phase: Phase): phase is Extract<Phase, WithBundle> {
  return "bundle" in phase;
}

/** Reports whether the reconcile goes back to an earlier release or stays at it: that one was on this cluster before. */
export function keepsEarlierRelease({ pinned, held }: Pick<WithBundle, "pinned" | "held">): boolean {
  return pinned !== undefined || held !== undefined;
}

/** Reports whether the bundle to work towards is the installed one. */
export function isInstalled({ bundle, releases: { installed } }: Pick<WithBundle, "bundle" | "releases">): boolean {
  return installed !== undefined && installed.name === bundle.name && installed.version === bundle.version;
}

/** The bundle that a reconcile works towards. */
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

/** The release that an annotation keeps an extension at. */
export interface PinnedRevision {
  /** The number that the annotation names. */
  readonly revision: number;
  /** The release that it names or has led to. */
  readonly release: ReleaseRecord;
  /** The bundle of that release. */
  readonly bundle: ResolvedBundle;
}

/** `spec.config` merged with the objects that it names. */
export interface SourcedConfig {
  readonly config: JsonObject;
  /** The uids of the objects. */
  readonly identities: readonly string[];
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
