import type { WebhookCertProvider } from "../api/flagValues.ts";
import type { CertificateTimes } from "../certificates/rotation.ts";
import type { Client } from "../kube/client.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { BundlePuller } from "./bundles/bundleImages.ts";
import type { BundleIndexReader } from "./catalogs/catalogBundleIndexes.ts";
import type { PackageReader } from "./catalogs/catalogPackages.ts";
import type { ClusterProxyReader } from "./openshift/clusterProxy.ts";
import type { ClusterUpgradeSettings } from "./openshift/clusterUpgradeGate.ts";
import type { ClusterVersionReader } from "./openshift/clusterVersion.ts";
import type { ManagedPermissionsMode } from "./permissions/managedPermissions.ts";

/** The options of an OperatorController. */
export interface OperatorControllerOptions {
  client: Client;
  puller: BundlePuller;
  packages: PackageReader & BundleIndexReader;
  systemNamespace: string;
  managedPermissions: ManagedPermissionsMode;
  /** Provider of webhook certificates. Default: auto. */
  webhookCertProvider?: WebhookCertProvider;
  /** Version of the OpenShift cluster. Reconciles wait until it has been read once. */
  clusterVersion: ClusterVersionReader;
  /** Proxy for installed operators. Reconciles wait until it has been read once. Default: no proxy. */
  clusterProxy?: ClusterProxyReader;
  /** How the controller reports whether the cluster may be upgraded. */
  clusterUpgrade: ClusterUpgradeSettings;
  /** Whether the controller's own identity watches the objects of all extensions, for kinds that it has permission to watch. Default: false. */
  sharedWatches?: boolean;
  /** Maximum number of extensions that are reconciled in parallel. */
  workers: number;
  /** Time in milliseconds after which a reconcile counts as slow and another one may start. Default: 10,000. Tests set it. */
  slowReconcileMs?: number;
  /**
   * Interval in milliseconds, plus up to a tenth of jitter, at which objects of an unchanged release are compared with the cluster if they cannot be
   * watched.
   */
  driftIntervalMs: number;
  /** Maximum delay between two attempts to reconcile a failing extension, in milliseconds. */
  maxBackoffMs: number;
  /** Length of a minute in `spec.progressDeadlineMinutes`, in milliseconds. Default: 60,000. Tests set it. */
  deadlineMinuteMs?: number;
  /** Returns the time for support phases and conditions, in milliseconds since the epoch. Default: the machine's clock. Tests set it. */
  now?: () => number;
  /** Times of the certificates that this controller provides. Default: valid for two years. Tests set it. */
  certificateTimes?: CertificateTimes;
  /**
   * Maximum interval, in milliseconds, of the check whether something that an extension waits for exists, such as a permission, a ServiceAccount or a
   * kind.
   */
  recheckIntervalMs: number;
  log: Logger;
  metrics: Metrics;
}
