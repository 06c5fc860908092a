import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { EventSink } from "../../api/events.ts";
import type { StatusWriter } from "../../controller/statusWriter.ts";
import type { Client } from "../../kube/client.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { ApplyServices } from "../apply/applyContext.ts";
import type { CertificateProviders } from "../apply/certificateProviders.ts";
import type { BundleCache } from "../bundles/bundleCache.ts";
import type { BundleImageSource } from "../bundles/bundleImages.ts";
import type { CatalogLister, CatalogPackages } from "../catalogs/catalogPackages.ts";
import type { ClusterApis } from "../dependencies/clusterApis.ts";
import type { DependencyChoice } from "../dependencies/dependencyChoice.ts";
import type { DependencyExtensions } from "../dependencies/dependencyExtensions.ts";
import type { DependencyPlans } from "../dependencies/dependencyPlans.ts";
import type { Dependents } from "../dependencies/installContext.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import type { Identities } from "../permissions/identity.ts";
import type { ManagedPermissions } from "../permissions/managedPermissions.ts";
import type { ObjectSetImport } from "../releases/objectSetImport.ts";
import type { ReleaseStore } from "../releases/releaseStore.ts";
import type { ExtensionMetrics } from "../state/extensionMetrics.ts";
import type { OperatorConditions } from "../watches/operatorConditions.ts";
import type { SourceWatches } from "../watches/sourceWatches.ts";

/**
 * Dependencies of reconciles, created once per controller. Each step and each function takes only the members that it
 * uses: `Pick<Services, …>`.
 */
export interface Services extends ApplyServices {
  /**
   * Client with the controller's identity, for the ClusterExtension itself. Bundle objects are written as the
   * extension's ServiceAccount.
   */
  client: Pick<Client, "patch">;
  events: EventSink;
  identities: Pick<Identities, "clientFor">;
  managed: Pick<ManagedPermissions, "covers" | "findAccount" | "hasAccount" | "keepEarlierRules" | "releaseWrites" | "request">;
  catalogs: CatalogLister;
  /** Reads the content of a package in the catalogs. */
  contents: Pick<CatalogPackages, "read">;
  /** Chooses bundles whose dependencies are satisfied. */
  choice: Pick<DependencyChoice, "choose" | "findConflict">;
  /** The ClusterExtensions that `spec.dependencies.policy: Install` creates. */
  created: Pick<DependencyExtensions, "abandon" | "carryOut" | "release" | "releaseUnneeded">;
  /** The plans in progress. */
  plans: DependencyPlans;
  /** Lists the extensions that depend on another extension. */
  dependents: Pick<Dependents, "of">;
  /** The APIs that the cluster serves. */
  apis: Pick<ClusterApis, "resources" | "version">;
  images: BundleImageSource;
  bundles: Pick<BundleCache, "load">;
  providers: Pick<CertificateProviders, "choose" | "isOutdated">;
  releases: Pick<ReleaseStore, "create" | "history" | "read" | "remove" | "update">;
  /** Takes over releases of the Go operator-controller. Default: does not look for such releases. */
  objectSets?: Pick<ObjectSetImport, "store" | "remove">;
  /** Watches the objects in `spec.config.valuesFrom`. */
  sources: Pick<SourceWatches, "follow" | "unwatched" | "forget">;
  /** Returns the digest of a catalog's content; empty if there is no catalog with this name. */
  catalogContent: (name: string | undefined) => string;
  /** Enqueues an extension again after a delay in milliseconds. */
  requeueAfter: (extension: string, afterMs: number) => void;
  /** Removes everything that the controller keeps in memory and on disk for a deleted extension. */
  forget: (extension: string) => Promise<void>;
  /** Writes the status of ClusterExtensions and records Events about changes. */
  statuses: Pick<StatusWriter<ClusterExtension>, "write">;
  metrics: Pick<ExtensionMetrics, "countCorrections" | "report" | "recordStep">;
  /** Returns the last known version of the OpenShift cluster. */
  clusterVersion: () => ClusterVersion;
  /** Returns the last known proxy for installed operators. */
  clusterProxy: () => ClusterProxy;
  /** Knows the OperatorConditions of the cluster. */
  operatorConditions: Pick<OperatorConditions, "support" | "foreign" | "find" | "unknownReason">;
  /** Returns the delay in milliseconds until an extension is reconciled if there is no event. */
  resyncMs: (extension: Readonly<ClusterExtension>) => number;
  /** Length of a minute in `spec.progressDeadlineMinutes`, in milliseconds: 60,000 except in tests. */
  minuteMs: number;
}
