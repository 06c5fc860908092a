import type { KeyObject } from "node:crypto";
import { getHashAlgorithm, isSignedBy } from "./publicKey.ts";

/** An untrusted signature from a registry. */
export interface FoundSignature {
  readonly payload: Uint8Array;
  /** base64; undefined if it was stored without one */
  readonly signature: string | undefined;
  /**
   * Whether the payload is the in-toto statement of a sigstore bundle; otherwise it is in the
   * simple signing format.
   */
  readonly isStatement?: boolean | undefined;
  readonly attached?: SignerEvidence | undefined;
}

/** Untrusted texts that are attached to a signature: who signed, and when. */
export interface SignerEvidence {
  /** PEM of the signer's certificate */
  readonly certificate?: string | undefined;
  /** PEM of the certificates of intermediate authorities */
  readonly chain?: string | undefined;
  /** JSON of the entry in a transparency log, with its signed timestamp, as cosign writes it */
  readonly logEntry?: string | undefined;
  /** JSON of a sigstore bundle, which contains all of the above */
  readonly bundle?: string | undefined;
}

/** Type of the payload of a statement. */
export const STATEMENT_PAYLOAD_TYPE = "application/vnd.in-toto+json";

/**
 * Returns the bytes that are signed for a statement.
 * @see https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
 */
export function encodeSignedBytes(statement: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${STATEMENT_PAYLOAD_TYPE.length} ${STATEMENT_PAYLOAD_TYPE} ${statement.byteLength} `),
    statement,
  ]);
}

/** Returns whether the key made the signature. Simple signing always uses SHA-256. */
export function isMadeBy(key: KeyObject, { payload, isStatement = false }: FoundSignature, signature: Uint8Array): boolean {
  return isStatement ? isSignedBy(key, encodeSignedBytes(payload), signature, getHashAlgorithm(key)) : isSignedBy(key, payload, signature);
}
