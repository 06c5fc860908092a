import { describeText } from "./customResources.ts";
import { describeOperator } from "./descriptions.ts";
import { createPngIcon, createSvgIcon } from "./icons.ts";
import type { OperatorPackage } from "./operatorPackage.ts";

const PLATFORM = { name: "Contoso Cloud Native", url: "https://contoso.example.com" };

/** An operator whose ServiceAccount lacks permissions. */
export const SECRETS_SYNC: OperatorPackage = {
  name: "secrets-sync-operator",
  displayName: "Secrets Sync",
  summary: "Copies secrets from an external vault into Kubernetes Secrets.",
  description: describeOperator({
    about: "Secrets Sync reads secrets from **external vaults** and keeps Kubernetes Secrets up to date.",
    features: ["Vaults: five providers of secret management.", "Rotation: restarts workloads after a secret has changed."],
    example: "apiVersion: secrets.example.com/v1\nkind: SyncedSecret\nmetadata:\n  name: database\nspec:\n  path: shop/database",
  }),
  provider: PLATFORM,
  keywords: ["secrets", "vault", "rotation"],
  categories: "Security",
  capabilities: "Seamless Upgrades",
  icon: createSvgIcon("SS", "#b45309"),
  versions: [
    {
      version: "2.3.0",
      crds: [
        {
          group: "secrets.example.com",
          kind: "SyncedSecret",
          plural: "syncedsecrets",
          description: "A Secret that is copied from an external vault.",
          versions: [{ name: "v1", spec: { path: describeText("path of the secret in the vault") } }],
        },
      ],
      clusterPermissions: [
        { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "create", "update", "patch", "delete"] },
        { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "watch"] },
      ],
    },
  ],
};

/** An operator whose Deployment is changed by a user. */
export const GRAFANA: OperatorPackage = {
  name: "grafana-operator",
  displayName: "Grafana Operator",
  summary: "Manages Grafana instances, dashboards and data sources.",
  description: describeOperator({
    about: "The Grafana Operator creates **Grafana instances** and keeps dashboards and data sources in Git.",
    features: ["Dashboards as code: import dashboards from ConfigMaps or URLs.", "Folders: one folder for each namespace."],
    example: "apiVersion: grafana.example.com/v1beta1\nkind: Dashboard\nmetadata:\n  name: sales\nspec:\n  folder: Shop",
  }),
  provider: { name: "Open Observability Project" },
  keywords: ["grafana", "dashboards", "visualization"],
  categories: "Monitoring, Logging & Tracing",
  capabilities: "Deep Insights",
  icon: createSvgIcon("Gr", "#ea580c"),
  versions: [
    {
      version: "5.16.0",
      crds: [
        {
          group: "grafana.example.com",
          kind: "Dashboard",
          plural: "dashboards",
          description: "A dashboard of a Grafana instance.",
          versions: [{ name: "v1beta1", spec: { folder: describeText("folder of the dashboard") } }],
        },
      ],
      deployments: [{ name: "grafana-operator", args: ["--zap-log-level=info", "--leader-elect"] }],
    },
  ],
};

/** An operator whose package, channel and bundle are deprecated. */
export const LOGGING: OperatorPackage = {
  name: "logging-operator",
  displayName: "Logging Operator",
  summary: "Collects container logs with Fluentd and forwards them to Elasticsearch.",
  description: describeOperator({
    about: "The Logging Operator collects the logs of **all containers** and forwards them.",
    features: ["Filters: drops and rewrites records.", "Buffers: keeps records on disk while a target is down."],
    example: "apiVersion: logging.example.com/v1beta1\nkind: LogPipeline\nmetadata:\n  name: all",
  }),
  provider: { name: "Open Observability Project" },
  keywords: ["logs", "fluentd", "elasticsearch"],
  categories: "Monitoring, Logging & Tracing",
  capabilities: "Seamless Upgrades",
  icon: createSvgIcon("Lo", "#4d7c0f"),
  architectures: ["amd64"],
  versions: ["4.1.0", "4.2.0"].map((version) => ({ version, deployments: [{ name: "logging-operator" }] })),
  channels: { "4.x": [{ name: "logging-operator.v4.1.0" }, { name: "logging-operator.v4.2.0", replaces: "logging-operator.v4.1.0" }] },
  deprecations: [
    {
      reference: { schema: "olm.package" },
      message: "The Logging Operator reached its end of support on 2026-03-31. Move to opentelemetry-collector-operator.",
    },
    { reference: { schema: "olm.channel", name: "4.x" }, message: "Channel 4.x gets only critical security fixes." },
    {
      reference: { schema: "olm.bundle", name: "logging-operator.v4.2.0" },
      message: "Version 4.2.0 contains a vulnerable log parser (CVE-2026-1234). No version fixes it.",
    },
  ],
};

/** An operator whose dependencies no catalog contains. */
export const TRACING: OperatorPackage = {
  name: "tracing-operator",
  displayName: "Distributed Tracing",
  summary: "Collects traces of distributed applications and finds slow requests.",
  description: describeOperator({
    about: "Distributed Tracing stores **traces** in OpenSearch and shows where requests spend their time.",
    features: ["Sampling: keeps slow and failed requests.", "Protocols: OTLP, Zipkin and Jaeger."],
    example: "apiVersion: tracing.example.com/v1\nkind: TraceStore\nmetadata:\n  name: main",
  }),
  provider: PLATFORM,
  keywords: ["tracing", "opentelemetry", "latency"],
  categories: "Monitoring, Logging & Tracing",
  capabilities: "Basic Install",
  icon: createPngIcon("#0891b2"),
  versions: [
    {
      version: "1.62.0",
      deployments: [{ name: "tracing-operator" }],
      dependencies: [
        { type: "olm.package", value: { packageName: "opensearch-operator", version: ">=2.7.0" } },
        { type: "olm.gvk", value: { group: "opensearch.example.com", version: "v1", kind: "OpenSearchCluster" } },
      ],
    },
  ],
};

/** An operator with root-equivalent permissions. */
export const MESH: OperatorPackage = {
  name: "mesh-operator",
  displayName: "Service Mesh Operator",
  summary: "Adds mutual TLS, retries and traffic shifting between services.",
  description: describeOperator({
    about: "The Service Mesh Operator injects **sidecar proxies** that encrypt and route the requests between services.",
    features: ["Mutual TLS: without changes to applications.", "Traffic shifting: moves requests in small steps."],
    example: "apiVersion: mesh.example.com/v1\nkind: Mesh\nmetadata:\n  name: default",
  }),
  provider: PLATFORM,
  keywords: ["service mesh", "mtls", "sidecar"],
  categories: "Networking",
  capabilities: "Auto Pilot",
  icon: createSvgIcon("SM", "#0369a1"),
  versions: [
    {
      version: "2.6.0",
      deployments: [{ name: "mesh-operator" }],
      clusterPermissions: [
        { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["*"] },
        { apiGroups: [""], resources: ["pods/exec"], verbs: ["create"] },
        {
          apiGroups: ["admissionregistration.k8s.io"],
          resources: ["mutatingwebhookconfigurations"],
          verbs: ["get", "list", "create", "update", "patch"],
        },
        {
          apiGroups: ["rbac.authorization.k8s.io"],
          resources: ["clusterroles", "clusterrolebindings"],
          verbs: ["create", "update", "bind", "escalate"],
        },
        {
          apiGroups: ["apps"],
          resources: ["deployments", "daemonsets"],
          verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
        },
      ],
    },
  ],
};
