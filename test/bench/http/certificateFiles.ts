import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generate } from "selfsigned";

/** Files of a self-signed certificate for 127.0.0.1, and its text for clients to trust. */
export interface ServerCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
}

/** Makes a certificate with an elliptic curve key in `folder`. */
export async function serverCertificate(folder: string): Promise<ServerCertificate> {
  const { cert, private: key } = await generate([{ name: "commonName", value: "catalogd" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
    ],
  });
  const [certFile, keyFile] = [join(folder, "catalogd.crt"), join(folder, "catalogd.key")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key, { mode: 0o600 });
  return { certFile, keyFile, cert };
}
