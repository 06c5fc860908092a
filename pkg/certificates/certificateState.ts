import { createPrivateKey, X509Certificate } from "node:crypto";
import type { CertificateState, PairState } from "./certificatePlan.ts";
import type { KeyPair, StoredCertificates } from "./storedCertificates.ts";

/**
 * What stored certificates are worth for a Service of these names; undefined where there are none.
 * An authority that cannot be read counts as ended.
 */
export function stateOf(stored: StoredCertificates | undefined, dnsNames: readonly string[]): CertificateState | undefined {
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
export function notEnded(authorities: readonly string[], now: number): string[] {
  return authorities.filter((pem) => (parsed(pem)?.validToDate.getTime() ?? Number.NEGATIVE_INFINITY) > now);
}
