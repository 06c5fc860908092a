import { randomBytes, webcrypto } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { IssuedCertificate, IssueTask } from "./certificateIssuer.ts";

const KEYS = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNING = { name: "ECDSA", hash: "SHA-256" } as const;
/** Maximum length of a common name in X.520. */
const NAME_MAX = 64;

/** Creates an authority and one certificate, and discards the authority's key. */
export async function issueCertificate({ host, dnsNames, startsAt, endsAt }: IssueTask): Promise<IssuedCertificate> {
  const dates = { notBefore: new Date(startsAt), notAfter: new Date(endsAt), signingAlgorithm: SIGNING };
  const [authorityKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  // A random number makes the names of authorities unique, because a Service has several
  // authorities over time and a verifier finds an authority by its name.
  const name = createName(`${randomBytes(4).toString("hex")} ${host}`);
  const authority = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name,
    ...dates,
    keys: authorityKeys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: createName(host),
    issuer: name,
    ...dates,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: "dns", value }))),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { authority: authority.toString("pem"), certificate: certificate.toString("pem"), key };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEYS, true, ["sign", "verify"]);
}

function createName(text: string): { CN: string[] }[] {
  return [{ CN: [text.slice(0, NAME_MAX)] }];
}

/** Returns a positive 127-bit number. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString("hex");
}

// Body of the worker thread that `certificateIssuer.ts` starts.

parentPort?.postMessage(await issueCertificate(workerData as IssueTask), []);
