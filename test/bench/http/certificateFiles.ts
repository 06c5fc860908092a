import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serverCertificate } from "../../support/serverCertificate.ts";

/** Files of a self-signed certificate for 127.0.0.1, and its text for clients to trust. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
}

/** Writes a certificate with an elliptic curve key to `folder`. */
export async function writeCertificateFiles(folder: string): Promise<CertificateFiles> {
  const { cert, key } = await serverCertificate("127.0.0.1");
  const [certFile, keyFile] = [join(folder, "catalogd.crt"), join(folder, "catalogd.key")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key, { mode: 0o600 });
  return { certFile, keyFile, cert };
}
