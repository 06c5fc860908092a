import { CatalogCheck } from "../fbc/checks/catalogCheck.ts";
import { opmError } from "../fbc/checks/opmError.ts";
import type { Meta } from "../fbc/types.ts";

/** The text with which opm refuses these objects as a catalog; undefined where it does not. */
export function catalogFault(metas: readonly Meta[]): string | undefined {
  const check = new CatalogCheck();
  for (const [i, meta] of metas.entries()) check.add({ ...meta, place: { file: "", document: i + 1, line: 1 } });
  return opmError(check.end().findings);
}
