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
import type { ServiceAccountFallback } from "./permissions/identity.ts";

/** Everything the controller is built from. */
export interface OperatorControllerOptions {
  client: Client;
  puller: BundlePuller;
  packages: PackageReader & BundleIndexReader;
  systemNamespace: string;
  serviceAccountFallback: ServiceAccountFallback;
  /** Who provides the certificates of webhooks; default auto. */
  webhookCertProvider?: WebhookCertProvider;
  /** Version of the OpenShift cluster; passes wait until it has been looked for once. */
  clusterVersion: ClusterVersionReader;
  /** Proxy for installed operators; passes wait until it has been looked for once. Without it there is none. */
  clusterProxy?: ClusterProxyReader;
  /** How the cluster is told whether it may be upgraded. */
  clusterUpgrade: ClusterUpgradeSettings;
  /** Whether the controller's own identity watches what it may look at everywhere, for all extensions. Default false. */
  sharedWatches?: boolean;
  /** Extensions worked on at once. */
  workers: number;
  /** When a reconcile is slow and gives its place to another one, in milliseconds; 10,000 unless a test is in a hurry. */
  slowReconcileMs?: number;
  /** Objects of an unchanged release that cannot be watched are compared with the cluster this often, with a tenth of jitter. */
  driftIntervalMs: number;
  /** Longest wait between two tries of a failing extension. */
  maxBackoffMs: number;
  /** How long a minute of `spec.progressDeadlineMinutes` is, in milliseconds; 60,000 unless a test is in a hurry. */
  deadlineMinuteMs?: number;
  /** How long the certificates hold that this controller provides itself; two years unless a test is in a hurry. */
  certificateTimes?: CertificateTimes;
  /** What an extension waits for (rights, a ServiceAccount, a kind) is looked for at least this often. */
  recheckIntervalMs: number;
  log: Logger;
  metrics: Metrics;
}
