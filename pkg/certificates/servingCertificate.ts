import { LABEL_SELF_MANAGED_CERTIFICATE } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { type CertificateAction, type CertificateState, type CertificateTimes, chooseNextAction, type PairState } from "./rotation.ts";
import { readStoredCertificates, type StoredCertificates, toServingSecret } from "./storedCertificates.ts";

/** The Secret of a server's self-managed certificate. */
export interface ServingSecretName {
  readonly namespace: string;
  /** For example "catalogd-serving-cert". */
  readonly name: string;
  /** Value of the label that identifies its owner. */
  readonly program: string;
}

/** The state of the Secret. */
export type ServingSecret =
  | { readonly kind: "missing" }
  /** Owned by another server, so that it must not be written. */
  | { readonly kind: "foreign"; readonly reason: string }
  /** Owned by this server and still empty, as in the manifests. */
  | { readonly kind: "empty" }
  | { readonly kind: "stored"; readonly stored: StoredCertificates };

/** The data keys that this server owns. */
const MEMBERS = ["tls.crt", "tls.key", "ca.crt", "next.crt", "next.key"] as const;

/** Returns the name of a server's Secret and its label value. */
export function getServingSecretName(program: "catalogd" | "operator-controller", namespace: string): ServingSecretName {
  return { namespace, name: `${program}-serving-cert`, program };
}

/** Determines the state of a Secret, which any program may have written. Only the label decides who owns the Secret. */
export function parseServingSecret(secret: KubeObject | undefined, { program }: ServingSecretName): ServingSecret {
  if (!secret) return { kind: "missing" };
  const owner = secret.metadata.labels?.[LABEL_SELF_MANAGED_CERTIFICATE];
  const label = `label ${LABEL_SELF_MANAGED_CERTIFICATE}=${program}`;
  if (owner === undefined) return { kind: "foreign", reason: `the Secret has no ${label}` };
  if (owner !== program) return { kind: "foreign", reason: `the label of the Secret belongs to another server, expected ${label}` };
  if (secret["immutable"] === true) return { kind: "foreign", reason: "the Secret is immutable" };
  const data = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  return MEMBERS.some((member) => (data[member] ?? "") !== "")
    ? { kind: "stored", stored: readStoredCertificates(secret) }
    : { kind: "empty" };
}

/**
 * Returns the Secret with this content, based on `live` if it exists, otherwise a new one. Keeps
 * the resourceVersion of `live` to detect conflicting writes, and the data and labels from other
 * writers.
 */
export function buildServingSecret(live: KubeObject | undefined, place: ServingSecretName, stored: StoredCertificates): KubeObject {
  const { namespace, name, program } = place;
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name };
  const fresh = toServingSecret(secret, stored);
  // Uses a type without required keys, because the Secret in the manifests is empty.
  if (!live) {
    const labels = { [LABEL_SELF_MANAGED_CERTIFICATE]: program, "app.kubernetes.io/name": program, "app.kubernetes.io/part-of": "olm" };
    return { ...fresh, metadata: { ...fresh.metadata, labels }, type: "Opaque" };
  }
  const others = Object.entries((live["data"] ?? {}) as Record<string, string>).filter(
    ([key]) => !MEMBERS.some((member) => member === key),
  );
  return { ...live, data: { ...Object.fromEntries(others), ...(fresh["data"] as Record<string, string>) } };
}

const DAY_MS = 24 * 3_600_000;

/**
 * Durations of the servers' own certificates: valid for ninety days, replaced thirty days before
 * expiry. Clients have ten minutes to trust the next authority.
 */
export const SERVING_TIMES: CertificateTimes = {
  validityMs: 90 * DAY_MS,
  renewBeforeMs: 30 * DAY_MS,
  settleMs: 600_000,
  skewMs: 300_000,
};

/**
 * What a replica does to maintain the certificate of its server, in addition to the actions of
 * `chooseNextAction`. restore: write the served certificate back after the Secret was damaged or
 * deleted; leave: let the leader do `what`; refuse: do not write the Secret, because it belongs to
 * another owner.
 */
export type ServingAction =
  | CertificateAction
  | { readonly kind: "restore"; readonly reason: string }
  | { readonly kind: "leave"; readonly what: string }
  | { readonly kind: "refuse"; readonly reason: string };

/** Inputs of `chooseServingAction`. */
export interface ServingInput {
  readonly secret: Pick<ServingSecret, "kind"> & { readonly reason?: string };
  /** The assessment of the stored certificates; undefined if the Secret has none. */
  readonly state: CertificateState | undefined;
  /** The certificate that this replica serves; undefined if it serves none. */
  readonly held: PairState | undefined;
  readonly leading: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly times: CertificateTimes;
}

/**
 * Returns the next action from the first matching row:
 *
 * | Secret           | its certificate | held    | leads | action                                                  |
 * | of another owner |                 |         |       | refuse                                                  |
 * | missing or empty |                 | valid   |       | restore                                                 |
 * | missing or empty |                 | invalid |       | issue: the first write wins, the others use it          |
 * | owned            | faulty          | valid   | yes   | restore                                                 |
 * | owned            |                 |         | yes   | as `chooseNextAction`                                         |
 * | owned            |                 |         | no    | rest, or leave the result of `chooseNextAction` to the leader |
 *
 * Only the leader's clock counts. Otherwise, two replicas with different clocks could keep replacing each other's
 * certificates.
 */
export function chooseServingAction({ secret, state, held, leading, now, times }: ServingInput): ServingAction {
  const isHeldGood = held !== undefined && "endsAt" in held && held.endsAt > now;
  if (secret.kind === "foreign") return { kind: "refuse", reason: secret.reason ?? "" };
  if (secret.kind !== "stored" || !state) {
    const reason = secret.kind === "missing" ? "the Secret does not exist" : "the Secret is empty";
    return { kind: isHeldGood ? "restore" : "issue", reason };
  }
  const action = chooseNextAction(state, { now, trustedSince: 0, times });
  if (action.kind === "rest") return action;
  if (!leading) return { kind: "leave", what: action.kind };
  if ("fault" in state.serving && isHeldGood) return { kind: "restore", reason: state.serving.fault };
  return action;
}

/** Returns the DNS names of a Service. @param host "service.namespace". */
export function listServiceNames(host: string): string[] {
  return [host, `${host}.svc`, `${host}.svc.cluster.local`];
}

/**
 * Returns the DNS names for the certificate of a server that clients reach at `host`: all names of
 * the Service if `host` is one of them, otherwise only `host`.
 */
export function listCertificateHostNames(host: string): string[] {
  const service = /^([a-z0-9-]+\.[a-z0-9-]+)\.svc(?:\.cluster\.local)?$/.exec(host)?.[1];
  return service === undefined ? [host] : listServiceNames(service);
}
