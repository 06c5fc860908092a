import { ANNOTATION_INJECT_CA_FROM_SECRET, ANNOTATION_SERVING_CERT_SECRET } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { buildObjectName } from "../bundle/objectNames.ts";
import type { DeploymentSpec, NamedItem, PodTemplate } from "../bundle/types.ts";

/** Names of the objects that a deployment needs to serve webhooks or APIs over TLS. */
export interface CertificateNames {
  /** Service of the deployment. */
  readonly serviceName: string;
  /** Name of the certificate and its Secret. */
  readonly certificateName: string;
  readonly namespace: string;
}

/** The Secret of the serving certificate and its data keys. */
interface CertificateSecret {
  readonly secretName: string;
  readonly certificateKey: string;
  readonly privateKeyKey: string;
}

/** The kinds that can have annotations for a certificate provider. */
type AnnotatedKind =
  | "ValidatingWebhookConfiguration"
  | "MutatingWebhookConfiguration"
  | "CustomResourceDefinition"
  | "APIService"
  | "Service";

/**
 * Provides serving certificates for webhooks and API services by means of annotations and
 * additional objects, without handling private keys.
 */
export interface CertificateProvider {
  readonly name: string;
  /**
   * Returns the annotations for a `kind` object that make the provider set the CA bundle or issue
   * the certificate; may be empty.
   */
  annotations(kind: AnnotatedKind, names: CertificateNames): Readonly<Record<string, string>>;
  /** Returns the Secret that the deployment mounts. */
  secret(names: CertificateNames): CertificateSecret;
  /** Returns the additional objects that the provider needs to issue the certificate. */
  additionalObjects(names: CertificateNames): KubeObject[];
}

/** Returns the names for a deployment, derived from its name. */
export function buildCertificateNames(deployment: string, namespace: string): CertificateNames {
  const serviceName = buildObjectName(deployment.replaceAll(".", "-"), "service");
  return { serviceName, certificateName: buildObjectName(serviceName, "cert"), namespace };
}

const API_VERSION = "cert-manager.io/v1";
const TWO_YEARS = "17520h0m0s";
const ONE_DAY = "24h0m0s";

/**
 * cert-manager issues one self-signed certificate for each deployment with webhooks or API services and injects its CA.
 * @see https://cert-manager.io/docs/concepts/ca-injector/
 */
export const certManager: CertificateProvider = {
  name: "cert-manager",
  annotations: (kind, { namespace, certificateName }) =>
    kind === "Service" ? {} : { "cert-manager.io/inject-ca-from": `${namespace}/${certificateName}` },
  secret: ({ certificateName }) => ({ secretName: certificateName, certificateKey: "tls.crt", privateKeyKey: "tls.key" }),
  additionalObjects: (names) => [issuer(names), certificate(names)],
};

function issuerName({ certificateName }: CertificateNames): string {
  return buildObjectName(certificateName, "selfsigned-issuer");
}

function issuer(names: CertificateNames): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "Issuer",
    metadata: { name: issuerName(names), namespace: names.namespace },
    spec: { selfSigned: {} },
    status: {},
  };
}

function certificate(names: CertificateNames): KubeObject {
  const { serviceName, certificateName, namespace } = names;
  const host = `${serviceName}.${namespace}`;
  return {
    apiVersion: API_VERSION,
    kind: "Certificate",
    metadata: { name: certificateName, namespace },
    spec: {
      commonName: host,
      dnsNames: [host, `${host}.svc`, `${host}.svc.cluster.local`],
      duration: TWO_YEARS,
      issuerRef: { name: issuerName(names) },
      renewBefore: ONE_DAY,
      secretName: certificateName,
      usages: ["server auth"],
    },
    status: {},
  };
}

/**
 * OpenShift's service CA writes the serving certificate of an annotated Service into a Secret and injects its CA.
 * @see https://github.com/openshift/service-ca-operator
 */
export const serviceCa: CertificateProvider = {
  name: "openshift-service-ca",
  annotations: (kind, { certificateName }) =>
    kind === "Service"
      ? { "service.beta.openshift.io/serving-cert-secret-name": certificateName }
      : { "service.beta.openshift.io/inject-cabundle": "true" },
  secret: ({ certificateName }) => ({ secretName: certificateName, certificateKey: "tls.crt", privateKeyKey: "tls.key" }),
  additionalObjects: () => [],
};

/**
 * If no other provider is available, operator-controller issues the serving certificate, writes it
 * into a Secret and sets the CA bundles. The annotations are for users and `pkg/certificates`.
 * Rendered objects do not contain the key or the CA.
 */
export const selfSigned: CertificateProvider = {
  name: "self-signed",
  annotations: (kind, { namespace, certificateName }) =>
    kind === "Service"
      ? { [ANNOTATION_SERVING_CERT_SECRET]: certificateName }
      : { [ANNOTATION_INJECT_CA_FROM_SECRET]: `${namespace}/${certificateName}` },
  secret: ({ certificateName }) => ({ secretName: certificateName, certificateKey: "tls.crt", privateKeyKey: "tls.key" }),
  additionalObjects: () => [],
};

/**
 * Paths at which operators built for OLM expect their serving certificate, as a webhook server and
 * as an API server.
 */
const PLACES = [
  { name: "webhook-cert", path: "/tmp/k8s-webhook-server/serving-certs", certificateFile: "tls.crt", keyFile: "tls.key" },
  { name: "apiservice-cert", path: "/apiserver.local.config/certificates", certificateFile: "apiserver.crt", keyFile: "apiserver.key" },
] as const;

/**
 * Returns `spec` with the serving certificate mounted into every container at both paths. First
 * removes, with all their mounts, the volumes with protected names and the volumes mounted at a
 * protected path. Does not change init containers.
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
 * Like `withCertificateVolumes`, for a deployment that serves APIs. A container that mounts a
 * volume with a protected name keeps this mount at any path and gets the certificate there. Mounts
 * of other volumes at a protected path are removed.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/install/certresources.go
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

/**
 * Returns the names of the Secrets that a Deployment mounts at the paths of the serving
 * certificate.
 */
function servingSecrets(deployment: KubeObject): string[] {
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

/** All certificate providers. Providers that require components on the cluster come first. */
export const CERTIFICATE_PROVIDERS: readonly CertificateProvider[] = [certManager, serviceCa, selfSigned];

/**
 * Returns the certificate provider of rendered, prepared or released objects; undefined if they
 * have no webhooks. Considers only annotations that the renderer writes, because bundles may also
 * contain provider annotations.
 */
export function findProvider(objects: readonly KubeObject[]): CertificateProvider | undefined {
  return CERTIFICATE_PROVIDERS.find((provider) => listProvidedNames(objects, provider).length > 0);
}

/** Returns the certificate names of every Deployment whose serving certificate this provider issues. */
export function listProvidedNames(objects: readonly KubeObject[], provider: CertificateProvider): CertificateNames[] {
  return listServedNames(objects).filter((names) => isMarked(objects, provider, names));
}

/** Returns the certificate names of all Deployments that mount a serving certificate. */
export function listServedNames(objects: readonly KubeObject[]): CertificateNames[] {
  return objects.flatMap((object) => {
    if (object.kind !== "Deployment") return [];
    const names = buildCertificateNames(object.metadata.name, object.metadata.namespace ?? "");
    return servingSecrets(object).includes(names.certificateName) ? [names] : [];
  });
}

/**
 * Returns whether the Service of the deployment and the additional objects are as this provider
 * creates them.
 */
function isMarked(objects: readonly KubeObject[], provider: CertificateProvider, names: CertificateNames): boolean {
  const hints = Object.entries(provider.annotations("Service", names));
  const service = objects.find(
    ({ apiVersion, kind, metadata }) => apiVersion === "v1" && kind === "Service" && metadata.name === names.serviceName,
  );
  const others = provider.additionalObjects(names);
  return (
    hints.length + others.length > 0 &&
    hints.every(([key, value]) => service?.metadata.annotations?.[key] === value) &&
    others.every(({ kind, metadata }) => objects.some((object) => object.kind === kind && object.metadata.name === metadata.name))
  );
}
