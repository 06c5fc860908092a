import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { getErrorMessage } from "../../errors/errors.ts";

const PEM = /-----BEGIN ((?:RSA )?PUBLIC KEY)-----[A-Za-z0-9+/=\s]+-----END \1-----/;
/** Supported curves, and the hash that sigstore uses with each. */
const CURVES: Readonly<Record<string, string>> = { prime256v1: "sha256", secp384r1: "sha384", secp521r1: "sha512" };
const RSA_BITS_MIN = 2048;
/** Verification with a longer key takes more than a few milliseconds. */
const RSA_BITS_MAX = 8192;

/**
 * Parses a public key in the format of cosign.
 * @param pem the first key is used
 * @throws Error `parsing public key: …` for a text without a key and for key types that cosign does
 * not use
 */
export function parsePublicKey(pem: string): KeyObject {
  const found = PEM.exec(pem)?.[0];
  if (found === undefined) throw new Error("parsing public key: PEM block PUBLIC KEY not found");
  let key: KeyObject;
  try {
    key = createPublicKey(found);
  } catch (err) {
    throw new Error(`parsing public key: ${getErrorMessage(err)}`, { cause: err });
  }
  const problem = findKeyProblem(key);
  if (problem !== undefined) throw new Error(`parsing public key: ${problem}`);
  return key;
}

/** Returns why a key cannot be used; undefined if it can. */
export function findKeyProblem({ asymmetricKeyType: type, asymmetricKeyDetails }: KeyObject): string | undefined {
  const { namedCurve = "", modulusLength = 0 } = asymmetricKeyDetails ?? {};
  if (type === "ec") return Object.hasOwn(CURVES, namedCurve) ? undefined : `curve ${namedCurve} is not supported`;
  if (type === "rsa" && modulusLength < RSA_BITS_MIN) return `RSA key is too short: ${modulusLength} bits, minimum ${RSA_BITS_MIN}`;
  if (type === "rsa" && modulusLength > RSA_BITS_MAX) return `RSA key is too long: ${modulusLength} bits, maximum ${RSA_BITS_MAX}`;
  return type === "rsa" || type === "ed25519" ? undefined : `key type ${type} is not supported`;
}

/**
 * Returns whether the key signed exactly these bytes: ECDSA (DER) and RSA (PKCS #1 v1.5) over their
 * hash, Ed25519 over the bytes.
 */
export function isSignedBy(key: KeyObject, bytes: Uint8Array, signature: Uint8Array, hash = "sha256"): boolean {
  try {
    return verify(key.asymmetricKeyType === "ed25519" ? null : hash, bytes, key, signature);
  } catch {
    return false; // a malformed signature
  }
}

/**
 * Returns the hash of a key in sigstore's algorithm registry; signatures in the older format use
 * SHA-256 with every key.
 * @see https://github.com/sigstore/architecture-docs/blob/main/algorithm-registry.md
 */
export function getHashAlgorithm({ asymmetricKeyDetails }: KeyObject): string {
  return CURVES[asymmetricKeyDetails?.namedCurve ?? ""] ?? "sha256";
}
