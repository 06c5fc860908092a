import { createPrivateKey, X509Certificate } from "node:crypto";
import { AUTHORITIES_MAX, type KeyPair, type StoredCertificates } from "./storedCertificates.ts";

/** State of a certificate and its key: a fault, or the validity in milliseconds since the epoch. */
export type PairState = { readonly fault: string } | { readonly startsAt: number; readonly endsAt: number };

/** State of one certificate. */
export interface CertificateState {
  /** The certificate that the operator serves. */
  readonly serving: PairState;
  /** The next certificate, which is served once its authority is trusted everywhere. */
  readonly next?: PairState;
  /** When each trusted authority expires, in milliseconds since the epoch. */
  readonly authorityEnds: readonly number[];
}

/** Durations of certificates, in milliseconds. */
export interface CertificateTimes {
  /** Validity of an authority and its certificate, which expire together. */
  readonly validityMs: number;
  /** Time before expiry at which a certificate is replaced. */
  readonly renewBeforeMs: number;
  /** Time between distributing an authority and serving its certificate. */
  readonly settleMs: number;
  /** How far `notBefore` is backdated, to tolerate clock skew. */
  readonly skewMs: number;
}

const HOUR_MS = 3_600_000;

/**
 * The same durations as requested from cert-manager: valid for two years, renewed one day before expiry.
 * @see operator-controller df2c201d internal/operator-controller/rukpak/render/certproviders/certmanager.go
 */
export const CERTIFICATE_TIMES: CertificateTimes = {
  validityMs: 17_520 * HOUR_MS,
  renewBeforeMs: 24 * HOUR_MS,
  settleMs: 60_000,
  skewMs: 300_000,
};

/**
 * The next action for one certificate. issue: create an authority and a certificate, and serve the
 * certificate immediately; prepare: create both and trust the authority, but serve the certificate
 * later; promote: serve the prepared certificate; trim: remove expired authorities; rest: do
 * nothing until `at`.
 */
export type CertificateAction =
  | { readonly kind: "issue" | "prepare"; readonly reason: string }
  | { readonly kind: "promote" | "trim" }
  | { readonly kind: "rest"; readonly at: number };

/**
 * Returns the next action from the first matching row:
 *
 * | serving                    | next              | action                                                        |
 * | faulty, expired or missing | valid             | promote                                                       |
 * | faulty, expired or missing | none, or faulty   | issue                                                         |
 * | valid                      | faulty or expired | prepare                                                       |
 * | valid                      | valid             | promote if its authority has been trusted for the settle time |
 * | valid, in its last day     | none              | prepare                                                       |
 * | valid                      | none              | trim if an authority has expired, else rest                   |
 *
 * An authority is only removed after its certificate has expired, so that the authority of every certificate that a
 * Pod may still serve is trusted.
 * @param now milliseconds since the epoch.
 * @param trustedSince time of the last change of trusted authorities in any object, if known; milliseconds since the
 * epoch.
 */
export function chooseNextAction(
  state: CertificateState | undefined,
  { now, trustedSince, times }: { now: number; trustedSince: number; times: CertificateTimes },
): CertificateAction {
  if (!state) return { kind: "issue", reason: "no certificate exists" };
  const { serving, next, authorityEnds } = state;
  const fault = findFault(serving, now);
  const nextFault = next && findFault(next, now);
  const isNextGood = next !== undefined && nextFault === undefined;
  if ("fault" in serving || fault !== undefined) return isNextGood ? { kind: "promote" } : { kind: "issue", reason: fault ?? "" };
  if (nextFault !== undefined) return { kind: "prepare", reason: `the next certificate cannot be used: ${nextFault}` };
  if (next && "startsAt" in next) {
    const at = Math.max(next.startsAt + times.skewMs, trustedSince) + times.settleMs;
    return now >= at ? { kind: "promote" } : { kind: "rest", at };
  }
  const renewAt = serving.endsAt - times.renewBeforeMs;
  if (now >= renewAt) return { kind: "prepare", reason: `the certificate expires at ${new Date(serving.endsAt).toISOString()}` };
  if (authorityEnds.some((end) => end <= now)) return { kind: "trim" };
  return { kind: "rest", at: Math.min(renewAt, ...authorityEnds) };
}

function findFault(pair: PairState, now: number): string | undefined {
  if ("fault" in pair) return pair.fault;
  if (pair.endsAt <= now) return `the certificate expired at ${new Date(pair.endsAt).toISOString()}`;
  if (pair.startsAt > now) return `the certificate is not valid before ${new Date(pair.startsAt).toISOString()}`;
  return undefined;
}

/**
 * Assesses the stored certificates of a Service with these DNS names; undefined if no certificates
 * are stored. An unreadable authority counts as expired.
 */
export function assessCertificates(stored: StoredCertificates | undefined, dnsNames: readonly string[]): CertificateState | undefined {
  if (!stored) return undefined;
  const authorities = stored.authorities.map(parseCertificate);
  return {
    serving: pairState(stored.serving, authorities, dnsNames),
    ...(stored.next ? { next: pairState(stored.next, authorities, dnsNames) } : {}),
    authorityEnds: authorities.map((authority) => authority?.validToDate.getTime() ?? Number.NEGATIVE_INFINITY),
  };
}

function pairState(
  { certificate, key }: KeyPair,
  authorities: readonly (X509Certificate | undefined)[],
  dnsNames: readonly string[],
): PairState {
  const leaf = parseCertificate(certificate);
  if (!leaf) return { fault: "the certificate cannot be parsed" };
  if (!matchesKey(leaf, key)) return { fault: "the key does not match the certificate" };
  const missing = dnsNames.find((name) => leaf.checkHost(name) === undefined);
  if (missing !== undefined) return { fault: `the certificate is not valid for ${missing}` };
  const isTrusted = authorities.some((authority) => authority && leaf.checkIssued(authority) && leaf.verify(authority.publicKey));
  if (!isTrusted) return { fault: "the certificate was not signed by a stored authority" };
  return { startsAt: leaf.validFromDate.getTime(), endsAt: leaf.validToDate.getTime() };
}

function matchesKey(leaf: X509Certificate, key: string): boolean {
  try {
    return leaf.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/**
 * Returns the authorities (PEM) that can be parsed and have not expired. @param now milliseconds
 * since the epoch.
 */
function filterUnexpired(authorities: readonly string[], now: number): string[] {
  return authorities.filter((pem) => (parseCertificate(pem)?.validToDate.getTime() ?? Number.NEGATIVE_INFINITY) > now);
}

/** A certificate with its key and the authority that signed it, in PEM. */
export interface NewCertificate {
  readonly authority: string;
  readonly pair: KeyPair;
}

/**
 * Returns the content to store if the new certificate is served immediately. Keeps authorities that
 * are still in use.
 * @param known previous authorities, PEM, oldest first. @param now milliseconds since the epoch.
 */
export function storeIssued({ authority, pair }: NewCertificate, known: readonly string[], now: number): StoredCertificates {
  return { serving: pair, authorities: addAuthority(known, authority, now) };
}

/**
 * Returns the content to store if the new certificate is served later, when its authority is trusted
 * everywhere. @param now milliseconds since the epoch.
 */
export function storePrepared(stored: StoredCertificates, { authority, pair }: NewCertificate, now: number): StoredCertificates {
  return { serving: stored.serving, next: pair, authorities: addAuthority(stored.authorities, authority, now) };
}

/** Returns the content to store if the prepared certificate becomes the serving certificate; `stored` if no certificate is prepared. */
export function promotePrepared(stored: StoredCertificates): StoredCertificates {
  return stored.next ? { serving: stored.next, authorities: stored.authorities } : stored;
}

/**
 * Returns the content to store without expired authorities. @param now milliseconds since the
 * epoch.
 */
export function dropEndedAuthorities(stored: StoredCertificates, now: number): StoredCertificates {
  return { ...stored, authorities: filterUnexpired(stored.authorities, now) };
}

/** Number of the oldest authorities that stay when there are too many. */
const OLDEST_KEPT = AUTHORITIES_MAX / 2;

/**
 * Adds the newest authority. If there are too many, drops those in the middle: after failed attempts to store a certificate, the oldest are those of
 * served certificates, and after Secrets were deleted, the newest are.
 */
function addAuthority(known: readonly string[], authority: string, now: number): string[] {
  const unexpired = filterUnexpired([...new Set(known)], now);
  const newer = unexpired.slice(OLDEST_KEPT).slice(OLDEST_KEPT + 1 - AUTHORITIES_MAX);
  return [...unexpired.slice(0, OLDEST_KEPT), ...newer, authority];
}
