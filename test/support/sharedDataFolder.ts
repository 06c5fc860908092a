import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** Why a test or measurement on real data does not run. */
export const NO_SHARED_DATA = "the folder of real data does not exist (set OLMV1_DATA to its path)";

/**
 * The folder of real catalogs, bundles and expected results, or undefined if this checkout has none.
 * `OLMV1_DATA` names it; the default is the folder `shared/data` next to the project.
 */
export function sharedData(): string | undefined {
  const folder = resolve(process.env["OLMV1_DATA"] ?? join(import.meta.dirname, "../../../shared/data"));
  return existsSync(join(folder, "README.md")) ? folder : undefined;
}
