import { type Bundle, bundleFromJSON, type TransparencyLogEntry } from "@sigstore/bundle";
import { type SignedEntity, toSignedEntity } from "@sigstore/verify";
import { decodeCanonicalBase64 } from "../../golang/base64.ts";
import { CHAIN_MAX } from "./certificateChain.ts";
import type { SignerEvidence } from "./foundSignature.ts";
import { parseCertificateBlocks, parsePem } from "./pem.ts";
import { parseStrictJson, readKnownMembers, requireText } from "./strictJson.ts";

/** Parsed evidence of a signer; untrusted. */
export interface LogEvidence {
  readonly entries: readonly TransparencyLogEntry[];
  readonly timestamps: SignedEntity["timestamps"];
  /** DER */
  readonly certificate: Buffer | undefined;
  /** DER, of intermediate authorities */
  readonly chain: readonly Buffer[];
}

/** Maximum numbers in one signature, which bound the time of its verification. Signatures have one entry and one timestamp. */
const ENTRIES_MAX = 4;
const TIMESTAMPS_MAX = 4;
/** A proof has at most as many hashes as a 64-bit index has bits. */
const HASHES_MAX = 64;
const CHECKPOINT_BYTES = 8 * 1024;
const LOG_ENTRY_BYTES = 64 * 1024;
const CERTIFICATES_BYTES = 64 * 1024;
const INDEX = /^\d{1,19}$/;
/**
 * Names in signatures of checkpoints. `@sigstore/verify` 3.1.1 uses the name, which is untrusted, as
 * a regular expression (dist/tlog/checkpoint.js), so a name like `(.+)+$` could take hours.
 */
const CHECKPOINT_NAME = /^[A-Za-z0-9._:/-]{1,256}$/;
/** The same expression as there. */
const CHECKPOINT_SIGNATURE = /\u2014 (\S+) (\S+)\n/g;
const HASHED_REKORD = { kind: "hashedrekord", version: "0.0.1" };
const SECONDS_MAX = 253_402_300_799;

/**
 * Parses the evidence of a signer.
 * @throws Error if it is malformed or exceeds a limit
 */
export function readEvidence({ bundle, certificate, chain, logEntry }: SignerEvidence): LogEvidence {
  if (bundle !== undefined) return readBundle(bundleFromJSON(JSON.parse(bundle)));
  const entries = logEntry === undefined ? [] : [readLogEntry(logEntry)];
  const own = certificate === undefined ? undefined : readCertificates(certificate);
  if (own && own.length !== 1) throw new Error("expected one certificate of the signer");
  return {
    entries,
    timestamps: entries.map(toTimestamp),
    certificate: own?.[0],
    chain: chain === undefined ? [] : readCertificates(chain),
  };
}

function readBundle(bundle: Bundle): LogEvidence {
  const { tlogEntries, timestampVerificationData, content } = bundle.verificationMaterial;
  const timestamps = timestampVerificationData?.rfc3161Timestamps.length ?? 0;
  if (tlogEntries.length > ENTRIES_MAX || timestamps > TIMESTAMPS_MAX) throw new Error("too many log entries or timestamps");
  for (const entry of tlogEntries) checkEntry(entry);
  const chain = content.$case === "x509CertificateChain" ? content.x509CertificateChain.certificates : [];
  const [first, ...others] = content.$case === "certificate" ? [content.certificate] : chain;
  if (others.length > CHAIN_MAX) throw new Error("too many certificates");
  return {
    entries: tlogEntries,
    timestamps: toSignedEntity(bundle).timestamps,
    certificate: first && Buffer.from(first.rawBytes),
    chain: others.map(({ rawBytes }) => Buffer.from(rawBytes)),
  };
}

function checkEntry({ logIndex, integratedTime, inclusionProof }: TransparencyLogEntry): void {
  const numbers = [logIndex, integratedTime, ...(inclusionProof ? [inclusionProof.logIndex, inclusionProof.treeSize] : [])];
  if (!numbers.every((number) => INDEX.test(number)) || Number(integratedTime) > SECONDS_MAX)
    throw new Error("a number in a log entry is invalid");
  if (!inclusionProof) return;
  const { envelope = "" } = inclusionProof.checkpoint ?? {};
  if (inclusionProof.hashes.length > HASHES_MAX || envelope.length > CHECKPOINT_BYTES) throw new Error("an inclusion proof is too large");
  for (const [, name = "", signature = ""] of envelope.matchAll(CHECKPOINT_SIGNATURE))
    if (!CHECKPOINT_NAME.test(name) || !decodeCanonicalBase64(signature)) throw new Error("a signature of a checkpoint is malformed");
}

/** Returns the origin in a checkpoint, which starts with the name of the log. */
export function readCheckpointOrigin({ inclusionProof }: TransparencyLogEntry): string {
  return inclusionProof?.checkpoint?.envelope.split("\n", 1)[0] ?? "";
}

/**
 * Parses the annotation with which cosign stores a log entry, as strictly as containers/image.
 * @see https://github.com/containers/image/blob/0e8197c426f456b7a82181993d2ecfcca4c9bea9/signature/internal/rekor_set.go
 */
function readLogEntry(json: string): TransparencyLogEntry {
  if (json.length > LOG_ENTRY_BYTES) throw new Error("the log entry is too large");
  const members = readKnownMembers(parseStrictJson(json), ["SignedEntryTimestamp", "Payload"]);
  const payload = readKnownMembers(members.get("Payload"), ["body", "integratedTime", "logIndex", "logID"]);
  const numbers = [payload.get("logIndex"), payload.get("integratedTime")];
  if (!numbers.every((number) => Number.isSafeInteger(number))) throw new Error("a number in the log entry is invalid");
  const [logIndex = "", integratedTime = ""] = numbers.map(String);
  const keyId = Buffer.from(requireText(payload, "logID"), "hex");
  const body = decodeCanonicalBase64(requireText(payload, "body"));
  const signedEntryTimestamp = decodeCanonicalBase64(requireText(members, "SignedEntryTimestamp"));
  if (!body || !signedEntryTimestamp || keyId.toString("hex") !== payload.get("logID"))
    throw new Error("the log entry is not base64 or hexadecimal");
  const entry: TransparencyLogEntry = {
    logIndex,
    logId: { keyId },
    kindVersion: HASHED_REKORD,
    integratedTime,
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: undefined,
    canonicalizedBody: body,
  };
  checkEntry(entry);
  return entry;
}

function toTimestamp(tlogEntry: TransparencyLogEntry): SignedEntity["timestamps"][number] {
  return { $case: "transparency-log", tlogEntry };
}

function readCertificates(pem: string): Buffer[] {
  if (pem.length > CERTIFICATES_BYTES) throw new Error("the certificates are too large");
  const blocks = parseCertificateBlocks(pem);
  if (blocks.length > CHAIN_MAX) throw new Error("too many certificates");
  return blocks;
}

/** Where the body of a log entry has the signer, by kind and version: base64 of a PEM text. */
const PEM_PATHS: Readonly<Record<string, readonly string[]>> = {
  "hashedrekord 0.0.1": ["spec", "signature", "publicKey", "content"],
  "dsse 0.0.1": ["spec", "signatures", "0", "verifier"],
  "intoto 0.0.2": ["spec", "content", "envelope", "signatures", "0", "publicKey"],
};
/** The same for entries of Rekor 2: an object with base64 of DER. */
const DER_PATHS: Readonly<Record<string, readonly string[]>> = {
  "hashedrekord 0.0.2": ["spec", "hashedRekordV002", "signature", "verifier"],
  "dsse 0.0.2": ["spec", "dsseV002", "signatures", "0", "verifier"],
};

/**
 * Returns the DER certificate or public key of the signer in a log entry; undefined if it contains
 * none. `@sigstore/verify` compares only the signature and the content.
 */
export function readLoggedSigner({ kindVersion: { kind, version }, canonicalizedBody }: TransparencyLogEntry): Buffer | undefined {
  const body: unknown = JSON.parse(canonicalizedBody.toString("utf8"));
  const pem = readPath(body, PEM_PATHS[`${kind} ${version}`] ?? []);
  if (pem !== undefined) return parsePem(Buffer.from(pem, "base64").toString("latin1"))[0]?.bytes;
  const path = DER_PATHS[`${kind} ${version}`];
  const der = path && (readPath(body, [...path, "x509Certificate", "rawBytes"]) ?? readPath(body, [...path, "publicKey", "rawBytes"]));
  return der === undefined ? undefined : Buffer.from(der, "base64");
}

function readPath(value: unknown, path: readonly string[]): string | undefined {
  let at = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return typeof at === "string" ? at : undefined;
}
