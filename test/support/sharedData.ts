import { describe, test } from "vitest";
import { NO_SHARED_DATA, sharedData } from "./sharedDataFolder.ts";

/**
 * `describe` for tests on real data. Without the data, `fn` is not called: one skipped test represents all of them, and the reason is printed.
 */
export function describeWithData(name: string, fn: (folder: string) => void): void {
  const folder = sharedData();
  if (folder) {
    describe(name, () => fn(folder));
    return;
  }
  console.warn(`SKIPPED ${name}: ${NO_SHARED_DATA}`);
  describe(name, () => test.skip("tests need the folder of real data", () => undefined));
}
