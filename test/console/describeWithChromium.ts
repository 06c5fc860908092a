import { describe } from "vitest";
import { findChromium } from "../support/chromium.ts";

/** `describe` for tests in a browser. They are skipped if there is none, except in CI, where they fail. */
export function describeWithChromium(name: string, fn: (chromium: string) => void): void {
  const chromium = findChromium();
  const isSkipped = chromium === undefined && process.env["CI"] !== "true";
  if (isSkipped) console.log(`skipped: ${name} needs chromium on the PATH, or its path in OLMV1_CHROMIUM`);
  describe.skipIf(isSkipped)(name, () => fn(chromium ?? "chromium"));
}
