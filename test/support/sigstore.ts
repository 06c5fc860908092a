import { createHash, generateKeyPairSync, KeyObject, sign, webcrypto } from "node:crypto";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { X509Certificate as ParsedCertificate } from "@sigstore/core";
import { readSignatureBundle, SIGNATURE_PREDICATE } from "../../pkg/oci/policy/signatureFormats.ts";
import { encodeSignedBytes, type FoundSignature, type SignerEvidence } from "../../pkg/oci/signers/foundSignature.ts";
import { encodeDer, encodeOid, TAG } from "./der.ts";
import { BUNDLE, claimPayload } from "./signing.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const SHA256 = "2.16.840.1.101.3.4.2.1";
const MINUTE = 60_000;
/** The name of the log in checkpoints. */
const LOG_NAME = "rekor.test";

/** A key pair of an authority or a signer. */
interface CertifiedKey {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: X509Certificate;
}

/** A log with its key. */
interface LogKey {
  readonly privateKey: KeyObject;
  /** DER */
  readonly spki: Buffer;
  readonly pem: string;
  readonly id: Buffer;
}

/** The signer of an image, and its certificate. */
export interface KeylessOptions {
  email?: string;
  hostname?: string;
  issuer?: string;
  /** the issuer in the older extension; default: `issuer` */
  oldIssuer?: string;
  buildSigner?: string;
  /** default: code signing */
  usages?: string[];
  extensions?: Extension[];
  /** start of the validity of the certificate, which ends ten minutes later; default: a minute ago */
  notBefore?: Date;
  /** when the log adds the entry; default: a minute after `notBefore` */
  loggedAt?: Date;
  /** Whether the certificate has a timestamp of the certificate transparency log. */
  hasSct?: boolean;
}

/** A signature and what is attached to it, to change a part before it is assembled. */
export interface KeylessParts {
  payload: Buffer;
  signature: Buffer;
  certificate: Buffer;
  body: Buffer;
  set: Buffer;
  integratedTime: number;
  checkpoint: string;
  /** RFC 3161 timestamp response; undefined for none */
  timestamp?: Buffer | undefined;
  kind: "hashedrekord" | "dsse";
}

/**
 * A sigstore instance for tests: an authority like Fulcio with an intermediate authority, a
 * certificate transparency log, a transparency log like Rekor, and a timestamp authority.
 */
export class TestSigstore {
  readonly rekor = newLogKey();
  readonly ctLog = newLogKey();
  readonly root: CertifiedKey;
  readonly intermediate: CertifiedKey;
  readonly timestamping: CertifiedKey;
  readonly timestampRoot: CertifiedKey;

  private constructor(all: Pick<TestSigstore, "root" | "intermediate" | "timestamping" | "timestampRoot">) {
    this.root = all.root;
    this.intermediate = all.intermediate;
    this.timestamping = all.timestamping;
    this.timestampRoot = all.timestampRoot;
  }

  static async create(): Promise<TestSigstore> {
    const root = await newAuthority("Fulcio root", undefined, 1);
    const intermediate = await newAuthority("Fulcio intermediate", root, 0);
    const timestampRoot = await newAuthority("TSA root", undefined, 0);
    const timestamping = await newCertificate("TSA", timestampRoot, [new ExtendedKeyUsageExtension([ExtendedKeyUsage.timeStamping], true)]);
    return new TestSigstore({ root, intermediate, timestamping, timestampRoot });
  }

  /** PEM of the root of Fulcio. */
  get rootPem(): string {
    return this.root.certificate.toString("pem");
  }

  /** PEM of the intermediate authority, then of the root. */
  get chainPem(): string {
    return `${this.intermediate.certificate.toString("pem")}\n${this.rootPem}\n`;
  }

  /** A `trusted_root.json`. */
  get trustedRoot(): string {
    const validFor = { start: "2020-01-01T00:00:00Z" };
    const chain = (...all: CertifiedKey[]): object => ({
      certChain: { certificates: all.map(({ certificate }) => ({ rawBytes: base64(certificate.rawData) })) },
      validFor,
    });
    const log = (baseUrl: string, { spki, id }: LogKey): object => ({
      baseUrl,
      hashAlgorithm: "SHA2_256",
      publicKey: { rawBytes: base64(spki), keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor },
      logId: { keyId: base64(id) },
    });
    return JSON.stringify({
      mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
      tlogs: [log(`https://${LOG_NAME}`, this.rekor)],
      certificateAuthorities: [chain(this.intermediate, this.root)],
      ctlogs: [log("https://ct.test", this.ctLog)],
      timestampAuthorities: [chain(this.timestamping, this.timestampRoot)],
    });
  }

  /** Issues the certificate of a signer. */
  async issue(options: KeylessOptions = {}): Promise<CertifiedKey> {
    const { email, hostname, issuer = "https://issuer.test", buildSigner, usages = [ExtendedKeyUsage.codeSigning] } = options;
    const names: JsonGeneralName[] = [
      ...(email === undefined ? [] : [{ type: "email" as const, value: email }]),
      ...(hostname === undefined ? [] : [{ type: "dns" as const, value: hostname }]),
    ];
    const extensions = [
      ...(usages.length === 0 ? [] : [new ExtendedKeyUsageExtension(usages)]),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names, true)]),
      new Extension("1.3.6.1.4.1.57264.1.1", false, Buffer.from(options.oldIssuer ?? issuer)),
      new Extension("1.3.6.1.4.1.57264.1.8", false, encodeDer(TAG.utf8, Buffer.from(issuer))),
      ...(buildSigner === undefined ? [] : [new Extension("1.3.6.1.4.1.57264.1.9", false, encodeDer(TAG.utf8, Buffer.from(buildSigner)))]),
      ...(options.extensions ?? []),
    ];
    const { notBefore = new Date(Date.now() - MINUTE) } = options;
    const dates = { notBefore, notAfter: new Date(notBefore.getTime() + 10 * MINUTE) };
    const first = await newCertificate("", this.intermediate, extensions, dates);
    if (!options.hasSct) return first;
    const sct = new Extension("1.3.6.1.4.1.11129.2.4.2", false, this.#timestampCertificate(first.certificate, notBefore));
    return newCertificate("", this.intermediate, [...extensions, sct], { ...dates, keys: first.keys, like: first.certificate });
  }

  /** Signs an image as cosign 2 does, keyless. */
  async claim(digest: string, reference: string, options: KeylessOptions = {}): Promise<KeylessParts> {
    return this.#log("hashedrekord", claimPayload(digest, reference), options);
  }

  /** Signs an image as cosign 3 does, keyless. */
  async state(digest: string, reference: string, options: KeylessOptions = {}): Promise<KeylessParts> {
    const subject = [{ digest: { sha256: digest.replace("sha256:", "") }, annotations: { "docker-reference": reference } }];
    const statement = { _type: "https://in-toto.io/Statement/v1", subject, predicateType: SIGNATURE_PREDICATE, predicate: {} };
    return this.#log("dsse", Buffer.from(JSON.stringify(statement)), options);
  }

  /** Adds a signature by a key to the log. @param signer DER of the certificate or the public key */
  logSignature(kind: "hashedrekord" | "dsse", payload: Buffer, signature: Buffer, signer: string, time: Date): KeylessParts {
    const hash = { algorithm: "sha256", value: createHash("sha256").update(payload).digest("hex") };
    const content = base64(signature);
    const spec =
      kind === "hashedrekord"
        ? { data: { hash }, signature: { content, publicKey: { content: base64(Buffer.from(signer)) } } }
        : { envelopeHash: hash, payloadHash: hash, signatures: [{ signature: content, verifier: base64(Buffer.from(signer)) }] };
    const body = Buffer.from(JSON.stringify({ apiVersion: "0.0.1", kind, spec }));
    const integratedTime = Math.floor(time.getTime() / 1000);
    const set = sign("sha256", Buffer.from(toSignedEntry(body, integratedTime, this.rekor)), this.rekor.privateKey);
    return { kind, payload, signature, certificate: Buffer.alloc(0), body, set, integratedTime, checkpoint: this.#checkpoint(body) };
  }

  /** Returns a signature as it is found at the tag of cosign. */
  toTagged(
    { payload, signature, certificate, body, set, integratedTime }: KeylessParts,
    key?: "public-key",
  ): FoundSignature & { signature: string; attached: SignerEvidence } {
    const logEntry = {
      SignedEntryTimestamp: base64(set),
      Payload: { body: base64(body), integratedTime, logIndex: 1, logID: this.rekor.id.toString("hex") },
    };
    const certificates = key === undefined ? { certificate: toPem(certificate), chain: this.chainPem } : {};
    const attached = { ...certificates, logEntry: JSON.stringify(logEntry) };
    return { payload, signature: base64(signature), attached };
  }

  /** Returns the bundle of a signature as it is found in a referrer. */
  toBundle(parts: KeylessParts, key?: "public-key"): object {
    const { payload, signature, certificate, body, set, integratedTime, checkpoint, kind, timestamp } = parts;
    const inclusionProof = {
      logIndex: "1",
      rootHash: base64(hashTree(body)),
      treeSize: "3",
      hashes: [hashLeaf("0"), hashLeaf("2")].map(base64),
      checkpoint: { envelope: checkpoint },
    };
    const entry = {
      logIndex: "1",
      logId: { keyId: base64(this.rekor.id) },
      kindVersion: { kind, version: "0.0.1" },
      integratedTime: String(integratedTime),
      ...(set.length === 0 ? {} : { inclusionPromise: { signedEntryTimestamp: base64(set) } }),
      inclusionProof,
      canonicalizedBody: base64(body),
    };
    return {
      mediaType: BUNDLE,
      verificationMaterial: {
        ...(key === undefined ? { certificate: { rawBytes: base64(certificate) } } : { publicKey: { hint: "" } }),
        tlogEntries: [entry],
        ...(timestamp && { timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp: base64(timestamp) }] } }),
      },
      dsseEnvelope: { payload: base64(payload), payloadType: "application/vnd.in-toto+json", signatures: [{ sig: base64(signature) }] },
    };
  }

  /** Returns a signature as it is found. */
  toFound(parts: KeylessParts): FoundSignature {
    return parts.kind === "dsse" ? readBundle(this.toBundle(parts)) : this.toTagged(parts);
  }

  /** Creates a response of the timestamp authority for a signature. */
  timestamp(signature: Buffer, time: Date): Buffer {
    const { certificate, keys } = this.timestamping;
    const parsed = ParsedCertificate.parse(Buffer.from(certificate.rawData));
    const hash = encodeDer(TAG.sequence, encodeOid(SHA256));
    const integer = (value: number): Buffer => encodeDer(TAG.integer, Buffer.from([value]));
    const imprint = encodeDer(TAG.sequence, hash, encodeDer(TAG.octets, createHash("sha256").update(signature).digest()));
    const genTime = encodeDer(TAG.time, Buffer.from(`${time.toISOString().replace(/\D/g, "").slice(0, 14)}Z`));
    const info = encodeDer(TAG.sequence, integer(1), encodeOid("1.2.3"), imprint, integer(1), genTime);
    const tstInfo = encodeOid("1.2.840.113549.1.9.16.1.4");
    const attribute = (oid: Buffer, value: Buffer): Buffer => encodeDer(TAG.sequence, oid, encodeDer(TAG.set, value));
    const attributes = [
      attribute(encodeOid("1.2.840.113549.1.9.3"), tstInfo),
      attribute(encodeOid("1.2.840.113549.1.9.4"), encodeDer(TAG.octets, createHash("sha256").update(info).digest())),
    ];
    const signed = sign("sha256", encodeDer(TAG.set, ...attributes), toKeyObject(keys.privateKey));
    const signer = encodeDer(
      TAG.sequence,
      integer(1),
      encodeDer(TAG.sequence, encodeDer(TAG.sequence, parsed.issuer), encodeDer(TAG.integer, parsed.serialNumber)),
      hash,
      encodeDer(TAG.context(0), ...attributes),
      encodeDer(TAG.sequence, encodeOid("1.2.840.10045.4.3.2")),
      encodeDer(TAG.octets, signed),
    );
    const content = encodeDer(TAG.sequence, tstInfo, encodeDer(TAG.context(0), encodeDer(TAG.octets, info)));
    const signedData = encodeDer(TAG.sequence, integer(3), encodeDer(TAG.set, hash), content, encodeDer(TAG.set, signer));
    const token = encodeDer(TAG.sequence, encodeOid("1.2.840.113549.1.7.2"), encodeDer(TAG.context(0), signedData));
    return encodeDer(TAG.sequence, encodeDer(TAG.sequence, integer(0)), token);
  }

  async #log(kind: "hashedrekord" | "dsse", payload: Buffer, options: KeylessOptions): Promise<KeylessParts> {
    const { certificate, keys } = await this.issue(options);
    const signature = sign("sha256", kind === "dsse" ? encodeSignedBytes(payload) : payload, toKeyObject(keys.privateKey));
    const { loggedAt = new Date(certificate.notBefore.getTime() + MINUTE) } = options;
    const parts = this.logSignature(kind, payload, signature, certificate.toString("pem"), loggedAt);
    return { ...parts, certificate: Buffer.from(certificate.rawData) };
  }

  #checkpoint(body: Buffer): string {
    const note = `${LOG_NAME} - 1\n3\n${base64(hashTree(body))}\n`;
    const signature = Buffer.concat([this.rekor.id.subarray(0, 4), sign("sha256", Buffer.from(note), this.rekor.privateKey)]);
    return `${note}\n\u2014 ${LOG_NAME} ${base64(signature)}\n`;
  }

  /** Returns an extension with a signed certificate timestamp. @see https://www.rfc-editor.org/rfc/rfc6962#section-3.2 */
  #timestampCertificate(certificate: X509Certificate, time: Date): Buffer {
    const tbs = ParsedCertificate.parse(Buffer.from(certificate.rawData)).tbsCertificate.toDER();
    const issuerKey = createHash("sha256").update(Buffer.from(this.intermediate.certificate.publicKey.rawData)).digest();
    const at = Buffer.alloc(8);
    at.writeBigUInt64BE(BigInt(time.getTime()));
    const length = Buffer.from(tbs.length.toString(16).padStart(6, "0"), "hex");
    const signed = Buffer.concat([Buffer.from([0, 0]), at, Buffer.from([0, 1]), issuerKey, length, tbs, Buffer.from([0, 0])]);
    const signature = sign("sha256", signed, this.ctLog.privateKey);
    const sct = Buffer.concat([Buffer.from([0]), this.ctLog.id, at, Buffer.from([0, 0, 4, 3]), prefix16(signature)]);
    return encodeDer(TAG.octets, prefix16(prefix16(sct)));
  }
}

/** Returns the signature of a bundle as it is read from a referrer. */
export function readBundle(bundle: object): FoundSignature {
  const found = readSignatureBundle(Buffer.from(JSON.stringify(bundle)));
  if (!found) throw new Error("the bundle contains no signature");
  return found;
}

function newLogKey(): LogKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const id = createHash("sha256").update(spki).digest();
  return { privateKey, spki, id, pem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** Creates an authority: a root, or one that `issuer` certifies. */
async function newAuthority(name: string, issuer: CertifiedKey | undefined, pathLength: number): Promise<CertifiedKey> {
  const extensions = [
    new BasicConstraintsExtension(true, pathLength, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ];
  const year = 365 * 24 * 60 * MINUTE;
  const dates = { notBefore: new Date(Date.now() - 10 * year), notAfter: new Date(Date.now() + 10 * year) };
  return newCertificate(name, issuer, extensions, dates);
}

async function newCertificate(
  name: string,
  issuer: CertifiedKey | undefined,
  extensions: Extension[],
  options: { notBefore?: Date; notAfter?: Date; keys?: webcrypto.CryptoKeyPair; like?: X509Certificate } = {},
): Promise<CertifiedKey> {
  const { like, notBefore = new Date(Date.now() - 60 * MINUTE), notAfter = new Date(Date.now() + 600 * MINUTE), ...rest } = options;
  const keys = rest.keys ?? (await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]));
  const certificate = await X509CertificateGenerator.create({
    ...(like === undefined ? {} : { serialNumber: like.serialNumber }),
    subject: name === "" ? "" : `CN=${name}`,
    issuer: issuer?.certificate.subject ?? `CN=${name}`,
    notBefore,
    notAfter,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: [
      ...extensions.slice(0, like === undefined ? undefined : -1),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create((issuer?.keys ?? keys).publicKey),
      ...(like === undefined ? [] : extensions.slice(-1)),
    ],
  });
  return { keys, certificate };
}

/** Returns the text that the log signs for an entry, in canonical JSON. */
function toSignedEntry(body: Buffer, integratedTime: number, { id }: LogKey): string {
  return JSON.stringify({ body: base64(body), integratedTime, logID: id.toString("hex"), logIndex: 1 });
}

function hashLeaf(content: Buffer | string): Buffer {
  return createHash("sha256")
    .update(Buffer.from([0]))
    .update(content)
    .digest();
}

/** Returns the root of a tree of three entries, the second of which is `body`. @see https://www.rfc-editor.org/rfc/rfc6962#section-2.1 */
function hashTree(body: Buffer): Buffer {
  const node = (left: Buffer, right: Buffer): Buffer =>
    createHash("sha256")
      .update(Buffer.from([1]))
      .update(left)
      .update(right)
      .digest();
  return node(node(hashLeaf("0"), hashLeaf(body)), hashLeaf("2"));
}

function prefix16(bytes: Buffer): Buffer {
  const size = Buffer.alloc(2);
  size.writeUInt16BE(bytes.length);
  return Buffer.concat([size, bytes]);
}

function toKeyObject(key: webcrypto.CryptoKey): KeyObject {
  return KeyObject.from(key);
}

function toPem(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${base64(der)}\n-----END CERTIFICATE-----\n`;
}

function base64(bytes: ArrayBuffer | Buffer): string {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString("base64");
}
