/** A block of a PEM text. */
export interface PemBlock {
  readonly label: string;
  readonly bytes: Buffer;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,64})-----([A-Za-z0-9+/=\s]{1,65536})-----END \1-----/g;

/** Returns the blocks of a PEM text. Ignores all other text, as usual for PEM. */
export function parsePem(text: string): PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([, label = "", body = ""]) => ({ label, bytes: Buffer.from(body, "base64") }));
}

/** Returns the DER certificates in a PEM text. */
export function parseCertificateBlocks(text: string): Buffer[] {
  return parsePem(text).flatMap(({ label, bytes }) => (label === "CERTIFICATE" ? [bytes] : []));
}
