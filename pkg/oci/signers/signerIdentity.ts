import { goQuote } from "../../golang/quote.ts";
import { formatList } from "../../text/lists.ts";
import { truncate } from "../../text/truncate.ts";
import type { SignerCertificate } from "./certificate.ts";
import { newSignerProblem, type SignatureProblem } from "./signatureProblem.ts";
import type { FulcioSubject, PkiSubject } from "./signerTrust.ts";

/**
 * Extensions of Fulcio with the identity provider (as a plain text, and as DER), and with the
 * workflow that signs.
 * @see https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md
 */
const ISSUER_V1 = "1.3.6.1.4.1.57264.1.1";
const ISSUER_V2 = "1.3.6.1.4.1.57264.1.8";
const BUILD_SIGNER = "1.3.6.1.4.1.57264.1.9";
const NAME_LENGTH_MAX = 200;
const MAX_NAMES = 3;

/**
 * Returns why a certificate of Fulcio is for another signer; undefined if it is for this one.
 * Texts must be equal, as in containers/image.
 * @param certificate with a verified chain
 * @see https://github.com/containers/image/blob/06708c42dfad17329de73b43d98efa77cafc65f9/signature/fulcio_cert.go
 */
export function findFulcioSubjectProblem(certificate: SignerCertificate, subject: FulcioSubject): SignatureProblem | undefined {
  const [old, current] = [certificate.readExtension(ISSUER_V1)?.toString("utf8"), certificate.readTextExtension(ISSUER_V2)];
  const issuer = current ?? old;
  if (issuer === undefined) return newSignerProblem("IssuerMismatch", "the certificate names no OIDC issuer");
  if (old !== undefined && old !== issuer) return newSignerProblem("IssuerMismatch", "the certificate names two OIDC issuers");
  if (issuer !== subject.issuer) return newSignerProblem("IssuerMismatch", `the certificate is from OIDC issuer ${quote(issuer)}`);
  const problem = findEmailProblem(certificate, subject.email);
  if (problem || subject.buildSigner === undefined) return problem;
  const signer = certificate.readTextExtension(BUILD_SIGNER);
  if (signer === subject.buildSigner) return undefined;
  return newSignerProblem("SubjectMismatch", `the certificate is for build signer URI ${quote(signer ?? "")}`);
}

/**
 * Returns why a certificate of another authority is for another signer; undefined if it is for
 * this one.
 * @see https://github.com/containers/image/blob/06708c42dfad17329de73b43d98efa77cafc65f9/signature/pki_cert.go
 */
export function findPkiSubjectProblem(certificate: SignerCertificate, { email, hostname }: PkiSubject): SignatureProblem | undefined {
  const problem = findEmailProblem(certificate, email);
  if (problem || hostname === undefined) return problem;
  const { hostnames } = certificate;
  if (hostnames.some((name) => matchesHostname(name, hostname))) return undefined;
  return newSignerProblem("SubjectMismatch", `the certificate is for ${formatNames(hostnames, "hostname")}`);
}

function findEmailProblem({ emails }: SignerCertificate, email: string | undefined): SignatureProblem | undefined {
  if (email === undefined || emails.includes(email)) return undefined;
  return newSignerProblem("SubjectMismatch", `the certificate is for ${formatNames(emails, "email address")}`);
}

/**
 * Returns whether a name in a certificate includes the hostname: an equal name, or one whose first
 * label is `*`.
 */
function matchesHostname(pattern: string, hostname: string): boolean {
  const [name, wanted] = [pattern.toLowerCase(), hostname.toLowerCase()];
  if (name === wanted) return name !== "";
  const dot = wanted.indexOf(".");
  return name.startsWith("*.") && name.length > 2 && dot > 0 && !wanted.startsWith("*") && name.slice(1) === wanted.slice(dot);
}

function formatNames(names: readonly string[], what: string): string {
  return names.length === 0 ? `no ${what}` : `${what} ${formatList(names.map(quote), { max: MAX_NAMES })}`;
}

function quote(untrusted: string): string {
  return goQuote(truncate(untrusted, NAME_LENGTH_MAX));
}
