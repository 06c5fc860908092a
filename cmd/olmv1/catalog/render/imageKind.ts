import { TerminalError } from "../../../../pkg/errors/errors.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { CONFIG_DIR_LABEL } from "../../../../pkg/oci/pull/imageFilter.ts";

const BUNDLE_LABEL = "operators.operatorframework.io.bundle.package.v1";
const DATABASE_LABEL = "operators.operatorframework.io.index.database.v1";

/** What an image holds, and where. */
export interface ImageKind {
  readonly kind: "catalog" | "bundle";
  readonly root: string;
}

/**
 * What an image holds, as its labels say; the first that is known counts.
 * @throws TerminalError for an index with a database, and for labels that do not say.
 * @see catalog-and-resolution.md 5.7
 */
export function imageKind(labels: Readonly<Record<string, string>>, ref: string): ImageKind {
  const root = labels[CONFIG_DIR_LABEL];
  if (root !== undefined) return { kind: "catalog", root };
  if (labels[BUNDLE_LABEL] !== undefined) return { kind: "bundle", root: "" };
  const refused = (why: string): Error => new TerminalError("Blocked", `render ${goQuote(ref)}: ${why}`);
  if (labels[DATABASE_LABEL] !== undefined)
    throw refused("sqlite-based index images are no longer supported, migrate to a file-based catalog: not allowed");
  const found = Object.entries(labels).map(([key, value]) => `  ${key}=${value}`);
  if (found.length === 0) throw refused("image type could not be determined: image has no labels");
  throw refused(`image type could not be determined, found labels\n${found.sort().join("\n")}`);
}
