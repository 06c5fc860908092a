import type { FoundSignature } from "./foundSignature.ts";
import type { SignatureProblem } from "./signatureProblem.ts";

/** Decides whether a requirement trusts the signer of a signature. */
export interface SignerTrust {
  /**
   * Returns why the signature is not by a trusted signer; undefined if it is. Never throws. Takes
   * bounded time, because the texts of a signature are bounded.
   */
  findProblem(found: FoundSignature, signature: Uint8Array): SignatureProblem | undefined;
}

/** The signer that a certificate of Fulcio must name. At least one of the optional members is set. */
export interface FulcioSubject {
  /** URL of the identity provider */
  readonly issuer: string;
  readonly email?: string | undefined;
  /** URI of the workflow that signs, such as one of GitHub Actions */
  readonly buildSigner?: string | undefined;
}

/** The signer that a certificate of another authority must name. At least one member is set. */
export interface PkiSubject {
  readonly email?: string | undefined;
  readonly hostname?: string | undefined;
}

/** Whom a requirement trusts. `T` is a PEM or JSON text, or the place to read it. */
export type TrustRoots<T> =
  /** one of the keys; with `logs`, one of these transparency logs must contain the signature */
  | { readonly kind: "keys"; readonly keys: readonly T[]; readonly logs: readonly T[] }
  /** a certificate from Fulcio, and the keys of transparency logs that tell when it was used */
  | { readonly kind: "fulcio"; readonly authorities: T; readonly logs: readonly T[]; readonly subject: FulcioSubject }
  /** a certificate from Fulcio; a `trusted_root.json` has all authorities and logs */
  | { readonly kind: "trustedRoot"; readonly root: T; readonly subject: FulcioSubject }
  /** a certificate from other authorities, which must be valid now */
  | { readonly kind: "pki"; readonly authorities: T; readonly intermediates: T | undefined; readonly subject: PkiSubject };
