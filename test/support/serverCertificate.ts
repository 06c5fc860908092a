import { isIP } from "node:net";
import { generate } from "selfsigned";

/** Types of subject alternative names: DNS name and IP address. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Creates a self-signed certificate for a host name or an address, with its key, both as PEM text. */
export async function serverCertificate(host: string): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: "commonName", value: host }], {
    algorithm: "sha256",
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [isIP(host) ? { type: IP_ADDRESS, ip: host } : { type: DNS_NAME, value: host }] },
    ],
  });
  return { cert, key };
}
