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

/** The options of an OperatorController. */
export interface OperatorControllerOptions {
  client: Client;
  puller: BundlePuller;
  packages: PackageReader & BundleIndexReader;
  systemNamespace: string;
  serviceAccountFallback: ServiceAccountFallback;
  /** Provider of the certificates of webhooks; default auto. */
  webhookCertProvider?: WebhookCertProvider;
  /** Version of the OpenShift cluster; reconciles wait for the first read. */
  clusterVersion: ClusterVersionReader;
  /** Proxy for installed operators; reconciles wait for the first read. Default: no proxy. */
  clusterProxy?: ClusterProxyReader;
  /** How the controller reports whether the cluster may be upgraded. */
  clusterUpgrade: ClusterUpgradeSettings;
  /** Whether the controller's own identity watches the objects of all extensions, for kinds that it may watch. Default false. */
  sharedWatches?: boolean;
  /** Extensions that are reconciled in parallel. */
  workers: number;
  /** Milliseconds after which a reconcile is slow and another one may start. Default 10,000; tests set it. */
  slowReconcileMs?: number;
  /** Objects of an unchanged release that cannot be watched are compared with the cluster this often, with a tenth of jitter. */
  driftIntervalMs: number;
  /** Longest wait between two attempts of a failing extension, in milliseconds. */
  maxBackoffMs: number;
  /** Length of a minute of `spec.progressDeadlineMinutes`, in milliseconds; default 60,000, for tests. */
  deadlineMinuteMs?: number;
  /** Times of the certificates that this controller provides; default: valid for two years, for tests. */
  certificateTimes?: CertificateTimes;
  /** Longest interval between two checks of what an extension waits for, such as permissions, a ServiceAccount or a kind, in milliseconds. */
  recheckIntervalMs: number;
  log: Logger;
  metrics: Metrics;
}
