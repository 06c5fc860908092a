import type { KubeObject } from "../api/k8s.ts";
import { objectName } from "./names.ts";

/** Names of what one deployment needs to serve webhooks or APIs over TLS. */
export interface CertificateNames {
  /** Service in front of the deployment. */
  readonly serviceName: string;
  /** Certificate and the Secret it is kept in. */
  readonly certificateName: string;
  readonly namespace: string;
}

/** The Secret with the serving certificate and the keys in it. */
export interface CertificateSecret {
  readonly secretName: string;
  readonly certificateKey: string;
  readonly privateKeyKey: string;
}

/** The kinds that can carry a hint for a certificate provider. */
export type AnnotatedKind =
  | "ValidatingWebhookConfiguration"
  | "MutatingWebhookConfiguration"
  | "CustomResourceDefinition"
  | "APIService"
  | "Service";

/** Provides serving certificates for webhooks and API services, by annotations and objects of its own; it never holds a key itself. */
export interface CertificateProvider {
  readonly name: string;
  /** Annotations that make the provider fill in the CA bundle, or issue the certificate, on an object of `kind`; none when empty. */
  annotations(kind: AnnotatedKind, names: CertificateNames): Readonly<Record<string, string>>;
  /** Where the deployment finds its certificate. */
  secret(names: CertificateNames): CertificateSecret;
  /** Objects beside the bundle's own that make the provider issue the certificate. */
  additionalObjects(names: CertificateNames): KubeObject[];
}

/** The names for a deployment, made from its name. */
export function certificateNames(deployment: string, namespace: string): CertificateNames {
  const serviceName = objectName(deployment.replaceAll(".", "-"), "service");
  return { serviceName, certificateName: objectName(serviceName, "cert"), namespace };
}
