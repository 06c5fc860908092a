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
import type { Dependents } from "../dependencies/installContext.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import type { Identities } from "../permissions/identity.ts";
import type { ReleaseStore } from "../releases/releaseStore.ts";
import type { ExtensionMetrics } from "../state/extensionMetrics.ts";
import type { SourceWatches } from "../watches/sourceWatches.ts";

/**
 * What reconciles work with, one for each controller. Each step and each function that a reconcile calls takes `Pick<Services, …>`: the members
 * that it uses.
 */
export interface Services extends ApplyServices {
  /** The controller's own identity: for the ClusterExtension itself. Its objects are written as its ServiceAccount. */
  client: Pick<Client, "patch">;
  events: EventSink;
  identities: Pick<Identities, "clientFor">;
  catalogs: CatalogLister;
  /** What the catalogs say about a package. */
  contents: Pick<CatalogPackages, "read">;
  /** Chooses bundles whose dependencies can be met. */
  choice: Pick<DependencyChoice, "choose" | "findConflict">;
  /** The ClusterExtensions that `spec.dependencies.policy: Install` creates. */
  created: Pick<DependencyExtensions, "ensure" | "waitingFor" | "release">;
  /** The extensions that depend on another one. */
  dependents: Pick<Dependents, "of">;
  /** The APIs that the cluster serves. */
  apis: Pick<ClusterApis, "resources" | "version">;
  images: BundleImageSource;
  bundles: Pick<BundleCache, "load">;
  providers: Pick<CertificateProviders, "choose" | "isOutdated">;
  releases: Pick<ReleaseStore, "create" | "history" | "read" | "remove" | "update">;
  /** Watches the objects that `spec.config.valuesFrom` names. */
  sources: Pick<SourceWatches, "follow" | "unwatched" | "forget">;
  /** Returns the digest of a catalog's content; empty if there is no catalog of that name. */
  catalogContent: (name: string | undefined) => string;
  /** Queues an extension again after so many milliseconds. */
  requeueAfter: (extension: string, afterMs: number) => void;
  /** Drops all that the controller keeps in memory and on disk for an extension that is gone. */
  forget: (extension: string) => Promise<void>;
  /** Writes the status of ClusterExtensions, with the Events about it. */
  statuses: Pick<StatusWriter<ClusterExtension>, "write">;
  metrics: Pick<ExtensionMetrics, "corrected" | "report" | "stepped">;
  /** Returns the version of the OpenShift cluster that is known now. */
  clusterVersion: () => ClusterVersion;
  /** Returns the proxy for installed operators that is known now. */
  clusterProxy: () => ClusterProxy;
  /** Returns when to reconcile an extension again although nothing happened, in milliseconds from now. */
  resyncMs: (extension: Readonly<ClusterExtension>) => number;
  /** The length of a minute of `spec.progressDeadlineMinutes`, in milliseconds: 60,000 except in tests. */
  minuteMs: number;
}
