/**
 * Steps of the verification that fail, with their causes. Reasons are stable: scripts and alerts
 * rely on them. docs/how-to/image-signatures.md lists them.
 */
export const SIGNATURE_REASONS = {
  RegistryBlocked: "the cluster blocks the registry, or does not allow it",
  PolicyRejects: "the policy rejects every image of the scope",
  RequirementUnsupported: "the policy has a requirement that cannot be checked",
  PolicyUnreadable: "the image policies or the registry settings of the cluster cannot be read",
  SignatureMissing: "no signature is attached to the image",
  SignatureMalformed: "the signature or its attachments cannot be parsed, or exceed a limit",
  SignatureInvalid: "the signature does not match the signed content and the key",
  CertificateMissing: "the signature has no certificate",
  CertificateUntrusted: "the certificate is not from an authority in the policy",
  CertificateExpired: "a certificate was not valid when the image was signed",
  CertificateUnsuitable: "a certificate may not be used for code signing, or has name constraints or unsupported critical extensions",
  IssuerMismatch: "another identity provider identified the signer",
  SubjectMismatch: "the certificate is for another subject",
  LogEntryMissing: "the signature has no entry of a transparency log",
  LogEntryUntrusted: "the entry is not proven by a transparency log in the policy",
  LogEntryMismatch: "the entry of the transparency log is for another signature",
  TimestampMissing: "no trusted time shows when the image was signed",
  TimestampUntrusted: "a timestamp is not from an authority in the policy",
  ContentMalformed: "the signed content is not a signature of an image",
  DigestMismatch: "the signature is for another image",
  IdentityMismatch: "the signature is for another image name",
} as const;
export type SignatureReason = keyof typeof SIGNATURE_REASONS;

/** Why a signature does not satisfy a requirement. */
export interface SignatureProblem {
  readonly reason: SignatureReason;
  /** a bounded text */
  readonly message: string;
}

/** Creates a problem of a signer, whose message ends with its reason. */
export function newSignerProblem(reason: SignatureReason, text: string): SignatureProblem {
  return { reason, message: `${text} (${reason})` };
}
