import * as z from "zod";
import { WEBHOOK_CERT_PROVIDERS } from "../../pkg/api/flagValues.ts";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { CLUSTER_OPERATOR_MODES } from "../../pkg/operatorcontroller/openshift/clusterOperator.ts";
import { parseClusterVersion } from "../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { MANAGED_PERMISSIONS_MODES } from "../../pkg/operatorcontroller/permissions/managedPermissions.ts";
import {
  defineFlags,
  duration,
  featureGatesFlag,
  ignoredFlags,
  logFlags,
  optionalText,
  switchFlag,
  systemNamespaceFlag,
} from "../internal/flags.ts";
import { hasPullSecret, imageFlags, PULL_SECRET_FORMAT } from "../internal/imageFlags.ts";
import { areElectionTimesValid, ELECTION_TIMES, leaderFlags } from "../internal/leaderFlags.ts";
import { isProxyConsistent, operatorProxyFlags, PROXY_FLAGS } from "../internal/operatorProxyFlags.ts";
import { isOneCertificate, isWholePair, mayServeMetrics, ONE_CERTIFICATE, servingFlags } from "../internal/serving.ts";

/** Default address of metrics if a certificate is configured. */
export const METRICS_ADDRESS = ":8443";

const ALWAYS = "the feature is always enabled";
const PROVIDER = "see --webhook-cert-provider";
/**
 * Feature gates of the Go implementation at df2c201d, and those that it removed but OpenShift's manifests still set (openshift/operator-framework-operator-controller
 * at 186c9e64, openshift/operator-controller/manifests*.yaml).
 */
export const OPERATOR_CONTROLLER_GATES = {
  SingleOwnNamespaceInstallSupport: { stage: "alpha", byDefault: true, fixed: ALWAYS },
  WebhookProviderCertManager: { stage: "GA", byDefault: true, fixed: PROVIDER },
  WebhookProviderOpenshiftServiceCA: { stage: "GA", byDefault: true, fixed: PROVIDER },
  BoxcutterRuntime: { stage: "alpha", byDefault: false, fixed: "bundles are always applied as releases in Secrets" },
  DeploymentConfig: { stage: "alpha", byDefault: true, fixed: ALWAYS },
  BundleReleaseSupport: { stage: "alpha", byDefault: true, fixed: ALWAYS },
  PreflightPermissions: { stage: "alpha", byDefault: true, fixed: "permissions are always checked before a bundle is applied" },
  SyntheticPermissions: {
    stage: "alpha",
    byDefault: false,
    fixed: "permission-manager grants permissions to extensions without a ServiceAccount",
  },
  HelmChartSupport: { stage: "alpha", byDefault: false, fixed: "only registry+v1 bundles are supported" },
} as const;

/** Flags of the server. The schema defines their help, defaults and validation. Upstream flags keep their names. */
const Flags = z
  .strictObject({
    kubeconfig: z.string().optional().describe("path of a kubeconfig (default: $KUBECONFIG, else the Pod's ServiceAccount)"),
    "system-namespace": systemNamespaceFlag("namespace of the server and the release Secrets"),
    "cache-path": z.string().default("/var/cache/operator-controller").describe("folder for unpacked bundle images"),
    "catalogd-cas-dir": optionalText().describe(
      "folder of PEM files with CA certificates for catalogd; with serving-certificates=self-managed, the CA certificates in catalogd's Secret are trusted too",
    ),
    ...imageFlags(),
    "health-probe-bind-address": z
      .string()
      .default(":8081")
      .describe("address of /healthz and /readyz, and of /metrics if no certificate is configured; 0 disables it"),
    ...servingFlags({ served: "/metrics", metricsAddress: METRICS_ADDRESS }),
    "managed-permissions": z
      .enum(MANAGED_PERMISSIONS_MODES)
      .default("on")
      .describe(
        "on: permission-manager grants the permissions of extensions without a ServiceAccount; off: they are rejected; always: permission-manager grants the permissions of all extensions, and spec.serviceAccount has no effect",
      ),
    "shared-watches": switchFlag(
      false,
      "watch installed objects with the permissions of operator-controller, if it has them, in one watch per kind for all extensions; see config/overlays/shared-watch",
    ),
    "webhook-cert-provider": z
      .enum(WEBHOOK_CERT_PROVIDERS)
      .default("auto")
      .describe(
        "provider of certificates for webhooks and API services; none rejects bundles that need certificates, auto selects an available provider and keeps it for installed bundles",
      ),
    ...operatorProxyFlags(),
    "max-concurrent-reconciles": z.coerce.number().int().min(1).max(64).default(4).describe("maximum number of concurrent reconciles"),
    "drift-interval": duration("5m").describe(
      "interval between drift checks of objects that are not watched; every 12th check includes all objects",
    ),
    "max-backoff": duration("2m").describe("maximum delay before a failing extension is retried"),
    "cluster-operator": z
      .enum(CLUSTER_OPERATOR_MODES)
      .default("auto")
      .describe("whether to write ClusterOperator olm: on, off, or auto (only if cluster-olm-operator does not exist)"),
    "operator-conditions-block-cluster-upgrades": switchFlag(
      false,
      "block minor upgrades of the cluster in ClusterOperator olm while the OperatorCondition of an installed operator has condition Upgradeable False",
    ),
    "cluster-version": clusterVersion()
      .optional()
      .describe('OpenShift version of a cluster without ClusterVersion, such as "4.18" or "4.18.3"'),
    "operator-image-version": z
      .string()
      .optional()
      .describe("version that ClusterOperator olm reports (default: $OPERATOR_IMAGE_VERSION, else the version of the cluster)"),
    "release-version": z
      .string()
      .optional()
      .describe(
        "target release of a cluster upgrade; condition Progressing of ClusterOperator olm is True until it reports this release (default: $RELEASE_VERSION)",
      ),
    "recheck-interval": duration("15s").describe(
      "interval between checks whether missing permissions, ServiceAccounts and kinds are available",
    ),
    ...leaderFlags("reconciles extensions"),
    "feature-gates": featureGatesFlag(OPERATOR_CONTROLLER_GATES),
    ...logFlags(),
    ...ignoredFlags(),
  })
  .refine(areElectionTimesValid, ELECTION_TIMES)
  .refine(hasPullSecret, `incorrect number of components; ${PULL_SECRET_FORMAT}`)
  .refine(isProxyConsistent, PROXY_FLAGS)
  .refine(isWholePair, "unable to configure TLS certificates: tls-cert and tls-key flags must be used together")
  .refine(isOneCertificate, ONE_CERTIFICATE)
  .refine(mayServeMetrics, "metrics-bind-address requires tls-cert and tls-key flags to be set");

/** Returns a schema for a version that `parseClusterVersion` accepts. */
function clusterVersion() {
  return z.string().transform((text, context) => {
    try {
      return parseClusterVersion(text);
    } catch (err) {
      context.addIssue({ code: "custom", message: `must be a version such as "4.18" or "4.18.3": ${getErrorMessage(err)}` });
      return z.NEVER;
    }
  });
}

export type Flags = z.output<typeof Flags>;

export const { flagHelp, usage, parseFlags } = defineFlags(
  "operator-controller: installs, upgrades and removes ClusterExtensions",
  Flags,
  Flags.shape,
);
