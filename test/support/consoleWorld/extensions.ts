import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO, API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { grantInstaller } from "../serviceAccounts.ts";
import { CATALOGS } from "./catalogs.ts";
import { BACKUP, KAFKA, POSTGRES, REDIS, TRAINING } from "./dataPackages.ts";
import { CERTIFICATES, GATEWAY, OBJECT_STORAGE } from "./healthyPackages.ts";
import { buildBundleFiles } from "./operatorPackage.ts";
import { GRAFANA, LOGGING, MESH, SECRETS_SYNC, TRACING } from "./platformPackages.ts";
import type { Seed } from "./seed.ts";
import { ORDERS, PAYMENTS, QUEUES } from "./shopPackages.ts";

/** An extension of the world. */
interface SeededExtension {
  readonly name: string;
  /** What a person finds out about it. */
  readonly trouble: string;
  /** Creates the extension and waits until it is in its state. */
  seed(seed: Seed, name: string): Promise<void>;
}

/** The extensions, each in another state. Their names are those of their ClusterExtensions. */
export const EXTENSIONS = {
  missingPermission: {
    name: "secrets-sync",
    trouble: "its ServiceAccount lacks permissions for the bundle",
    async seed(seed, name) {
      const [version] = SECRETS_SYNC.versions;
      if (!version) throw new Error("Secrets Sync has no version");
      const spec = { namespace: "secrets-sync", serviceAccount: { name: "secrets-sync-installer" } };
      const extension = seed.describe(name, SECRETS_SYNC.name, spec) as ClusterExtension;
      const objects = renderBundle(loadBundle(buildBundleFiles(SECRETS_SYNC, version)), { installNamespace: spec.namespace });
      await grantInstaller(seed.client, extension, objects, { without: "clusterroles", withoutVerb: "patch" });
      await seed.create(name, SECRETS_SYNC.name, spec);
      await seed.awaitProblem(name, "MissingPermissions");
    },
  },
  pendingApproval: {
    name: "postgres",
    trouble: "an upgrade waits for approval",
    async seed(seed, name) {
      await seed.create(name, POSTGRES.name, { version: "1.0.0", approval: "Manual" });
      await seed.approve(name, await seed.awaitPlan(name, "1.0.0"));
      await seed.world.installed(name, "1.0.0");
      await seed.selectVersion(name, ">=1.0.0 <2.0.0");
      await seed.awaitPlan(name, "1.1.0");
    },
  },
  failedRollout: {
    name: "kafka",
    trouble: "the Pods of the upgraded version crash; a rollback repairs it",
    async seed(seed, name) {
      await seed.install(name, KAFKA.name, "3.2.0");
      await seed.selectVersion(name, "3.x");
      await seed.awaitReason(name, "Available", "Unhealthy");
    },
  },
  drift: {
    name: "grafana",
    trouble: "a user changed fields of its Deployment",
    async seed(seed, name) {
      await seed.install(name, GRAFANA.name, "5.16.0", { drift: { policy: "Warn" } });
      const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: "grafana-operator-system", name: "grafana-operator" };
      const container = { name: "manager", args: ["--zap-log-level=debug", "--leader-elect"] };
      const body = { spec: { replicas: 3, template: { spec: { containers: [container] } } } };
      await seed.client.patch(deployment, body, { type: "strategic", fieldManager: "kubectl-edit" });
      await seed.awaitProblem(name, "DriftDetected");
    },
  },
  blockedUpgrade: {
    name: "redis",
    trouble: "the newest version is not a successor of the installed version",
    async seed(seed, name) {
      await seed.install(name, REDIS.name, "1.4.2");
      await seed.selectVersion(name, ">=1.4.0");
      await seed.until(name, ({ status }) => status?.blockedUpdate !== undefined);
    },
  },
  deprecated: {
    name: "logging",
    trouble: "its package, channel and version are deprecated",
    async seed(seed, name) {
      await seed.install(name, LOGGING.name, "4.2.0", { channels: ["4.x"] });
      await seed.until(name, (_, condition) => condition("BundleDeprecated")?.status === "True");
    },
  },
  missingDependency: {
    name: "tracing",
    trouble: "no catalog contains its dependencies",
    async seed(seed, name) {
      await seed.create(name, TRACING.name);
      await seed.awaitProblem(name, "UnsatisfiedDependencies");
    },
  },
  crdFinding: {
    name: "backup",
    trouble: "the newer version removes a field that custom resources use",
    async seed(seed, name) {
      await seed.install(name, BACKUP.name, "1.8.0");
      await seed.namespace("shop");
      for (const [backup, spec] of [
        ["nightly", { source: "shop", schedule: "0 2 * * *", retentionDays: 30 }],
        ["hourly", { source: "shop/orders", schedule: "0 * * * *", retentionDays: 3 }],
      ] as const)
        await seed.apply({ apiVersion: "backup.example.com/v1", kind: "Backup", metadata: { name: backup, namespace: "shop" }, spec });
      await seed.selectVersion(name, ">=1.8.0 <2.0.0");
      await seed.awaitProblem(name, "CRDUpgradeUnsafe");
    },
  },
  quota: {
    name: "training",
    trouble: "its Deployments exceed a ResourceQuota",
    async seed(seed, name) {
      const namespace = "ml-training";
      await seed.namespace(namespace);
      await seed.apply({
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "team-budget", namespace },
        spec: { hard: { "count/deployments.apps": "1", "limits.memory": "1Gi", pods: "4" } },
      });
      await seed.create(name, TRAINING.name, { namespace });
      await seed.awaitProblem(name, "QuotaExceeded");
    },
  },
  catalogDown: {
    name: "gpu",
    trouble: "its catalog cannot be pulled",
    async seed(seed, name) {
      await seed.create(name, "gpu-operator", { catalog: CATALOGS.partner, channels: ["v25"] });
      await seed.awaitReason(name, "Progressing", "Retrying");
    },
  },
  uninstallWaiting: {
    name: "certificates",
    trouble: "it is deleted, but another extension depends on it",
    async seed(seed, name) {
      await seed.install(name, CERTIFICATES.name, "1.4.2");
      await seed.install("gateway", GATEWAY.name, "0.9.1");
      await seed.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
      await seed.awaitProblem(name, "RequiredByOthers");
    },
  },
  conversionNeeded: {
    name: "queues",
    trouble: "it is deleted, but its custom resources need its conversion webhook",
    async seed(seed, name) {
      await seed.install(name, QUEUES.name, "1.3.0");
      const namespace = "shop-queues";
      await seed.namespace(namespace);
      await seed.apply({
        apiVersion: "queues.example.com/v1",
        kind: "Queue",
        metadata: { name: "orders", namespace },
        spec: { maxMessages: 9 },
      });
      await seed.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
      await seed.awaitProblem(name, "ConversionNeeded");
    },
  },
  planPermissionsPending: {
    name: "orders",
    trouble: "its permissions and those of its dependency wait for approval",
    async seed(seed, name) {
      await seed.create(name, ORDERS.name, { dependencies: { policy: "Install" } });
      for (const one of [name, PAYMENTS.name]) await seed.awaitProblem(one, "PermissionsPending");
    },
  },
  permissionsPending: {
    name: "mesh",
    trouble: "root-equivalent permissions wait for approval",
    async seed(seed, name) {
      await seed.create(name, MESH.name);
      await seed.awaitProblem(name, "PermissionsPending");
    },
  },
  healthy: {
    name: "object-storage",
    trouble: "none; it was upgraded and rolled back",
    async seed(seed, name) {
      await seed.install(name, OBJECT_STORAGE.name, "1.0.0");
      await seed.selectVersion(name, "1.1.0");
      await seed.world.installed(name, "1.1.0");
      await seed.edit(name, { metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: "1" } } });
      await seed.until(name, ({ status }) => status?.install?.bundle.version === "1.0.0");
      await seed.edit(name, {
        metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: null } },
        spec: { source: { catalog: { version: "1.x" } } },
      });
      await seed.until(
        name,
        ({ status }, condition) => status?.install?.bundle.version === "1.2.0" && condition("Ready")?.status === "True",
      );
      const namespace = "shop";
      await seed.namespace(namespace);
      const group = "storage.example.com/v1";
      await seed.apply({
        apiVersion: group,
        kind: "ObjectStore",
        metadata: { name: "main", namespace },
        spec: { servers: 4, size: "1Ti" },
      });
      for (const bucket of ["invoices", "product-images", "exports"])
        await seed.apply({
          apiVersion: group,
          kind: "Bucket",
          metadata: { name: bucket, namespace },
          spec: { storeName: "main", quota: "20Gi" },
        });
    },
  },
} satisfies Record<string, SeededExtension>;

/** A state of an extension. */
export type SeededState = keyof typeof EXTENSIONS;
