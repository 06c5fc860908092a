import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { ConditionSupport } from "../../api/operatorCondition.ts";
import type { CertificateProvider } from "../../certificates/providers.ts";
import type { Step } from "../../controller/stepSequence.ts";
import type { VersionSupport } from "../../fbc/versionSupport.ts";
import type { Client } from "../../kube/client.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { HiddenTexts } from "../../render/redaction.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { type BundleHold, type ClusterChanges, createUnknownReleases, type KnownReleases } from "./clusterChanges.ts";
import type { KnownPlan } from "./knownPlan.ts";
import { newReport, type Report } from "./report.ts";

/** What a reconcile knows about the cluster. */
export interface ClusterFacts {
  /** Version of the OpenShift cluster at the start of the reconcile. */
  readonly clusterVersion: ClusterVersion;
  /** Proxy for installed operators at the start of the reconcile. */
  readonly clusterProxy: ClusterProxy;
  /** Whether the cluster served OperatorConditions at the start of the reconcile. */
  readonly conditionSupport: ConditionSupport;
  /** OperatorConditions that no extension created, as "namespace/name". */
  readonly foreignConditions: ReadonlySet<string>;
}

/** Data of a reconcile from its start. */
export interface WithExtension extends ClusterFacts {
  readonly extension: Readonly<ClusterExtension>;
  /**
   * Values that logs, Events and status must not contain: values from objects in `spec.config.valuesFrom`, now or for a
   * current release.
   */
  readonly hidden: HiddenTexts;
  readonly report: Report;
}

/** Data of a reconcile that has read the releases. */
export interface WithReleases extends WithExtension {
  readonly releases: KnownReleases;
}

/** Data of a reconcile that acts as the extension's ServiceAccount. */
export interface WithClient extends WithReleases {
  /** Client with the identity of the ServiceAccount in `spec.serviceAccount`. */
  readonly client: Client;
  /** Set if permission-manager had not created the ServiceAccount, so that every request of `client` fails. */
  readonly isWithoutAccount?: true;
  /** Written by the apply code; also available after a failure. */
  readonly changes: ClusterChanges;
  /** Set while an annotation pins the extension to an earlier release. */
  readonly pinned?: PinnedRevision;
}

/** Data of a reconcile that has resolved a bundle. */
export interface WithBundle extends WithClient {
  readonly bundle: ResolvedBundle;
  /** The plan in progress that installs the bundle with its dependencies; absent if there is none. */
  readonly plan?: KnownPlan;
  /** `spec.config` merged with its sources; absent if there are none, or they were not read. */
  readonly sourcedConfig?: SourcedConfig;
  /** Set while the bundle is on hold because it was rolled back. */
  readonly held?: BundleHold;
  /**
   * Digest of all inputs of rendering; equal digests render equal objects. Absent before unpacking, and for an earlier
   * release.
   */
  readonly inputDigest?: string;
}

/** Data of a reconcile that has pulled the bundle, or keeps the installed objects without it. */
export interface WithContent extends WithBundle {
  /** Absent if the image is not needed or could not be pulled. In this case, the installed objects are kept. */
  readonly content?: RenderableBundle;
  /** Reference of the pulled image by digest; absent without content. */
  readonly pulledImage?: string;
  /**
   * Issues certificates for the bundle's webhooks and API services; absent if it has none, or there is no provider.
   */
  readonly certProvider?: CertificateProvider | undefined;
  /** Mistakes in the bundle that do not prevent its installation, one sentence each. */
  readonly flaws?: readonly string[];
}

/** The phase before the first step. */
export interface Started extends WithExtension {
  readonly phase: "started";
}

/** After `retrieveReleases`: the installed bundle is known, or the reason why it is not. */
export interface Observed extends WithReleases {
  readonly phase: "observed";
}

/** After `validate`: the reconcile can act as the extension's ServiceAccount. */
export interface Authenticated extends WithClient {
  readonly phase: "authenticated";
}

/** After `resolveBundle`: the desired bundle is known. */
export interface Resolved extends WithBundle {
  readonly phase: "resolved";
}

/** After `unpackBundle`: the content of the bundle is available, unless the installed objects are kept. */
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
  /** Progress of the uninstall, for condition messages. */
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
  /** Error of the previous pull; undefined if it did not fail. */
  readonly lastError: unknown;
}

/** All phases in which a reconcile can end. Code after the steps narrows the type by `phase`. */
export type Phase = Started | Observed | Authenticated | Resolved | Unpacked | Applied | Deleting | Suspended | Unpacking;

/** A phase in which the reconcile can act as the extension's ServiceAccount. */
export type ActingPhase = Extract<Phase, WithClient>;

/** A step of the reconcile of a ClusterExtension. */
export type ReconcileStep<In extends Phase, Out extends Phase = In> = Step<In, Out, Phase>;

/** Returns the phase before the first step. */
export function newStarted(extension: Readonly<ClusterExtension>, given: Partial<ClusterFacts> = {}): Started {
  const none = { kind: "none" } as const;
  const facts: ClusterFacts = {
    clusterVersion: none,
    clusterProxy: none,
    conditionSupport: "NotServed",
    foreignConditions: new Set(),
    ...given,
  };
  return { phase: "started", extension, ...facts, hidden: new HiddenTexts(), report: newReport() };
}

/** Returns the known releases in a phase; no releases before they are read. */
export function getReleases(phase: Phase): KnownReleases {
  return phase.phase === "started" ? createUnknownReleases() : phase.releases;
}

/** Reports whether the reconcile can act as the extension's ServiceAccount. */
export function hasClient(phase: Phase): phase is ActingPhase {
  return "client" in phase;
}

/** Reports whether the reconcile has resolved a bundle. */
export function hasBundle(phase: Phase): phase is Extract<Phase, WithBundle> {
  return "bundle" in phase;
}

/** Reports whether the reconcile restores or keeps an earlier release, which was already deployed in this cluster. */
export function keepsEarlierRelease({ pinned, held }: Pick<WithBundle, "pinned" | "held">): boolean {
  return pinned !== undefined || held !== undefined;
}

/** Reports whether the resolved bundle is the installed one. */
export function isInstalled({ bundle, releases: { installed } }: Pick<WithBundle, "bundle" | "releases">): boolean {
  return installed !== undefined && installed.name === bundle.name && installed.version === bundle.version;
}

/** The bundle that a reconcile installs or keeps. */
export interface ResolvedBundle extends InstalledBundle {
  /** Why this bundle was chosen, in one sentence. */
  explanation: string;
  /** Absent if the installed bundle is kept because no catalog is selected. */
  catalog?: string;
  /** The current image in the catalog, if its content differs from the installed `image`. */
  offered?: string;
  /** Reference to pull instead of `image`. Contains the installed digest. */
  pullFrom?: string;
  /** The upgrade edge that leads to the bundle. */
  edge?: string;
  /** Support of the bundle; absent if the catalog has no support phases of the package. */
  support?: VersionSupport;
}

/** The release to which an annotation pins an extension. */
export interface PinnedRevision {
  /** Revision in the annotation. */
  readonly revision: number;
  /** The release with this revision, or the release that was applied for the annotation. */
  readonly release: ReleaseRecord;
  /** The bundle of that release. */
  readonly bundle: ResolvedBundle;
}

/** `spec.config` merged with the objects in `valuesFrom`. */
export interface SourcedConfig {
  readonly config: JsonObject;
  /** The uids of the objects. */
  readonly identities: readonly string[];
}
