import type { KubeObject } from "../api/k8s.ts";
import type { DeploymentSpec, NamedItem, PodTemplate } from "../bundle/types.ts";
import type { CertificateSecret } from "./certificateProvider.ts";

/** Where operators built for OLM look for their serving certificate: as a webhook server and as an API server. */
const PLACES = [
  { name: "webhook-cert", path: "/tmp/k8s-webhook-server/serving-certs", certificateFile: "tls.crt", keyFile: "tls.key" },
  { name: "apiservice-cert", path: "/apiserver.local.config/certificates", certificateFile: "apiserver.crt", keyFile: "apiserver.key" },
] as const;

/**
 * `spec` with the serving certificate mounted into every container at both places. Volumes with the protected names, and those that some
 * container mounts at a protected path, go first, with all their mounts; init containers are left alone.
 */
export function withCertificateVolumes(spec: DeploymentSpec, secret: CertificateSecret): DeploymentSpec {
  const pod = spec.template.spec;
  const containers = pod.containers ?? [];
  const replaced = new Set<string>(PLACES.map(({ name }) => name));
  for (const { volumeMounts = [] } of containers) {
    for (const { name, mountPath } of volumeMounts) if (PLACES.some(({ path }) => path === mountPath)) replaced.add(name);
  }
  const kept = <T extends { name: string }>(items: readonly T[] = []) => items.filter(({ name }) => !replaced.has(name));
  const mounts = PLACES.map(({ name, path }) => ({ name, mountPath: path }));
  return withPod(spec, {
    volumes: [...kept(pod.volumes), ...certificateVolumes(secret)],
    containers:
      pod.containers && containers.map((container) => ({ ...container, volumeMounts: [...kept(container.volumeMounts), ...mounts] })),
  });
}

/**
 * The same for a deployment that serves APIs, as operators that do are built for: a container that mounts a volume of a protected name itself,
 * wherever that is, keeps its mount, and finds the certificate there; what another volume is mounted for at a protected path goes.
 * @see operator-lifecycle-manager pkg/controller/install/certresources.go
 */
export function withOwnMountsKept(spec: DeploymentSpec, secret: CertificateSecret): DeploymentSpec {
  const pod = spec.template.spec;
  const own = (pod.volumes ?? []).filter(({ name }) => !isProtected(name));
  const containers = (pod.containers ?? []).map((container) => {
    const { volumeMounts = [] } = container;
    const kept = volumeMounts.filter(({ name, mountPath }) => isProtected(name) || !PLACES.some(({ path }) => path === mountPath));
    const missing = PLACES.filter(({ name, path }) => !kept.some((mount) => mount.name === name || mount.mountPath === path));
    return { ...container, volumeMounts: [...kept, ...missing.map(({ name, path }) => ({ name, mountPath: path }))] };
  });
  return withPod(spec, { volumes: [...own, ...certificateVolumes(secret)], containers: pod.containers && containers });
}

function isProtected(name: string): boolean {
  return PLACES.some((place) => place.name === name);
}

function certificateVolumes({ secretName, certificateKey, privateKeyKey }: CertificateSecret): NamedItem[] {
  return PLACES.map(({ name, certificateFile, keyFile }) => ({
    name,
    secret: {
      secretName,
      items: [
        { key: certificateKey, path: certificateFile },
        { key: privateKeyKey, path: keyFile },
      ],
    },
  }));
}

function withPod(spec: DeploymentSpec, changed: Pick<PodTemplate["spec"], "volumes" | "containers">): DeploymentSpec {
  return { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, ...changed } } };
}

/** Names of the Secrets that a Deployment mounts where the serving certificate is found. */
export function servingSecrets(deployment: KubeObject): string[] {
  const spec = deployment["spec"] as { template?: { spec?: { volumes?: readonly SecretVolume[] | null } } } | undefined;
  const volumes = spec?.template?.spec?.volumes ?? [];
  return volumes.flatMap(({ name, secret }) =>
    PLACES.some((place) => place.name === name) && secret?.secretName ? [secret.secretName] : [],
  );
}

interface SecretVolume {
  name?: string;
  secret?: { secretName?: string } | null;
}
