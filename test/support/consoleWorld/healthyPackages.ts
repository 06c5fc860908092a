import { type CrdFixture, describeInteger, describeText } from "./customResources.ts";
import { describeOperator } from "./descriptions.ts";
import { createPngIcon, createSvgIcon } from "./icons.ts";
import { chainVersions, nameBundle, type OperatorPackage, type OperatorVersion } from "./operatorPackage.ts";

const PROVIDER = { name: "Northwind Platform", url: "https://northwind.example.com" };

const OBJECT_STORE = "storage.example.com";
const BUCKET: CrdFixture = {
  group: OBJECT_STORE,
  kind: "Bucket",
  plural: "buckets",
  displayName: "Object bucket",
  description: "A bucket in an object store, with its quota and access keys.",
  versions: [
    {
      name: "v1",
      spec: {
        storeName: describeText("name of the ObjectStore"),
        quota: describeText("maximum size, such as 20Gi"),
        versioning: { type: "boolean", description: "true to keep earlier versions of objects" },
      },
      required: ["storeName"],
    },
  ],
  example: {
    apiVersion: `${OBJECT_STORE}/v1`,
    kind: "Bucket",
    metadata: { name: "invoices" },
    spec: { storeName: "main", quota: "20Gi", versioning: true },
  },
};
const STORE: CrdFixture = {
  group: OBJECT_STORE,
  kind: "ObjectStore",
  plural: "objectstores",
  displayName: "Object store",
  description: "A distributed object store with several servers.",
  versions: [
    {
      name: "v1",
      spec: {
        servers: describeInteger("number of servers", { minimum: 1, maximum: 32 }),
        size: describeText("capacity of each server, such as 1Ti"),
      },
      required: ["servers"],
    },
  ],
  example: { apiVersion: `${OBJECT_STORE}/v1`, kind: "ObjectStore", metadata: { name: "main" }, spec: { servers: 4, size: "1Ti" } },
};

const storageVersion = (version: string, more: Partial<OperatorVersion> = {}): OperatorVersion => ({
  version,
  crds: [STORE, BUCKET],
  deployments: [{ name: "object-storage-controller", replicas: 2, args: ["--leader-elect", `--release=${version}`] }],
  clusterPermissions: [
    { apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["services", "persistentvolumeclaims"], verbs: ["get", "list", "watch", "create", "update", "patch"] },
  ],
  webhooks: [
    {
      generateName: "validate.buckets.storage.example.com",
      type: "ValidatingAdmissionWebhook",
      deploymentName: "object-storage-controller",
      containerPort: 443,
      targetPort: 9443,
      webhookPath: "/validate-bucket",
      sideEffects: "None",
      failurePolicy: "Ignore",
      admissionReviewVersions: ["v1"],
      rules: [{ operations: ["CREATE", "UPDATE"], apiGroups: [OBJECT_STORE], apiVersions: ["v1"], resources: ["buckets"] }],
    },
  ],
  ...more,
});

const metricsService = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "object-storage-metrics", labels: { "app.kubernetes.io/part-of": "object-storage-operator" } },
  spec: { selector: { "app.kubernetes.io/name": "object-storage-controller" }, ports: [{ name: "metrics", port: 8443 }] },
};

/** A healthy operator with a webhook, two CustomResourceDefinitions and a Deployment with two Pods. */
export const OBJECT_STORAGE: OperatorPackage = {
  name: "object-storage-operator",
  displayName: "Object Storage Operator",
  summary: "Runs S3-compatible object stores and manages their buckets and access keys.",
  description: describeOperator({
    about:
      "The Object Storage Operator runs **S3-compatible object stores** on your own disks. It heals failed drives and rebalances data.",
    features: [
      "Buckets as code: declare buckets, quotas and access keys as custom resources.",
      "Erasure coding: survives the loss of half of the drives.",
      "Encryption: encrypts objects at rest with keys of your key management service.",
    ],
    example: `apiVersion: ${OBJECT_STORE}/v1\nkind: ObjectStore\nmetadata:\n  name: main\nspec:\n  servers: 4\n  size: 1Ti`,
  }),
  provider: PROVIDER,
  keywords: ["s3", "object storage", "buckets", "erasure coding"],
  categories: "Storage",
  capabilities: "Deep Insights",
  icon: createSvgIcon("OS", "#0f766e"),
  versions: [
    storageVersion("1.0.0"),
    storageVersion("1.1.0", { objects: [metricsService] }),
    storageVersion("1.2.0", {
      objects: [metricsService],
      crds: [
        STORE,
        {
          ...BUCKET,
          versions: [{ name: "v1", spec: { ...BUCKET.versions[0]?.spec, lifecycleDays: describeInteger("days until objects expire") } }],
        },
      ],
    }),
  ],
};

const CERTIFICATE: CrdFixture = {
  group: "pki.example.com",
  kind: "Certificate",
  plural: "certificates",
  description: "A TLS certificate that the operator requests and renews.",
  versions: [
    {
      name: "v1",
      spec: {
        dnsNames: { type: "array", items: { type: "string" }, description: "names in the certificate" },
        secretName: describeText("name of the Secret for the certificate and its key"),
      },
      required: ["secretName"],
    },
  ],
  example: {
    apiVersion: "pki.example.com/v1",
    kind: "Certificate",
    metadata: { name: "shop" },
    spec: { dnsNames: ["shop.example.com"], secretName: "shop-tls" },
  },
};

/** An operator that another one depends on. */
export const CERTIFICATES: OperatorPackage = {
  name: "certificate-operator",
  displayName: "Certificate Operator",
  summary: "Requests TLS certificates from ACME and private authorities, and renews them before they expire.",
  description: describeOperator({
    about: "The Certificate Operator adds certificates and issuers as resources, and renews each certificate **before it expires**.",
    features: ["ACME: HTTP-01 and DNS-01 challenges.", "Private authorities: issue from a Secret or an external vault."],
    example: "apiVersion: pki.example.com/v1\nkind: Certificate\nmetadata:\n  name: shop\nspec:\n  secretName: shop-tls",
  }),
  provider: PROVIDER,
  keywords: ["tls", "certificates", "acme", "pki"],
  categories: "Security, Networking",
  capabilities: "Full Lifecycle",
  icon: createPngIcon("#1d4ed8"),
  versions: [
    { version: "1.3.0", crds: [CERTIFICATE] },
    { version: "1.4.2", crds: [CERTIFICATE] },
  ],
};

/** An operator that needs the Certificate Operator. */
export const GATEWAY: OperatorPackage = {
  name: "gateway-operator",
  displayName: "Gateway Operator",
  summary: "Runs ingress gateways with automatic TLS for your HTTP routes.",
  description: describeOperator({
    about:
      "The Gateway Operator runs **ingress gateways** and attaches HTTP routes to them. Certificates come from the Certificate Operator.",
    features: ["Automatic TLS: every host name gets a certificate.", "Canary releases: send a percentage of requests to a new version."],
    example: "apiVersion: gateway.example.com/v1\nkind: IngressGateway\nmetadata:\n  name: public\nspec:\n  replicas: 2",
  }),
  provider: PROVIDER,
  keywords: ["ingress", "gateway", "http", "routing"],
  categories: "Networking",
  capabilities: "Seamless Upgrades",
  icon: createSvgIcon("GW", "#7c3aed"),
  versions: [
    {
      version: "0.9.1",
      crds: [
        {
          group: "gateway.example.com",
          kind: "IngressGateway",
          plural: "ingressgateways",
          description: "A gateway that accepts HTTP requests from outside the cluster.",
          versions: [{ name: "v1", spec: { replicas: describeInteger("number of replicas", { minimum: 1 }) } }],
        },
      ],
      dependencies: [{ type: "olm.package", value: { packageName: CERTIFICATES.name, version: ">=1.3.0 <2.0.0" } }],
    },
  ],
};

const MONITORING_VERSIONS = [
  ...Array.from({ length: 12 }, (_, minor) => [`0.${60 + minor}.0`, `0.${60 + minor}.1`, `0.${60 + minor}.2`]).flat(),
  "1.0.0-rc.1",
  "1.0.0",
];

/** An operator with many versions and channels. */
export const MONITORING: OperatorPackage = {
  name: "monitoring-operator",
  displayName: "Monitoring Operator",
  summary: "Configures metrics collection, alerts and long-term storage for clusters and applications.",
  description: describeOperator({
    about: "The Monitoring Operator runs a **metrics server** and alert routing, and finds the targets of your applications by label.",
    features: [
      "Targets by label: ServiceMonitor and PodMonitor select what to scrape.",
      "Alert rules: validated before they are loaded.",
      "Sharding: distributes targets over several servers.",
      "Long-term storage: uploads blocks to an object store.",
    ],
    example: "apiVersion: monitoring.example.com/v1\nkind: MetricsServer\nmetadata:\n  name: main\nspec:\n  retention: 30d",
    notes: "> Version 1.0 removes the deprecated field `spec.storage.emptyDir`.",
  }),
  provider: { name: "Open Observability Project", url: "https://observability.example.com" },
  keywords: ["metrics", "alerts", "monitoring", "observability", "time series"],
  categories: "Monitoring",
  capabilities: "Auto Pilot",
  icon: createPngIcon("#dc2626"),
  versions: MONITORING_VERSIONS.map((version) => ({
    version,
    crds: [
      {
        group: "monitoring.example.com",
        kind: "MetricsServer",
        plural: "metricsservers",
        displayName: "Metrics server",
        description: "A server that collects and stores metrics.",
        versions: [{ name: "v1", spec: { retention: describeText("how long metrics are kept, such as 30d") } }],
      },
      {
        group: "monitoring.example.com",
        kind: "AlertRule",
        plural: "alertrules",
        displayName: "Alert rule",
        description: "A condition on metrics that sends an alert.",
        versions: [{ name: "v1", spec: { expression: describeText("condition, as a query") } }],
      },
    ],
  })),
  channels: {
    stable: chainVersions(
      "monitoring-operator",
      MONITORING_VERSIONS.filter((version) => !version.includes("rc")),
    ),
    candidate: [
      { name: nameBundle("monitoring-operator", "1.0.0-rc.1"), skipRange: ">=0.60.0 <1.0.0-rc.1" },
      { name: nameBundle("monitoring-operator", "1.0.0"), replaces: nameBundle("monitoring-operator", "1.0.0-rc.1") },
    ],
    "stable-0.70": chainVersions("monitoring-operator", ["0.70.0", "0.70.1", "0.70.2"]),
    "stable-0.71": chainVersions("monitoring-operator", ["0.71.0", "0.71.1", "0.71.2"]),
    beta: chainVersions("monitoring-operator", ["0.60.0", "0.61.0", "0.62.0"]),
  },
  deprecations: [
    {
      reference: { schema: "olm.channel", name: "beta" },
      message: "Channel beta gets no new versions. Use channel stable or candidate.",
    },
    {
      reference: { schema: "olm.bundle", name: nameBundle("monitoring-operator", "0.60.0") },
      message: "Version 0.60.0 loses alerts after a restart (CVE-2024-0001). Upgrade to 0.60.1 or later.",
    },
  ],
};
