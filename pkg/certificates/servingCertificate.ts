import { LABEL_SELF_MANAGED_CERTIFICATE } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { type CertificateAction, type CertificateState, type CertificateTimes, nextAction, type PairState } from "./rotation.ts";
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

const DAY_MS = 24 * 3_600_000;

/** How long the servers' own certificates hold: ninety days, replaced thirty days before the end; clients have ten minutes to trust the next authority. */
export const SERVING_TIMES: CertificateTimes = {
  validityMs: 90 * DAY_MS,
  renewBeforeMs: 30 * DAY_MS,
  settleMs: 600_000,
  skewMs: 300_000,
};

/**
 * What a replica does about the certificate of its program. Beside what `nextAction` has:
 * restore: write back what this replica serves with, which somebody damaged or deleted;
 * leave: another replica, which leads, is to do `what`; refuse: nothing may be written.
 */
export type ServingAction =
  | CertificateAction
  | { readonly kind: "restore"; readonly because: string }
  | { readonly kind: "leave"; readonly what: string }
  | { readonly kind: "refuse"; readonly because: string };

/** What `servingAction` depends on. */
export interface ServingFacts {
  readonly secret: Pick<ServingSecret, "kind"> & { readonly because?: string };
  /** What its content is worth; undefined without content. */
  readonly state: CertificateState | undefined;
  /** What this replica serves with; undefined for nothing. */
  readonly held: PairState | undefined;
  readonly leading: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly times: CertificateTimes;
}

/**
 * The next action, first row that matches:
 *
 * | Secret            | its certificate | held          | leads | action                                             |
 * | of somebody else  |                 |               |       | refuse                                             |
 * | missing or empty  |                 | holds         |       | restore                                            |
 * | missing or empty  |                 | does not      |       | issue: the first write wins, the others take that  |
 * | ours              | faulty          | holds         | yes   | restore                                            |
 * | ours              |                 |               | yes   | as `nextAction` has it                             |
 * | ours              |                 |               | no    | rest, or leave what `nextAction` has to the leader |
 *
 * Since clocks differ, only the leader judges by its own: two replicas would take turns to replace what the other made.
 */
export function servingAction({ secret, state, held, leading, now, times }: ServingFacts): ServingAction {
  const isHeldGood = held !== undefined && "endsAt" in held && held.endsAt > now;
  if (secret.kind === "foreign") return { kind: "refuse", because: secret.because ?? "" };
  if (secret.kind !== "stored" || !state) {
    const because = secret.kind === "missing" ? "the Secret does not exist" : "the Secret is empty";
    return { kind: isHeldGood ? "restore" : "issue", because };
  }
  const action = nextAction(state, { now, trustedSince: 0, times });
  if (action.kind === "rest") return action;
  if (!leading) return { kind: "leave", what: action.kind };
  if ("fault" in state.serving && isHeldGood) return { kind: "restore", because: state.serving.fault };
  return action;
}

/** The names under which a Service is called. @param host "service.namespace". */
export function serviceNames(host: string): string[] {
  return [host, `${host}.svc`, `${host}.svc.cluster.local`];
}

/**
 * The names that a server's certificate is for which clients reach at `host`: those of a Service where it is one's, in any of its forms, and
 * otherwise that one.
 */
export function certificateHostNames(host: string): string[] {
  const service = /^([a-z0-9-]+\.[a-z0-9-]+)\.svc(?:\.cluster\.local)?$/.exec(host)?.[1];
  return service === undefined ? [host] : serviceNames(service);
}
