import { createHash, type KeyObject } from "node:crypto";
import { X509Certificate } from "@sigstore/core";
import { TrustedRoot } from "@sigstore/protobuf-specs";
import {
  type SignedEntity,
  Verifier as SigstoreVerifier,
  type TrustMaterial,
  toTrustMaterial,
  type VerifierOptions,
} from "@sigstore/verify";
import { findUnhandledExtension, type SignerCertificate } from "./certificate.ts";
import { findTimeProblem, findUseProblem } from "./certificateChain.ts";
import { type FoundSignature, isMadeBy } from "./foundSignature.ts";
import { type LogEvidence, readCheckpointOrigin, readLoggedSigner } from "./logEvidence.ts";
import { parsePublicKey } from "./publicKey.ts";
import { newSignerProblem, type SignatureProblem } from "./signatureProblem.ts";

/** A signature that is checked. */
export interface CheckedSignature {
  readonly found: FoundSignature;
  readonly signature: Buffer;
  readonly evidence: LogEvidence;
}

/** Trusts transparency logs with these keys. Their identifier is the digest of the key, as in RFC 6962. */
export function toLogs(pems: readonly string[]): TrustMaterial["tlogs"] {
  return pems.map(parsePublicKey).map((publicKey) => ({
    logID: createHash("sha256")
      .update(publicKey.export({ type: "spki", format: "der" }))
      .digest(),
    baseURL: "",
    publicKey,
    validFor: { start: new Date(0), end: new Date(8.64e15) },
  }));
}

/**
 * Verifies the log entries of a signature with `@sigstore/verify`: signed timestamps, inclusion
 * proofs with checkpoints, and that they are for this signature. The caller must have verified the
 * signature.
 * @param signer DER of the signer's certificate or key
 * @param timestamps the minimum number of times; timestamps of other authorities do not count
 * @returns the proven times at which the signature existed
 */
export function verifyLogs(
  candidate: CheckedSignature,
  key: KeyObject,
  signer: Buffer,
  tlogs: TrustMaterial["tlogs"],
  timestamps: number,
): { readonly times: readonly Date[] } | SignatureProblem {
  const times: Date[] = [];
  const publicKey = (): ReturnType<TrustMaterial["publicKey"]> => ({
    publicKey: key,
    validFor: (time) => {
      times.push(time);
      return true;
    },
  });
  const { evidence } = candidate;
  const entity: SignedEntity = {
    ...toEntity(candidate, key),
    key: { $case: "public-key", hint: "" },
    timestamps: evidence.timestamps.filter(({ $case }) => $case === "transparency-log"),
  };
  // The library also requires that the address of the log contains its name. A policy has only the keys of logs.
  const baseURL = evidence.entries.map(readCheckpointOrigin).join(" ");
  const named = tlogs.map((log) => ({ ...log, baseURL }));
  const material: TrustMaterial = { certificateAuthorities: [], timestampAuthorities: [], tlogs: named, ctlogs: [], publicKey };
  const options = { ctlogThreshold: 0, tlogThreshold: 1, timestampThreshold: timestamps };
  const problem = findMissing(entity, options) ?? runVerifier(entity, material, options) ?? findLoggedProblem(evidence, signer);
  return problem ?? { times };
}

/** Verifies certificate, log entries and timestamps of a signature with a trusted root. */
export function verifyTrustedRoot(
  candidate: CheckedSignature,
  certificate: SignerCertificate,
  material: TrustMaterial,
): SignatureProblem | undefined {
  const { evidence } = candidate;
  const entity: SignedEntity = {
    ...toEntity(candidate, certificate.key),
    key: { $case: "certificate", certificate: X509Certificate.parse(Buffer.from(certificate.bytes)) },
  };
  const options = { ctlogThreshold: Math.min(material.ctlogs.length, 1), tlogThreshold: 1, timestampThreshold: 1 };
  const problem = findMissing(entity, options) ?? runVerifier(entity, material, options);
  if (problem?.reason === "CertificateUntrusted")
    return findFirstProblem(listTimes(entity), (time) => findTimeProblem([certificate], time)) ?? problem;
  return problem ?? findUseProblem([certificate]) ?? findLoggedProblem(evidence, certificate.bytes);
}

function toEntity({ found, signature, evidence }: CheckedSignature, key: KeyObject): Omit<SignedEntity, "key"> {
  const digest = createHash("sha256").update(found.payload).digest();
  return {
    signature: {
      signature,
      compareSignature: (logged) => signature.equals(logged),
      compareDigest: (logged) => digest.equals(logged),
      // The library knows neither SHA-384 for P-384 nor the simple signing format.
      verifySignature: () => isMadeBy(key, found, signature),
    },
    tlogEntries: [...evidence.entries],
    timestamps: [...evidence.timestamps],
  };
}

function findMissing(
  { tlogEntries, timestamps }: SignedEntity,
  { timestampThreshold }: { readonly timestampThreshold: number },
): SignatureProblem | undefined {
  if (tlogEntries.length === 0)
    return newSignerProblem("LogEntryMissing", "the signature has no entry of a transparency log, which the policy requires");
  const times = timestamps.filter((one) => one.$case === "timestamp-authority" || one.tlogEntry.inclusionPromise !== undefined);
  if (times.length >= timestampThreshold) return undefined;
  return newSignerProblem(
    "TimestampMissing",
    "the signature has no signed time, which is needed because certificates are valid for minutes",
  );
}

/** The codes of errors of `@sigstore/verify` 3.1.1 (dist/error.d.ts). */
const PROBLEMS: Readonly<Record<string, SignatureProblem>> = {
  TLOG_INCLUSION_PROMISE_ERROR: newSignerProblem(
    "LogEntryUntrusted",
    "the signed entry timestamp is not from a transparency log in the policy",
  ),
  TLOG_INCLUSION_PROOF_ERROR: newSignerProblem("LogEntryUntrusted", "the inclusion proof is not from a transparency log in the policy"),
  TLOG_MISSING_INCLUSION_ERROR: newSignerProblem(
    "LogEntryUntrusted",
    "the log entry has neither a signed timestamp nor an inclusion proof",
  ),
  TLOG_BODY_ERROR: newSignerProblem("LogEntryMismatch", "the entry of the transparency log is for another signature"),
  TIMESTAMP_ERROR: newSignerProblem("TimestampUntrusted", "a timestamp is not from an authority in the policy, or for another signature"),
  CERTIFICATE_ERROR: newSignerProblem(
    "CertificateUntrusted",
    "the signer's certificate is not from an authority in the trusted root, or not in its certificate transparency log",
  ),
  SIGNATURE_ERROR: newSignerProblem("SignatureInvalid", "the signature does not match the signed content"),
};

function runVerifier(entity: SignedEntity, material: TrustMaterial, options: VerifierOptions): SignatureProblem | undefined {
  try {
    new SigstoreVerifier(material, options).verify(entity);
    return undefined;
  } catch (err) {
    const code = (err as { code?: unknown }).code;
    if (typeof code === "string" && Object.hasOwn(PROBLEMS, code)) return PROBLEMS[code];
    throw err;
  }
}

/** Returns the problem of a log entry for another certificate or key. @param signer DER */
function findLoggedProblem({ entries }: LogEvidence, signer: Buffer): SignatureProblem | undefined {
  if (entries.every((entry) => readLoggedSigner(entry)?.equals(signer))) return undefined;
  return newSignerProblem("LogEntryMismatch", "the entry of the transparency log is for another certificate or key");
}

/** Returns the claimed times of a signature, to explain why a certificate is not accepted. */
function listTimes({ timestamps }: SignedEntity): Date[] {
  return timestamps.map((one) =>
    one.$case === "timestamp-authority" ? one.timestamp.signingTime : new Date(Number(one.tlogEntry.integratedTime) * 1000),
  );
}

/**
 * Parses a `trusted_root.json`. Leaves out authorities whose limits are not checked.
 * @throws Error
 * @see https://github.com/sigstore/protobuf-specs/blob/v0.5.0/protos/sigstore_trustroot.proto
 */
export function parseTrustedRoot(json: string): TrustMaterial {
  const root = TrustedRoot.fromJSON(JSON.parse(json));
  if (root.certificateAuthorities.length === 0 || root.tlogs.length === 0)
    throw new Error("parsing trusted root: it has no certificateAuthorities or no tlogs");
  const material = toTrustMaterial(root);
  // The library does not check the extensions of authorities.
  const certificateAuthorities = material.certificateAuthorities.filter(({ certChain }) => !certChain.some(findUnhandledExtension));
  if (certificateAuthorities.length === 0)
    throw new Error("parsing trusted root: its certificateAuthorities have name constraints or unsupported critical extensions");
  return { ...material, certificateAuthorities };
}

/** Returns the problem of the first value that has one. */
export function findFirstProblem<T>(values: readonly T[], find: (value: T) => SignatureProblem | undefined): SignatureProblem | undefined {
  for (const value of values) {
    const problem = find(value);
    if (problem) return problem;
  }
  return undefined;
}
