import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe } from "vitest";

/**
 * The folder of real catalogs, bundles and expected results, or undefined where this checkout has none.
 * `OLMV1_DATA` names it; otherwise the folder `shared/data` beside the project.
 */
export function sharedData(): string | undefined {
  const folder = resolve(process.env["OLMV1_DATA"] ?? join(import.meta.dirname, "../../../shared/data"));
  return existsSync(join(folder, "README.md")) ? folder : undefined;
}

/** `describe` for tests on real data; without the data they are skipped, and the reason is printed. */
export function describeWithData(name: string, fn: (folder: string) => void): void {
  const folder = sharedData();
  if (folder) {
    describe(name, () => fn(folder));
    return;
  }
  console.warn(`SKIPPED ${name}: the folder of real data is not here (set OLMV1_DATA to its path)`);
  describe.skip(name, () => fn("/nonexistent"));
}
