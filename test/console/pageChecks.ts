import { describe, expect, test } from "vitest";
import { selectCases } from "../support/manyRuns.ts";
import { expectShown, type TestedConsole } from "./testedConsole.ts";

/** A page, and texts that a person must see on it in each layout. */
export interface CheckedPage {
  readonly path: string;
  readonly shows: readonly string[];
  /** Path of a request that may be answered with 404, because the page sends it before it knows whether the object exists. */
  readonly mayBeMissing?: string;
}

const PHONE = { width: 375, height: 800 };

/**
 * Declares the test that each page must pass: opened by its address it shows its texts, with tables that fit, without violations of axe, and loads only
 * the files that its HTML refers to; after a reload in the dark theme on a phone it shows the same, also without violations, and is not wider than the
 * window; no errors, and no requests to other servers. Does not change the theme of an open page, which costs the browser seconds of CPU time.
 */
export function describePages(pages: readonly CheckedPage[], tested: () => Pick<TestedConsole, "browser">): void {
  describe.each(selectCases(pages, "pages"))("page $path", ({ path, shows, mayBeMissing }) => {
    test("has its content, tables that fit, both themes, a phone layout, no accessibility violations, and no errors", async () => {
      await using page = await tested().browser.open();
      await page.goto(path);
      await expectShown(page, ...shows);
      // Browsers do not send the fragment, so the server does not know the page.
      if (!page.page.url().includes("#")) expect(await page.findLateFiles(), "files that the HTML does not refer to").toEqual([]);
      expect(await page.measureTableOverflow(), "pixels of a table beyond its frame").toBe(0);
      expect(await page.findViolations(), "violations in the light theme").toEqual([]);
      await page.useTheme("dark");
      await page.page.setViewportSize(PHONE);
      await page.page.reload();
      await page.ready();
      await expectShown(page, ...shows);
      expect(await page.findViolations(), "violations in the dark theme on a phone").toEqual([]);
      expect(await page.measureOverflow(), "pixels beyond the window").toBeLessThanOrEqual(0);
      expect(page.errors.filter((text) => !(text.includes("404") && text.endsWith(`(${mayBeMissing})`)))).toEqual([]);
    });
  });
}
