import { SignerCertificate } from "./certificate.ts";
import { parseCertificateBlocks } from "./pem.ts";
import { newSignerProblem, type SignatureProblem } from "./signatureProblem.ts";

/** Maximum number of certificates that a signature may bring, and of those in a path. */
export const CHAIN_MAX = 8;
/** Maximum number of verified issuers, because certificates with equal names multiply the paths. */
const ATTEMPTS_MAX = 16;

/** Certificates of authorities. */
export interface ChainAuthorities {
  /** trusted; they need not be self-signed, as in Go */
  readonly anchors: readonly SignerCertificate[];
  /** candidates for the path to an anchor, trusted or not */
  readonly intermediates: readonly SignerCertificate[];
}

/**
 * Parses the certificates of authorities in a policy.
 * @throws Error if there are none, or one cannot be parsed
 */
export function parseTrustedCertificates(pem: string): SignerCertificate[] {
  const blocks = parseCertificateBlocks(pem);
  if (blocks.length === 0) throw new Error("parsing certificates: PEM block CERTIFICATE not found");
  return blocks.map((der) => new SignerCertificate(der));
}

/**
 * Returns why no path of certificates leads from the signer to a trusted authority that was valid
 * at `time` and may sign code; undefined if one does. Takes a bounded number of signature checks.
 * @see https://pkg.go.dev/crypto/x509#Certificate.Verify, which containers/image uses
 */
export function findChainProblem(leaf: SignerCertificate, authorities: ChainAuthorities, time: Date): SignatureProblem | undefined {
  let attempts = 0;
  let problem = UNTRUSTED;
  const search = (path: readonly SignerCertificate[]): boolean => {
    const last = path.at(-1);
    if (last === undefined) return false;
    if (authorities.anchors.some(({ bytes }) => bytes.equals(last.bytes))) {
      const found = findPathProblem(path, time);
      if (found) problem = found;
      return found === undefined;
    }
    if (path.length > CHAIN_MAX) return false;
    for (const issuer of [...authorities.anchors, ...authorities.intermediates]) {
      if (!last.names(issuer) || path.some(({ bytes }) => bytes.equals(issuer.bytes))) continue;
      attempts += 1;
      if (attempts > ATTEMPTS_MAX) return false;
      if (last.isSignedBy(issuer) && search([...path, issuer])) return true;
    }
    return false;
  };
  return search([leaf]) ? undefined : problem;
}

const UNTRUSTED = newSignerProblem("CertificateUntrusted", "the signer's certificate is not from an authority in the policy");

/** @param path from the signer to the anchor, with verified signatures */
function findPathProblem(path: readonly SignerCertificate[], time: Date): SignatureProblem | undefined {
  const isTooLong = path.some(({ pathLength }, index) => index > 0 && pathLength !== undefined && pathLength < index - 1);
  if (isTooLong)
    return newSignerProblem("CertificateUntrusted", "an authority of the signer's certificate may not have intermediate authorities");
  return findUseProblem(path) ?? findTimeProblem(path, time);
}

/** Returns why a certificate may not be used for code signing. */
export function findUseProblem(path: readonly SignerCertificate[]): SignatureProblem | undefined {
  if (path.some(({ maySignCode }) => !maySignCode))
    return newSignerProblem("CertificateUnsuitable", "the signer's certificate, or one of its authorities, is not for code signing");
  if (path.some(({ hasUnhandledExtension }) => hasUnhandledExtension))
    return newSignerProblem(
      "CertificateUnsuitable",
      "the signer's certificate, or one of its authorities, has name constraints or an unsupported critical extension",
    );
  return undefined;
}

/** Returns the problem of a certificate that was not valid at a time. */
export function findTimeProblem(path: readonly SignerCertificate[], time: Date): SignatureProblem | undefined {
  if (path.every((certificate) => certificate.isValidAt(time))) return undefined;
  const at = Number.isNaN(time.getTime()) ? "an invalid time" : time.toISOString();
  return newSignerProblem("CertificateExpired", `the signer's certificate, or one of its authorities, was not valid at ${at}`);
}
