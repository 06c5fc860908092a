import { generate } from "selfsigned";

/** The type of a DNS name among a certificate's names. */
const DNS_NAME = 2;

/** A certificate for a host name that nobody but itself signs, with its key, both as PEM text. */
export async function serverCertificate(host: string): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: "commonName", value: host }], {
    algorithm: "sha256",
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: DNS_NAME, value: host }] },
    ],
  });
  return { cert, key };
}
