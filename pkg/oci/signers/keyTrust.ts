import type { KeyObject } from "node:crypto";
import { type FoundSignature, isMadeBy } from "./foundSignature.ts";
import type { SignatureProblem } from "./signatureProblem.ts";
import type { SignerTrust } from "./signerTrust.ts";

/** Trusts signers with one of the keys. */
export class KeyTrust implements SignerTrust {
  readonly #keys: readonly KeyObject[];

  constructor(keys: readonly KeyObject[]) {
    this.#keys = keys;
  }

  findProblem(found: FoundSignature, signature: Uint8Array): SignatureProblem | undefined {
    return findSigningKey(this.#keys, found, signature) ? undefined : OTHER_KEY;
  }
}

/** The problem of a signature by another key. */
export const OTHER_KEY: SignatureProblem = {
  reason: "SignatureInvalid",
  message: "cryptographic signature verification failed: the signature does not match any key in the policy",
};

/** Returns the key that made the signature. */
export function findSigningKey(keys: readonly KeyObject[], found: FoundSignature, signature: Uint8Array): KeyObject | undefined {
  return keys.find((key) => isMadeBy(key, found, signature));
}
