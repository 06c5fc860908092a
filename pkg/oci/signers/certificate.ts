import { type KeyObject, X509Certificate as NodeCertificate } from "node:crypto";
import { ASN1Obj, X509Certificate } from "@sigstore/core";
import { findKeyProblem } from "./publicKey.ts";

/** Object identifiers of extensions in RFC 5280 4.2.1. */
const OID = {
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  nameConstraints: "2.5.29.30",
  certificatePolicies: "2.5.29.32",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;
/** Extensions whose meaning is checked or does not matter here. Others must not be critical. */
const HANDLED: readonly string[] = Object.values(OID).filter((oid) => oid !== OID.nameConstraints);
const CODE_SIGNING = "1.3.6.1.5.5.7.3.3";
const ANY_USAGE = "2.5.29.37.0";
/** Tags of UTF8String, PrintableString and IA5String. */
const STRINGS = [0x0c, 0x13, 0x16];
/** Types of general names in RFC 5280 4.2.1.6. */
const EMAIL = 1;
const DNS_NAME = 2;
/** Maximum size of a certificate. Those of Fulcio have about 1 KiB. */
const CERTIFICATE_BYTES = 16 * 1024;

/** A parsed certificate. */
export class SignerCertificate {
  /** DER */
  readonly bytes: Buffer;
  readonly key: KeyObject;
  readonly #node: NodeCertificate;
  readonly #parsed: X509Certificate;

  /**
   * @param der untrusted
   * @throws Error if it is not exactly one certificate with a supported key, or exceeds 16 KiB
   */
  constructor(der: Uint8Array) {
    this.bytes = Buffer.from(der);
    if (der.byteLength > CERTIFICATE_BYTES) throw new Error(`the certificate exceeds ${CERTIFICATE_BYTES} bytes`);
    // OpenSSL verifies signatures. It has no access to extensions, so the library for sigstore reads them.
    this.#node = new NodeCertificate(this.bytes);
    if (!this.#node.raw.equals(this.bytes)) throw new Error("the certificate is not valid DER");
    this.#parsed = X509Certificate.parse(Buffer.from(der));
    this.key = this.#node.publicKey;
    const problem = findKeyProblem(this.key);
    if (problem !== undefined) throw new Error(problem);
    const oids = this.#parsed.extensions.map(readOid);
    if (new Set(oids).size !== oids.length) throw new Error("the certificate has the same extension twice");
  }

  /** Returns whether this certificate names `issuer` as its issuer, and that may sign certificates. */
  names(issuer: SignerCertificate): boolean {
    return issuer.isAuthority && this.#node.checkIssued(issuer.#node);
  }

  /** Returns whether the key of `issuer` signed this certificate. */
  isSignedBy(issuer: SignerCertificate): boolean {
    return verifies(this.#node, issuer.key);
  }

  isValidAt(time: Date): boolean {
    return this.#parsed.validForDate(time);
  }

  get isAuthority(): boolean {
    return this.#parsed.isCA;
  }

  /** The maximum number of intermediate authorities below this one; undefined if unlimited. */
  get pathLength(): number | undefined {
    const length = this.#parsed.extBasicConstraints?.pathLenConstraint;
    return length === undefined ? undefined : Number(length);
  }

  /** Whether the usages, if the certificate limits them, include code signing. */
  get maySignCode(): boolean {
    const usages = this.#parsed.extension(OID.extendedKeyUsage)?.valueObj.subs[0]?.subs;
    return usages === undefined || usages.some((usage) => [CODE_SIGNING, ANY_USAGE].includes(usage.toOID()));
  }

  get hasUnhandledExtension(): boolean {
    return findUnhandledExtension(this.#parsed) !== undefined;
  }

  get emails(): string[] {
    return this.#listNames(EMAIL);
  }

  get hostnames(): string[] {
    return this.#listNames(DNS_NAME);
  }

  /** Returns the content of an extension. */
  readExtension(oid: string): Buffer<ArrayBuffer> | undefined {
    const value = this.#parsed.extension(oid)?.value;
    return value && Buffer.from(value);
  }

  /** Returns the text in an extension that contains one DER string. @throws Error if it contains anything else */
  readTextExtension(oid: string): string | undefined {
    const der = this.readExtension(oid);
    if (!der) return undefined;
    const text = ASN1Obj.parseBuffer(der);
    const isText = text.tag.isUniversal() && STRINGS.includes(text.tag.number);
    if (!isText || !text.toDER().equals(der)) throw new Error("an extension of the certificate is not a string");
    return Buffer.from(text.value).toString("utf8");
  }

  #listNames(type: number): string[] {
    const names = this.#parsed.extension(OID.subjectAltName)?.valueObj.subs[0]?.subs ?? [];
    return names.flatMap(({ tag, value }) => (tag.isContextSpecific(type) ? [Buffer.from(value).toString("latin1")] : []));
  }
}

/**
 * Returns a critical extension that this program does not check. RFC 5280 4.2: the certificate must
 * then be rejected. Name constraints limit an authority even if they are not critical.
 */
export function findUnhandledExtension({ extensions }: X509Certificate): ASN1Obj | undefined {
  return extensions.find((extension) => {
    const oid = readOid(extension);
    return oid === OID.nameConstraints || (isCritical(extension) && !HANDLED.includes(oid));
  });
}

function verifies(certificate: NodeCertificate, key: KeyObject): boolean {
  try {
    return certificate.verify(key);
  } catch {
    return false; // the algorithm of the signature does not fit the key
  }
}

function readOid(extension: ASN1Obj): string {
  const oid = extension.subs[0]?.toOID();
  if (oid === undefined) throw new Error("the certificate has an extension without an identifier");
  return oid;
}

function isCritical({ subs: [, critical, value] }: ASN1Obj): boolean {
  return critical !== undefined && value !== undefined && critical.toBoolean();
}
