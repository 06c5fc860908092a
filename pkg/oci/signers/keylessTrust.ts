import { SignerCertificate } from "./certificate.ts";
import { type ChainAuthorities, findChainProblem, parseTrustedCertificates } from "./certificateChain.ts";
import { isMadeBy } from "./foundSignature.ts";
import { findSigningKey, OTHER_KEY } from "./keyTrust.ts";
import { type LogEvidence, readEvidence } from "./logEvidence.ts";
import { type CheckedSignature, findFirstProblem, parseTrustedRoot, toLogs, verifyLogs, verifyTrustedRoot } from "./logVerification.ts";
import { parsePublicKey } from "./publicKey.ts";
import { newSignerProblem, type SignatureProblem } from "./signatureProblem.ts";
import { findFulcioSubjectProblem, findPkiSubjectProblem } from "./signerIdentity.ts";
import type { SignerTrust, TrustRoots } from "./signerTrust.ts";

// Loaded only if a policy needs certificates or transparency logs, because the libraries for sigstore use memory.

type TrustRootsOf<K> = Extract<TrustRoots<string>, { readonly kind: K }>;

/**
 * Creates the trust for roots with certificates or transparency logs. Uses no network.
 * @param now for certificates without a transparency log
 * @throws Error if a root of trust cannot be parsed
 */
export function createSignerTrust(roots: TrustRoots<string>, now: () => Date = () => new Date()): SignerTrust {
  const find = createCheck(roots, now);
  return {
    findProblem: (found, signature) => {
      let evidence: LogEvidence;
      try {
        evidence = readEvidence(found.attached ?? {});
      } catch {
        return newSignerProblem("SignatureMalformed", "the certificate or the log entry of the signature is malformed or exceeds a limit");
      }
      try {
        return find({ found, signature: Buffer.from(signature), evidence });
      } catch {
        // The libraries throw various errors for malformed certificates, entries and timestamps.
        return newSignerProblem("SignatureMalformed", "the certificate or the log entry of the signature cannot be parsed");
      }
    },
  };
}

type SignerCheck = (candidate: CheckedSignature) => SignatureProblem | undefined;

function createCheck(roots: TrustRoots<string>, now: () => Date): SignerCheck {
  if (roots.kind === "keys") return createKeyCheck(roots);
  if (roots.kind === "fulcio") return createFulcioCheck(roots);
  if (roots.kind === "trustedRoot") return createTrustedRootCheck(roots);
  return createPkiCheck(roots, now);
}

function createKeyCheck(roots: TrustRootsOf<"keys">): SignerCheck {
  const [keys, logs] = [roots.keys.map(parsePublicKey), toLogs(roots.logs)];
  return (candidate) => {
    const key = findSigningKey(keys, candidate.found, candidate.signature);
    if (!key) return OTHER_KEY;
    const logged = verifyLogs(candidate, key, key.export({ type: "spki", format: "der" }), logs, 0);
    return "reason" in logged ? logged : undefined;
  };
}

function createFulcioCheck(roots: TrustRootsOf<"fulcio">): SignerCheck {
  const [anchors, logs] = [parseTrustedCertificates(roots.authorities), toLogs(roots.logs)];
  return (candidate) => {
    const certificate = findSigner(candidate);
    if ("reason" in certificate) return certificate;
    const logged = verifyLogs(candidate, certificate.key, certificate.bytes, logs, 1);
    if ("reason" in logged) return logged;
    const authorities = withChain({ anchors, intermediates: [] }, candidate.evidence);
    const problem = findFirstProblem(logged.times, (time) => findChainProblem(certificate, authorities, time));
    return problem ?? findFulcioSubjectProblem(certificate, roots.subject);
  };
}

function createTrustedRootCheck(roots: TrustRootsOf<"trustedRoot">): SignerCheck {
  const material = parseTrustedRoot(roots.root);
  return (candidate) => {
    const certificate = findSigner(candidate);
    if ("reason" in certificate) return certificate;
    return verifyTrustedRoot(candidate, certificate, material) ?? findFulcioSubjectProblem(certificate, roots.subject);
  };
}

function createPkiCheck(roots: TrustRootsOf<"pki">, now: () => Date): SignerCheck {
  const anchors = parseTrustedCertificates(roots.authorities);
  const intermediates = roots.intermediates === undefined ? [] : parseTrustedCertificates(roots.intermediates);
  return (candidate) => {
    const certificate = findSigner(candidate);
    if ("reason" in certificate) return certificate;
    const authorities = withChain({ anchors, intermediates }, candidate.evidence);
    return findChainProblem(certificate, authorities, now()) ?? findPkiSubjectProblem(certificate, roots.subject);
  };
}

/** Returns the certificate whose key made the signature; it is not yet trusted. */
function findSigner({ found, signature, evidence }: CheckedSignature): SignerCertificate | SignatureProblem {
  if (!evidence.certificate)
    return newSignerProblem("CertificateMissing", "the signature has no certificate, which the policy requires: it was made with a key");
  const certificate = new SignerCertificate(evidence.certificate);
  if (isMadeBy(certificate.key, found, signature)) return certificate;
  return newSignerProblem("SignatureInvalid", "the signature does not match the signed content and the key of its certificate");
}

/** Adds the authorities that a signature brings. They are not trusted, but may lead to an anchor. */
function withChain({ anchors, intermediates }: ChainAuthorities, { chain }: LogEvidence): ChainAuthorities {
  return { anchors, intermediates: [...intermediates, ...chain.map((der) => new SignerCertificate(der))] };
}
