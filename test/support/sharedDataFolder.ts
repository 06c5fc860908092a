import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** Why something that needs real data does not run. */
export const NO_SHARED_DATA = "the folder of real data is not here (set OLMV1_DATA to its path)";

/**
 * The folder of real catalogs, bundles and expected results, or undefined where this checkout has none.
 * `OLMV1_DATA` names it; otherwise the folder `shared/data` beside the project.
 */
export function sharedData(): string | undefined {
  const folder = resolve(process.env["OLMV1_DATA"] ?? join(import.meta.dirname, "../../../shared/data"));
  return existsSync(join(folder, "README.md")) ? folder : undefined;
}
