import type { KubeObject, ObjectRef } from "../api/k8s.ts";

/** A serving certificate and its private key, PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Content of a certificate's Secret. The keys of authorities are never stored. */
export interface StoredCertificates {
  /** The certificate that the operator serves. */
  readonly serving: KeyPair;
  /** The next certificate, which is served once its authority is trusted everywhere. */
  readonly next?: KeyPair;
  /** Certificates of all trusted authorities, PEM, oldest first. */
  readonly authorities: readonly string[];
}

/** Maximum number of trusted authorities. Each rotation adds one; expired ones are removed. */
export const AUTHORITIES_MAX = 16;
const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]{1,8192}-----END CERTIFICATE-----/g;

/** Key under which OLM v0 stores the certificate of its authority. */
const OLM_V0_AUTHORITY = "olmCAKey";

/**
 * Reads the content of a Secret, which any program may have written, without validation. Also reads a Secret of OLM v0, so that a converted operator keeps
 * its certificate, and its clients keep the authority, until the certificate expires.
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/install/certresources.go
 */
export function readStoredCertificates(secret: KubeObject): StoredCertificates {
  const data = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
  const next = { certificate: text("next.crt"), key: text("next.key") };
  return {
    serving: { certificate: text("tls.crt"), key: text("tls.key") },
    ...(next.certificate === "" ? {} : { next }),
    authorities: parseCertificates(text("ca.crt") || text(OLM_V0_AUTHORITY)),
  };
}

/**
 * Returns the Secret with the content `stored`, without ownership labels. The operator mounts
 * tls.crt and tls.key; operator-controller uses the other keys.
 */
export function toServingSecret({ apiVersion, kind, namespace, name }: ObjectRef, stored: StoredCertificates): KubeObject {
  const { serving, next } = stored;
  const texts = {
    "tls.crt": serving.certificate,
    "tls.key": serving.key,
    "ca.crt": joinCertificates(stored.authorities),
    ...(next ? { "next.crt": next.certificate, "next.key": next.key } : {}),
  };
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
  return { apiVersion, kind, metadata: { ...(namespace === undefined ? {} : { namespace }), name }, type: "kubernetes.io/tls", data };
}

/** Joins several certificates into one PEM text. */
export function joinCertificates(authorities: readonly string[]): string {
  return authorities.map((certificate) => `${certificate.trim()}\n`).join("");
}

/**
 * Returns the certificates in a PEM text without duplicates, at most the last `AUTHORITIES_MAX`.
 */
export function parseCertificates(text: string): string[] {
  return [...new Set([...text.matchAll(PEM)].map(([certificate]) => certificate))].slice(-AUTHORITIES_MAX);
}
