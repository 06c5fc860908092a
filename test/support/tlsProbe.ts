import { type ConnectionOptions, connect, type SecureVersion } from "node:tls";

/** The negotiated parameters of a TLS connection. */
export interface Agreed {
  /** Such as "TLSv1.3". */
  version: string;
  /** IANA name of the cipher suite. */
  cipher: string;
}

/** The offer of a client; Node's defaults otherwise. */
export interface Offer {
  version: SecureVersion;
  /** OpenSSL's names, for versions below TLS 1.3. */
  ciphers?: string;
  curve?: string;
}

const TIMEOUT_MS = 10_000;

/**
 * Opens one TLS connection to a port of this machine, without verifying its certificate.
 * @returns undefined if the server rejects the offer.
 * @throws Error if no server listens, or none responds within ten seconds.
 */
export function probeTls(port: number, { version, ciphers, curve }: Offer): Promise<Agreed | undefined> {
  const options: ConnectionOptions = { host: "127.0.0.1", port, rejectUnauthorized: false, minVersion: version, maxVersion: version };
  if (ciphers !== undefined) options.ciphers = ciphers;
  if (curve !== undefined) options.ecdhCurve = curve;
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no TLS connection to port ${port} within ${TIMEOUT_MS} ms`)));
    socket.once("secureConnect", () => {
      const { standardName } = socket.getCipher() as { standardName: string };
      resolve({ version: socket.getProtocol() ?? "", cipher: standardName });
      socket.destroy();
    });
    socket.once("error", (err: Error & { code?: string }) => {
      if (err.code?.startsWith("ERR_SSL_")) resolve(undefined);
      else reject(err);
    });
  });
}
