import { isIP } from "node:net";
import { generate } from "selfsigned";

/** Types of subject alternative names: DNS name and IP address. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;
const HOUR_MS = 3_600_000;

/** Creates a self-signed certificate for host names or addresses, with its key, both as PEM text. */
export function serverCertificate(host: string, ...others: readonly string[]): Promise<{ cert: string; key: string }> {
  return selfSigned([host, ...others]);
}

/** Creates a self-signed certificate like `serverCertificate`, but one that expired an hour ago. */
export function expiredCertificate(host: string): Promise<{ cert: string; key: string }> {
  const now = Date.now();
  return selfSigned([host], { notBeforeDate: new Date(now - 2 * HOUR_MS), notAfterDate: new Date(now - HOUR_MS) });
}

async function selfSigned(
  hosts: readonly string[],
  validity: { notBeforeDate?: Date; notAfterDate?: Date } = {},
): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: "commonName", value: hosts[0] ?? "" }], {
    ...validity,
    algorithm: "sha256",
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      {
        name: "subjectAltName",
        altNames: hosts.map((one) => (isIP(one) ? { type: IP_ADDRESS, ip: one } : { type: DNS_NAME, value: one })),
      },
    ],
  });
  return { cert, key };
}
