import { describe, expect, test } from "vitest";
import type { ConsoleBrowser } from "./consoleBrowser.ts";

/** A page, and a text that a person must see on it. */
export interface CheckedPage {
  readonly path: string;
  readonly shows: string;
}

const PHONE = { width: 375, height: 800 };

/** Declares the tests that each page must pass: content, deep link, reload, both themes without violations of axe, a phone, and no errors. */
export function describePages(pages: readonly CheckedPage[], browser: () => ConsoleBrowser): void {
  describe.each(pages)("page $path", ({ path, shows }) => {
    test.each(["light", "dark"] as const)("has no accessibility violations and no errors in the %s theme", async (theme) => {
      await using page = await browser().open({ theme });
      await page.goto(path);
      expect(await page.mainText()).toContain(shows);
      expect(await page.findViolations()).toEqual([]);
      expect(page.errors).toEqual([]);
    });

    test("shows the same after a reload, and fits a phone", async () => {
      await using page = await browser().open(PHONE);
      await page.goto(path);
      await page.page.reload();
      await page.ready();
      expect(await page.mainText()).toContain(shows);
      expect(await page.measureOverflow()).toBeLessThanOrEqual(0);
      expect(page.errors).toEqual([]);
    });
  });
}
