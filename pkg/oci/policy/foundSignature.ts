/** A signature as it was found: nothing about it is to be trusted. */
export interface FoundSignature {
  readonly payload: Uint8Array;
  /** base64; undefined when it was stored without one */
  readonly signature: string | undefined;
  /** Whether the payload is the in-toto statement of a sigstore bundle; it is in the simple signing format otherwise. */
  readonly isStatement?: boolean | undefined;
}
