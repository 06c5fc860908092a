import { join } from "node:path";
import type { CertificateFiles } from "./certificates.ts";

/** Ports on 127.0.0.1. */
interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
  readonly registry: number;
}

/** Inputs of the control plane's command lines; paths are absolute. */
export interface FlagsInput {
  readonly dataDir: string;
  readonly files: CertificateFiles;
  readonly ports: Ports;
  /** Path of the audit log; undefined if it is disabled. */
  readonly auditLog: string | undefined;
  readonly controllerManagerKubeconfig: string;
}

/** The audit policy: user, verb and object, without bodies; one line per finished request. */
export const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: None
  nonResourceURLs: ["/livez*", "/readyz*", "/healthz*"]
- level: Metadata
`;

/**
 * The controllers that run. All others manage machines, clouds and volumes, which do not exist here. Every version in `KUBERNETES_VERSIONS` must know
 * each name, because kube-controller-manager rejects unknown names.
 */
const CONTROLLERS = [
  "certificatesigningrequest-approving-controller",
  "certificatesigningrequest-cleaner-controller",
  "certificatesigningrequest-signing-controller",
  "clusterrole-aggregation-controller",
  "cronjob-controller",
  "deployment-controller",
  "disruption-controller",
  "endpoints-controller",
  "endpointslice-controller",
  "endpointslice-mirroring-controller",
  "garbage-collector-controller",
  "horizontal-pod-autoscaler-controller",
  "job-controller",
  "legacy-serviceaccount-token-cleaner-controller",
  "namespace-controller",
  "pod-garbage-collector-controller",
  "replicaset-controller",
  "replicationcontroller-controller",
  "resourcequota-controller",
  "root-ca-certificate-publisher-controller",
  "service-cidr-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "statefulset-controller",
  "storage-version-migrator-controller",
  "ttl-after-finished-controller",
  "validatingadmissionpolicy-status-controller",
];

/**
 * Flags of etcd with TLS and client certificates on loopback. It never syncs to disk, so its data
 * may not survive a power failure.
 */
export function buildEtcdFlags({ dataDir, files, ports }: FlagsInput): string[] {
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  return [
    "--name=dev",
    `--data-dir=${join(dataDir, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=dev=${peer}`,
    "--client-cert-auth",
    `--trusted-ca-file=${files.ca}`,
    `--cert-file=${files.serverCert}`,
    `--key-file=${files.serverKey}`,
    "--peer-client-cert-auth",
    `--peer-trusted-ca-file=${files.ca}`,
    `--peer-cert-file=${files.serverCert}`,
    `--peer-key-file=${files.serverKey}`,
    "--unsafe-no-fsync",
    "--quota-backend-bytes=8589934592",
    "--log-level=warn",
  ];
}

/** Flags of kube-apiserver with RBAC and all optional features that tests of operators use. */
export function buildApiServerFlags({ dataDir, files, ports, auditLog }: FlagsInput): string[] {
  const audit =
    auditLog === undefined
      ? []
      : [
          `--audit-policy-file=${join(dataDir, "audit-policy.yaml")}`,
          `--audit-log-path=${auditLog}`,
          "--audit-log-maxsize=4096",
          "--audit-log-mode=blocking",
        ];
  return [
    `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
    `--etcd-cafile=${files.ca}`,
    `--etcd-certfile=${files.etcdClientCert}`,
    `--etcd-keyfile=${files.etcdClientKey}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--secure-port=${ports.apiServer}`,
    `--tls-cert-file=${files.serverCert}`,
    `--tls-private-key-file=${files.serverKey}`,
    `--client-ca-file=${files.ca}`,
    "--authorization-mode=RBAC",
    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    "--enable-aggregator-routing",
    `--requestheader-client-ca-file=${files.ca}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
    `--proxy-client-cert-file=${files.proxyClientCert}`,
    `--proxy-client-key-file=${files.proxyClientKey}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--allow-privileged",
    "--profiling=false",
    ...audit,
  ];
}

/**
 * Flags of kube-controller-manager: garbage collection, namespaces, workloads, ServiceAccounts,
 * signing; each controller with its own permissions.
 */
export function buildControllerManagerFlags({ files, controllerManagerKubeconfig }: FlagsInput): string[] {
  return [
    `--kubeconfig=${controllerManagerKubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--use-service-account-credentials",
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    `--cluster-signing-cert-file=${files.ca}`,
    `--cluster-signing-key-file=${files.caKey}`,
    `--controllers=${CONTROLLERS.join(",")}`,
    "--kube-api-qps=200",
    "--kube-api-burst=400",
    "--profiling=false",
  ];
}

/**
 * Returns the configuration file of the image registry: plain HTTP on loopback, no credentials,
 * image deletion enabled.
 */
export function renderRegistryConfig({
  dataDir,
  ports,
}: {
  readonly dataDir: string;
  readonly ports: { readonly registry: number };
}): string {
  return `version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: ${JSON.stringify(join(dataDir, "registry"))}}
  delete: {enabled: true}
http:
  addr: 127.0.0.1:${ports.registry}
  headers: {X-Content-Type-Options: [nosniff]}
`;
}
