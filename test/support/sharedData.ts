import { describe } from "vitest";
import { NO_SHARED_DATA, sharedData } from "./sharedDataFolder.ts";

export { sharedData } from "./sharedDataFolder.ts";

/** `describe` for tests on real data; without the data they are skipped, and the reason is printed. */
export function describeWithData(name: string, fn: (folder: string) => void): void {
  const folder = sharedData();
  if (folder) {
    describe(name, () => fn(folder));
    return;
  }
  console.warn(`SKIPPED ${name}: ${NO_SHARED_DATA}`);
  describe.skip(name, () => fn("/nonexistent"));
}
