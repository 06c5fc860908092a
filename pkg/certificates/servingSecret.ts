import { LABEL_SELF_MANAGED_CERTIFICATE } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { type StoredCertificates, secretFrom, storedIn } from "./storedCertificates.ts";

/** Where a program keeps the certificates that it makes for itself. */
export interface ServingSecretName {
  readonly namespace: string;
  /** Such as "catalogd-serving-cert". */
  readonly name: string;
  /** Value of the label that says whose it is. */
  readonly program: string;
}

/** What there is of such a Secret. */
export type ServingSecret =
  | { readonly kind: "missing" }
  /** Of somebody else: nothing may be written into it. */
  | { readonly kind: "foreign"; readonly because: string }
  /** Ours, and without content: as the manifests have it. */
  | { readonly kind: "empty" }
  | { readonly kind: "stored"; readonly stored: StoredCertificates };

/** Members that are ours. */
const MEMBERS = ["tls.crt", "tls.key", "ca.crt", "next.crt", "next.key"] as const;

/** The name of a program's Secret, and of the label's value. */
export function servingSecretName(program: "catalogd" | "operator-controller", namespace: string): ServingSecretName {
  return { namespace, name: `${program}-serving-cert`, program };
}

/** What a Secret says, whoever wrote it. Only the label makes it ours, whatever it holds. */
export function servingSecretOf(secret: KubeObject | undefined, { program }: ServingSecretName): ServingSecret {
  if (!secret) return { kind: "missing" };
  const owner = secret.metadata.labels?.[LABEL_SELF_MANAGED_CERTIFICATE];
  const label = `label ${LABEL_SELF_MANAGED_CERTIFICATE}=${program}`;
  if (owner === undefined) return { kind: "foreign", because: `it has no ${label}` };
  if (owner !== program) return { kind: "foreign", because: `it has the label of another program in place of ${label}` };
  if (secret["immutable"] === true) return { kind: "foreign", because: "it is immutable" };
  const data = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  return MEMBERS.some((member) => (data[member] ?? "") !== "") ? { kind: "stored", stored: storedIn(secret) } : { kind: "empty" };
}

/**
 * The Secret with this content: `live` as it was read, with its resourceVersion, so that nobody's write is overwritten; where there is none, one
 * to be created. Members and labels of others stay.
 */
export function servingSecretWith(live: KubeObject | undefined, place: ServingSecretName, stored: StoredCertificates): KubeObject {
  const { namespace, name, program } = place;
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name };
  const fresh = secretFrom(secret, stored);
  // No type that asks for members: the manifests bring it empty.
  if (!live) {
    const labels = { [LABEL_SELF_MANAGED_CERTIFICATE]: program, "app.kubernetes.io/name": program, "app.kubernetes.io/part-of": "olm" };
    return { ...fresh, metadata: { ...fresh.metadata, labels }, type: "Opaque" };
  }
  const others = Object.entries((live["data"] ?? {}) as Record<string, string>).filter(
    ([key]) => !MEMBERS.some((member) => member === key),
  );
  return { ...live, data: { ...Object.fromEntries(others), ...(fresh["data"] as Record<string, string>) } };
}
