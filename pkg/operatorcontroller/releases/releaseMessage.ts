import type { ReleaseParts } from "../../release/payload.ts";

/** What `ReleaseThread` asks of its thread: to read a payload, which is the JSON of a release. */
export interface PayloadRequest {
  readonly payload: Uint8Array;
  /** The bundle's labels where the payload has none. */
  readonly labels: Readonly<Record<string, string>>;
  /** Name of the index Secret, for messages. */
  readonly secret: string;
}

/** The response to a request. */
export type PayloadResponse =
  /** Texts are copied as they are, lone surrogates too; as bytes they would not survive. */
  { readonly kind: "read"; readonly parts: ReleaseParts } | { readonly kind: "failed"; readonly message: string };
