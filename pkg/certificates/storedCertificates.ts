import type { KubeObject, ObjectRef } from "../api/k8s.ts";

/** A serving certificate and its private key, PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** What the Secret of a certificate holds. No key of an authority is ever stored. */
export interface StoredCertificates {
  /** What the operator serves with. */
  readonly serving: KeyPair;
  /** What it will serve with once everybody trusts its authority. */
  readonly next?: KeyPair;
  /** Certificates of every authority that is to be trusted, PEM, oldest first. */
  readonly authorities: readonly string[];
}

/** Authorities that are trusted at most; a rotation adds one, and each goes when it has ended. */
export const AUTHORITIES_MAX = 16;
const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]{1,8192}-----END CERTIFICATE-----/g;

/** What a Secret holds, whoever wrote it; nothing of it is checked. */
export function storedIn(secret: KubeObject): StoredCertificates {
  const data = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
  const next = { certificate: text("next.crt"), key: text("next.key") };
  return {
    serving: { certificate: text("tls.crt"), key: text("tls.key") },
    ...(next.certificate === "" ? {} : { next }),
    authorities: parseCertificates(text("ca.crt")),
  };
}

/** The Secret that holds `stored`: the operator mounts tls.crt and tls.key, the rest is ours. Without owner marks. */
export function secretFrom({ apiVersion, kind, namespace, name }: ObjectRef, stored: StoredCertificates): KubeObject {
  const { serving, next } = stored;
  const texts = {
    "tls.crt": serving.certificate,
    "tls.key": serving.key,
    "ca.crt": bundleOf(stored.authorities),
    ...(next ? { "next.crt": next.certificate, "next.key": next.key } : {}),
  };
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
  return { apiVersion, kind, metadata: { ...(namespace === undefined ? {} : { namespace }), name }, type: "kubernetes.io/tls", data };
}

/** One PEM text of several certificates. */
export function bundleOf(authorities: readonly string[]): string {
  return authorities.map((certificate) => `${certificate.trim()}\n`).join("");
}

/** The certificates in a PEM text, each once; of more than `AUTHORITIES_MAX` the last. */
export function parseCertificates(text: string): string[] {
  return [...new Set([...text.matchAll(PEM)].map(([certificate]) => certificate))].slice(-AUTHORITIES_MAX);
}
