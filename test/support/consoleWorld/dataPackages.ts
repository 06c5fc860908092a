import { POD_OUTCOME_ANNOTATION } from "../../../pkg/devcluster/podSimulation.ts";
import { type CrdFixture, describeInteger, describeText } from "./customResources.ts";
import { describeOperator } from "./descriptions.ts";
import { createPngIcon, createSvgIcon } from "./icons.ts";
import { nameBundle, type OperatorPackage } from "./operatorPackage.ts";

const ACME = { name: "Acme Data", url: "https://data.acme.example.com" };
const PLATFORM = { name: "Contoso Cloud Native", url: "https://contoso.example.com" };

const POSTGRES_GROUP = "postgres.example.com";
const POSTGRES_CLUSTER: CrdFixture = {
  group: POSTGRES_GROUP,
  kind: "PostgresCluster",
  plural: "postgresclusters",
  displayName: "PostgreSQL cluster",
  description: "A PostgreSQL database with replicas and automatic failover.",
  versions: [
    {
      name: "v1",
      spec: {
        version: describeInteger("major version of PostgreSQL", { minimum: 13 }),
        replicas: describeInteger("number of servers", { minimum: 1 }),
        storage: describeText("size of each volume"),
      },
    },
  ],
  example: {
    apiVersion: `${POSTGRES_GROUP}/v1`,
    kind: "PostgresCluster",
    metadata: { name: "orders" },
    spec: { version: 17, replicas: 3, storage: "50Gi" },
  },
};

/** An operator with an upgrade that changes fields, permissions and a CustomResourceDefinition. */
export const POSTGRES: OperatorPackage = {
  name: "postgres-operator",
  displayName: "PostgreSQL Operator",
  summary: "Runs highly available PostgreSQL clusters with backups and point-in-time recovery.",
  description: describeOperator({
    about: "The PostgreSQL Operator creates **highly available** PostgreSQL clusters, and automates failover, backups and upgrades.",
    features: [
      "Failover: promotes a replica within 30 seconds.",
      "Point-in-time recovery: restores a cluster to any second of the last 30 days.",
      "Connection pooling: one pooler for each cluster.",
    ],
    example: `apiVersion: ${POSTGRES_GROUP}/v1\nkind: PostgresCluster\nmetadata:\n  name: orders\nspec:\n  version: 17\n  replicas: 3`,
  }),
  provider: ACME,
  keywords: ["database", "postgresql", "sql", "high availability"],
  categories: "Database",
  capabilities: "Auto Pilot",
  icon: createSvgIcon("PG", "#1e40af"),
  versions: [
    {
      version: "1.0.0",
      crds: [POSTGRES_CLUSTER],
      deployments: [{ name: "postgres-operator", args: ["--leader-elect", "--workers=4"] }],
      objects: [
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "postgres-operator-defaults" },
          data: { backupSchedule: "0 3 * * *", pooler: "off" },
        },
      ],
      clusterPermissions: [
        { apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["get", "list", "watch", "create", "update", "patch"] },
      ],
    },
    {
      version: "1.1.0",
      crds: [
        {
          ...POSTGRES_CLUSTER,
          versions: [
            {
              name: "v1",
              spec: { ...POSTGRES_CLUSTER.versions[0]?.spec, pooler: { type: "boolean", description: "true to run a connection pooler" } },
            },
          ],
        },
      ],
      deployments: [
        { name: "postgres-operator", replicas: 2, memory: "256Mi", args: ["--leader-elect", "--workers=8", "--enable-pooler"] },
      ],
      objects: [
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "postgres-operator-defaults" },
          data: { backupSchedule: "0 1 * * *", pooler: "on" },
        },
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "postgres-operator-metrics" },
          spec: { selector: { "app.kubernetes.io/name": "postgres-operator" }, ports: [{ name: "metrics", port: 8443 }] },
        },
      ],
      clusterPermissions: [
        {
          apiGroups: ["apps"],
          resources: ["statefulsets", "deployments"],
          verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
        },
        { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "create", "update", "patch"] },
      ],
    },
  ],
};

/** An operator whose Pods crash. */
export const KAFKA: OperatorPackage = {
  name: "kafka-operator",
  supportedUntil: { "3.2": "2024-12-31", "3.3": "2099-12-31" },
  displayName: "Kafka Operator",
  summary: "Runs Kafka brokers, topics and connectors.",
  description: describeOperator({
    about: "The Kafka Operator runs **Kafka clusters** without ZooKeeper, and manages topics and users as custom resources.",
    features: ["Rolling updates: restarts brokers one by one.", "Rebalancing: moves partitions to new brokers."],
    example: "apiVersion: kafka.example.com/v1\nkind: KafkaCluster\nmetadata:\n  name: events\nspec:\n  brokers: 3",
  }),
  provider: ACME,
  keywords: ["kafka", "streaming", "messaging", "events"],
  categories: "Streaming & Messaging",
  capabilities: "Deep Insights",
  icon: createPngIcon("#111827"),
  versions: ["3.2.0", "3.3.0"].map((version) => ({
    version,
    crds: [
      {
        group: "kafka.example.com",
        kind: "KafkaCluster",
        plural: "kafkaclusters",
        displayName: "Kafka cluster",
        description: "A cluster of Kafka brokers.",
        versions: [{ name: "v1", spec: { brokers: describeInteger("number of brokers", { minimum: 1 }) } }],
      },
    ],
    deployments: [
      {
        name: "kafka-cluster-operator",
        replicas: 2,
        annotations: { [POD_OUTCOME_ANNOTATION]: version === "3.3.0" ? "CrashLoop" : "Ready" },
      },
      { name: "kafka-entity-operator", args: ["--watch-topics", "--watch-users"] },
    ],
  })),
};

const redis = (version: string) => ({
  version,
  deployments: [{ name: "redis-operator", args: ["--leader-elect", `--default-image=redis:${version[0]}`] }],
});

/** An operator with a newer major version that is not a successor of the older versions. */
export const REDIS: OperatorPackage = {
  name: "redis-operator",
  displayName: "Redis Operator",
  summary: "Runs Redis with Sentinel failover or as a sharded cluster.",
  description: describeOperator({
    about: "The Redis Operator runs **Redis** as a single server, with Sentinel, or as a sharded cluster.",
    features: ["Failover: Sentinel promotes a replica.", "Snapshots: copies snapshots to an object store."],
    example: "apiVersion: redis.example.com/v1\nkind: Redis\nmetadata:\n  name: cache\nspec:\n  replicas: 3",
    notes: "> Version 2 stores its state in another format. Follow the migration guide before you install it.",
  }),
  provider: ACME,
  keywords: ["cache", "redis", "key-value"],
  categories: "Database",
  capabilities: "Full Lifecycle",
  icon: createPngIcon("#b91c1c"),
  versions: ["1.3.0", "1.4.2", "2.0.0", "2.1.0"].map(redis),
  channels: {
    "stable-v2": [
      { name: nameBundle("redis-operator", "2.0.0") },
      { name: nameBundle("redis-operator", "2.1.0"), replaces: nameBundle("redis-operator", "2.0.0"), skipRange: ">=2.0.0 <2.1.0" },
    ],
    "stable-v1": [
      { name: nameBundle("redis-operator", "1.3.0") },
      { name: nameBundle("redis-operator", "1.4.2"), replaces: nameBundle("redis-operator", "1.3.0") },
    ],
  },
};

const BACKUP_SPEC = {
  source: describeText("name of the volume or namespace to back up"),
  schedule: describeText("schedule in cron format"),
  retentionDays: describeInteger("days until a backup is deleted"),
};
const backupCrd = (versions: CrdFixture["versions"]): CrdFixture => ({
  group: "backup.example.com",
  kind: "Backup",
  plural: "backups",
  description: "A scheduled backup of a namespace or volume.",
  versions,
});

/** An operator whose newest version removes a field and a version that custom resources use. */
export const BACKUP: OperatorPackage = {
  name: "backup-operator",
  displayName: "Backup Operator",
  summary: "Backs up namespaces and volumes to object stores, and restores them.",
  description: describeOperator({
    about: "The Backup Operator takes **scheduled backups** of namespaces and volumes, and restores them into any cluster.",
    features: ["Schedules: cron expressions with time zones.", "Encryption: client-side, with your own keys."],
    example: "apiVersion: backup.example.com/v1\nkind: Backup\nmetadata:\n  name: nightly\nspec:\n  source: shop",
  }),
  provider: PLATFORM,
  keywords: ["backup", "restore", "disaster recovery"],
  categories: "Storage",
  capabilities: "Full Lifecycle",
  icon: createSvgIcon("BK", "#6d28d9"),
  versions: [
    {
      version: "1.8.0",
      deployments: [{ name: "backup-operator" }],
      crds: [
        backupCrd([
          { name: "v1", spec: BACKUP_SPEC },
          { name: "v1alpha1", spec: BACKUP_SPEC },
        ]),
      ],
    },
    {
      version: "1.9.0",
      deployments: [{ name: "backup-operator" }],
      crds: [
        backupCrd([{ name: "v1", spec: { source: BACKUP_SPEC.source, retentionDays: { ...BACKUP_SPEC.retentionDays, maximum: 14 } } }]),
      ],
    },
  ],
};

/** An operator whose Deployments exceed a ResourceQuota. */
export const TRAINING: OperatorPackage = {
  name: "training-operator",
  displayName: "Training Operator",
  summary: "Runs distributed machine-learning jobs.",
  description: describeOperator({
    about: "The Training Operator runs **distributed training jobs** and schedules their workers together.",
    features: ["Gang scheduling: starts all workers or none.", "Checkpoints: resumes interrupted jobs."],
    example: "apiVersion: training.example.com/v1\nkind: TrainingJob\nmetadata:\n  name: recommendations\nspec:\n  workers: 8",
  }),
  provider: { name: "Fabrikam AI", url: "https://ai.fabrikam.example.com" },
  keywords: ["machine learning", "training", "gpu", "jobs"],
  categories: "AI/Machine Learning",
  capabilities: "Basic Install",
  icon: createPngIcon("#be185d"),
  versions: [
    {
      version: "0.14.0",
      deployments: [{ name: "training-controller" }, { name: "training-scheduler" }, { name: "training-dashboard" }],
    },
  ],
};
