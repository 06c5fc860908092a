import { createHash } from "node:crypto";
import type { ObjectMeta } from "../../api/k8s.ts";
import { canonicalJson } from "../../golang/json.ts";
import { appliedFields } from "../../release/managedFields.ts";

/** How an object was when it was last found to be as it should: enough to tell from metadata alone whether it still is. */
export interface Mark {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  /** Digest of the fields that our apply owns; undefined where the API server notes none. */
  readonly fields: string | undefined;
}

/** Metadata of an object as a watch tells it, or that there was none at a resourceVersion. */
export type Sighting =
  | { readonly kind: "there"; readonly metadata: ObjectMeta }
  | { readonly kind: "gone"; readonly resourceVersion: string };

/** The mark of an object that is as it should be. */
export function markOf(metadata: ObjectMeta): Mark {
  const { uid = "", resourceVersion = "", generation } = metadata;
  const fields = appliedFields(metadata);
  const digest = fields && createHash("sha256").update(canonicalJson(fields)).digest("base64url").slice(0, 22);
  return { uid, resourceVersion, generation, fields: digest };
}

/**
 * Whether what was seen may be drift, given how the object should be; the first row that matches decides:
 *
 * | seen                                                           | may be drift |
 * | it should not be there, or nobody knows how it should be       | yes          |
 * | something as old as the mark, or older: our own write          | no           |
 * | it is gone                                                     | yes          |
 * | it is on its way out: it cannot be put back before it is gone  | no           |
 * | another object under its name                                  | yes          |
 * | fields that our apply owns are noted                           | those differ |
 * | the kind has a generation                                      | it differs   |
 * | anything else                                                  | yes          |
 */
export function mayBeDrift(seen: Sighting, mark: Mark | undefined): boolean {
  if (!mark) return true;
  const at = seen.kind === "gone" ? seen.resourceVersion : (seen.metadata.resourceVersion ?? "");
  if (!isNewer(at, mark.resourceVersion)) return false;
  if (seen.kind === "gone") return true;
  if (seen.metadata.deletionTimestamp !== undefined) return false;
  const now = markOf(seen.metadata);
  if (now.uid !== mark.uid) return true;
  if (mark.fields !== undefined) return now.fields !== mark.fields;
  return now.generation === undefined || now.generation !== mark.generation;
}

/** Decimal numbers are compared as such, which the API server has promised since 1.35 and kept before; others by being different. */
export function isNewer(a: string, b: string): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

function isDecimal(text: string): boolean {
  return /^[1-9]\d*$/.test(text);
}
