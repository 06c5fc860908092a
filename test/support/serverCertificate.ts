import { isIP } from "node:net";
import { generate } from "selfsigned";

/** Types of subject alternative names: DNS name and IP address. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Creates a self-signed certificate for host names or addresses, with its key, both as PEM text. */
export async function serverCertificate(host: string, ...others: readonly string[]): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: "commonName", value: host }], {
    algorithm: "sha256",
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      {
        name: "subjectAltName",
        altNames: [host, ...others].map((one) => (isIP(one) ? { type: IP_ADDRESS, ip: one } : { type: DNS_NAME, value: one })),
      },
    ],
  });
  return { cert, key };
}
