import type { Meta } from "../../fbc/types.ts";
import type { ReadTask } from "./responseReader.ts";

/** What `ResponseThread` sends to its worker about the response with number `id`. */
export type ReadRequest =
  | { readonly kind: "open"; readonly id: number; readonly task: ReadTask }
  | { readonly kind: "push"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: "end" | "drop"; readonly id: number };

/** An object with its members as one JSON text, which keeps the text of each number. */
export interface EncodedMeta extends Omit<Meta, "blob"> {
  readonly blob: string;
}

/** What the worker responds; "unknown" for a response that was not opened in this thread. */
export type ReadResponse =
  | { readonly kind: "read"; readonly metas: readonly EncodedMeta[] }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "unknown" };
