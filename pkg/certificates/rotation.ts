import { createPrivateKey, X509Certificate } from "node:crypto";
import { AUTHORITIES_MAX, type KeyPair, type StoredCertificates } from "./storedCertificates.ts";

/** A certificate with its key: what keeps it from being used, or from when to when it holds, in milliseconds since the epoch. */
export type PairState = { readonly fault: string } | { readonly startsAt: number; readonly endsAt: number };

/** What there is of one certificate. */
export interface CertificateState {
  /** What the operator serves with. */
  readonly serving: PairState;
  /** What it is to serve with once its authority is trusted everywhere. */
  readonly next?: PairState;
  /** When each trusted authority ends, in milliseconds since the epoch. */
  readonly authorityEnds: readonly number[];
}

/** How long certificates hold, in milliseconds. */
export interface CertificateTimes {
  /** Of an authority and its certificate, which end together. */
  readonly validityMs: number;
  /** So long before its end a certificate is replaced. */
  readonly renewBeforeMs: number;
  /** So long after everybody was told to trust an authority its certificate is served. */
  readonly settleMs: number;
  /** Certificates begin to hold so long before they are made: clocks differ. */
  readonly skewMs: number;
}

const HOUR_MS = 3_600_000;

/**
 * As cert-manager is asked for: two years, renewed a day before the end.
 * @see operator-controller df2c201d internal/operator-controller/rukpak/render/certproviders/certmanager.go
 */
export const CERTIFICATE_TIMES: CertificateTimes = {
  validityMs: 17_520 * HOUR_MS,
  renewBeforeMs: 24 * HOUR_MS,
  settleMs: 60_000,
  skewMs: 300_000,
};

/**
 * What to do next about one certificate:
 * issue: make an authority and a certificate, and serve with it at once; prepare: make them, trust the authority, and keep the certificate
 * for later; promote: serve with what was prepared; trim: no longer trust authorities that have ended; rest: nothing until `at`.
 */
export type CertificateAction =
  | { readonly kind: "issue" | "prepare"; readonly because: string }
  | { readonly kind: "promote" | "trim" }
  | { readonly kind: "rest"; readonly at: number };

/**
 * The next action, first row that matches:
 *
 * | serving                        | next             | action                                                          |
 * | faulty, ended or not there     | good             | promote                                                         |
 * | faulty, ended or not there     | none, or faulty  | issue                                                           |
 * | good                           | faulty or ended  | prepare                                                         |
 * | good                           | good             | promote when its authority has been trusted for the settle time |
 * | good, in its last day          | none             | prepare                                                         |
 * | good                           | none             | trim when an authority has ended, else rest                     |
 *
 * So at any time every certificate that a Pod may still serve with is of a trusted authority: an authority goes with the end of its
 * certificate and not before.
 * @param now milliseconds since the epoch.
 * @param trustedSince when the trusted authorities were last changed anywhere, as far as that is known; milliseconds since the epoch.
 */
export function nextAction(
  state: CertificateState | undefined,
  { now, trustedSince, times }: { now: number; trustedSince: number; times: CertificateTimes },
): CertificateAction {
  if (!state) return { kind: "issue", because: "there is none" };
  const { serving, next, authorityEnds } = state;
  const fault = faultOf(serving, now);
  const nextFault = next && faultOf(next, now);
  const isNextGood = next !== undefined && nextFault === undefined;
  if ("fault" in serving || fault !== undefined) return isNextGood ? { kind: "promote" } : { kind: "issue", because: fault ?? "" };
  if (nextFault !== undefined) return { kind: "prepare", because: `what was prepared cannot be used: ${nextFault}` };
  if (next && "startsAt" in next) {
    const at = Math.max(next.startsAt + times.skewMs, trustedSince) + times.settleMs;
    return now >= at ? { kind: "promote" } : { kind: "rest", at };
  }
  const renewAt = serving.endsAt - times.renewBeforeMs;
  if (now >= renewAt) return { kind: "prepare", because: `it ends at ${new Date(serving.endsAt).toISOString()}` };
  if (authorityEnds.some((end) => end <= now)) return { kind: "trim" };
  return { kind: "rest", at: Math.min(renewAt, ...authorityEnds) };
}

function faultOf(pair: PairState, now: number): string | undefined {
  if ("fault" in pair) return pair.fault;
  if (pair.endsAt <= now) return `it ended at ${new Date(pair.endsAt).toISOString()}`;
  if (pair.startsAt > now) return `it holds from ${new Date(pair.startsAt).toISOString()} only`;
  return undefined;
}

/**
 * What stored certificates are worth for a Service of these names; undefined where there are none.
 * An authority that cannot be read counts as ended.
 */
export function assessCertificates(stored: StoredCertificates | undefined, dnsNames: readonly string[]): CertificateState | undefined {
  if (!stored) return undefined;
  const authorities = stored.authorities.map(parsed);
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
  const leaf = parsed(certificate);
  if (!leaf) return { fault: "its certificate cannot be read" };
  if (!fits(leaf, key)) return { fault: "its key is not that of its certificate" };
  const missing = dnsNames.find((name) => leaf.checkHost(name) === undefined);
  if (missing !== undefined) return { fault: `its certificate is not for ${missing}` };
  const isTrusted = authorities.some((authority) => authority && leaf.checkIssued(authority) && leaf.verify(authority.publicKey));
  if (!isTrusted) return { fault: "its certificate is of no authority that is stored beside it" };
  return { startsAt: leaf.validFromDate.getTime(), endsAt: leaf.validToDate.getTime() };
}

function fits(leaf: X509Certificate, key: string): boolean {
  try {
    return leaf.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Those of these authorities, PEM, that can be read and have not ended. @param now milliseconds since the epoch. */
function notEnded(authorities: readonly string[], now: number): string[] {
  return authorities.filter((pem) => (parsed(pem)?.validToDate.getTime() ?? Number.NEGATIVE_INFINITY) > now);
}

/** A certificate with its key, and the authority that signed it; all PEM. */
export interface NewCertificate {
  readonly authority: string;
  readonly pair: KeyPair;
}

/**
 * What to store when `made` is served at once. Authorities that somebody may still need are trusted beside its own.
 * @param known authorities so far, PEM, oldest first. @param now milliseconds since the epoch.
 */
export function storeIssued({ authority, pair }: NewCertificate, known: readonly string[], now: number): StoredCertificates {
  return { serving: pair, authorities: withAuthority(known, authority, now) };
}

/** What to store when `made` is to be served once its authority is trusted everywhere. @param now milliseconds since the epoch. */
export function storePrepared(stored: StoredCertificates, { authority, pair }: NewCertificate, now: number): StoredCertificates {
  return { serving: stored.serving, next: pair, authorities: withAuthority(stored.authorities, authority, now) };
}

/** What to store when what was prepared is served: the same where nothing was. */
export function promotePrepared(stored: StoredCertificates): StoredCertificates {
  return stored.next ? { serving: stored.next, authorities: stored.authorities } : stored;
}

/** What to store when authorities that have ended are no longer trusted. @param now milliseconds since the epoch. */
export function dropEndedAuthorities(stored: StoredCertificates, now: number): StoredCertificates {
  return { ...stored, authorities: notEnded(stored.authorities, now) };
}

function withAuthority(known: readonly string[], authority: string, now: number): string[] {
  return [...notEnded([...new Set(known)], now).slice(1 - AUTHORITIES_MAX), authority];
}
