import type { KubeObject } from "../api/k8s.ts";
import type { DeploymentSpec } from "../bundle/types.ts";
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
  const volumes = PLACES.map(({ name, certificateFile, keyFile }) => ({
    name,
    secret: {
      secretName: secret.secretName,
      items: [
        { key: secret.certificateKey, path: certificateFile },
        { key: secret.privateKeyKey, path: keyFile },
      ],
    },
  }));
  const mounts = PLACES.map(({ name, path }) => ({ name, mountPath: path }));
  const changed = {
    ...pod,
    volumes: [...kept(pod.volumes), ...volumes],
    containers:
      pod.containers && containers.map((container) => ({ ...container, volumeMounts: [...kept(container.volumeMounts), ...mounts] })),
  };
  return { ...spec, template: { ...spec.template, spec: changed } };
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
