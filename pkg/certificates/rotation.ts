import { notEnded } from "./certificateState.ts";
import { AUTHORITIES_MAX, type KeyPair, type StoredCertificates } from "./storedCertificates.ts";

/** A certificate with its key, and the authority that signed it; all PEM. */
export interface NewCertificate {
  readonly authority: string;
  readonly pair: KeyPair;
}

/**
 * What to store when `made` is served at once. Authorities that somebody may still need are trusted beside its own.
 * @param known authorities so far, PEM, oldest first. @param now milliseconds since the epoch.
 */
export function issued({ authority, pair }: NewCertificate, known: readonly string[], now: number): StoredCertificates {
  return { serving: pair, authorities: withAuthority(known, authority, now) };
}

/** What to store when `made` is to be served once its authority is trusted everywhere. @param now milliseconds since the epoch. */
export function prepared(stored: StoredCertificates, { authority, pair }: NewCertificate, now: number): StoredCertificates {
  return { serving: stored.serving, next: pair, authorities: withAuthority(stored.authorities, authority, now) };
}

/** What to store when what was prepared is served: the same where nothing was. */
export function promoted(stored: StoredCertificates): StoredCertificates {
  return stored.next ? { serving: stored.next, authorities: stored.authorities } : stored;
}

/** What to store when authorities that have ended are no longer trusted. @param now milliseconds since the epoch. */
export function trimmed(stored: StoredCertificates, now: number): StoredCertificates {
  return { ...stored, authorities: notEnded(stored.authorities, now) };
}

function withAuthority(known: readonly string[], authority: string, now: number): string[] {
  return [...notEnded([...new Set(known)], now).slice(1 - AUTHORITIES_MAX), authority];
}
