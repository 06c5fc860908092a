import { describe, expect, test } from "vitest";
import { CANARY } from "../support/consoleWorld/canary.ts";
import { CATALOGS } from "../support/consoleWorld/catalogs.ts";
import { CANARY_MEMBER } from "../support/consoleWorld/hostileTexts.ts";
import { selectCases } from "../support/manyRuns.ts";
import { expectShown, type Tested } from "./testedConsole.ts";

const PHONE = { width: 375, height: 800 };
const HAS_RUN = `"${CANARY_MEMBER}" in window`;
/** Elements that the console never creates, and that a payload would. */
const INJECTED = [
  "img[src=x]",
  "main script",
  "iframe",
  "object",
  "embed",
  "main style",
  "main animate",
  "[onerror]",
  "[onload]",
  "[onfocus]",
  "[autofocus][x]",
  "a[href^='javascript:' i]",
  "a[href^='data:' i]",
].join(", ");
/**
 * Returns texts that turn the direction of other texts on the page: a text with an override must be the only text of an element that isolates it, or
 * of a block.
 */
const FIND_LEAKS = `(() => {
  const leaks = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!/[\\u202a-\\u202e\\u2066-\\u2069]/.test(node.data)) continue;
    let element = node.parentElement;
    const isIsolating = (one) => getComputedStyle(one).display !== "inline" || /isolate|plaintext/.test(getComputedStyle(one).unicodeBidi);
    while (element && !isIsolating(element)) element = element.parentElement;
    const others = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let other = others.nextNode(); other; other = others.nextNode()) {
      let owner = other.parentElement;
      while (owner !== element && !isIsolating(owner)) owner = owner.parentElement;
      if (other !== node && owner === element && other.data.trim() !== "") leaks.push(element.outerHTML.slice(0, 120) + " => " + other.data.slice(0, 60));
    }
  }
  return leaks;
})()`;

const EXTENSION = `/extensions/${CANARY.extension}`;
const object = (kind: string, apiVersion: string, name: string): string =>
  new URLSearchParams({ object: `${apiVersion} ${kind} ${CANARY.namespace} ${name}` }).toString();
const PAGES = [
  "/",
  "/extensions",
  EXTENSION,
  `${EXTENSION}/objects`,
  `${EXTENSION}/objects?${object("ConfigMap", "v1", "canary-notes")}&view=yaml`,
  `${EXTENSION}/objects?${object("Deployment", "apps/v1", "canary-operator")}`,
  `${EXTENSION}/why`,
  `${EXTENSION}/plan`,
  `${EXTENSION}/permissions`,
  `${EXTENSION}/history`,
  `${EXTENSION}/uninstall`,
  "/packages?text=canary",
  `/packages/canary-operator?catalog=${CATALOGS.hostile}`,
  `/packages/canary-icon-operator/install?catalog=${CATALOGS.hostile}`,
  `/catalogs/${CATALOGS.hostile}`,
  "/installation",
];

/** Declares that hostile texts in every field of content and status are shown as texts: nothing runs, nothing is requested, and nothing moves. */
export function describeHostileContent(tested: Tested): void {
  describe.each(selectCases(PAGES, "pages with hostile texts"))("page %s", (path) => {
    test("shows hostile texts as texts", async () => {
      await using page = await tested().browser.open();
      const { page: browser } = page;
      await page.goto(path);
      await expectShown(page, /canary/);
      const closed = browser.locator("main :is(button[aria-expanded=false], details:not([open]) > summary):visible");
      for (const one of (await closed.all()).slice(0, 12)) await one.click({ timeout: 2_000 }).catch(() => undefined);
      await page.ready();
      for (const width of [1280, PHONE.width]) {
        await browser.setViewportSize({ ...PHONE, width });
        expect(await page.measureOverflow(), `pixels beyond a window of ${width} pixels`).toBeLessThanOrEqual(0);
      }
      expect(await browser.evaluate<boolean>(HAS_RUN), "a payload ran").toBe(false);
      expect(await browser.locator(INJECTED).evaluateAll((all) => all.map((one) => one.outerHTML.slice(0, 200)))).toEqual([]);
      expect(await browser.evaluate<string[]>(FIND_LEAKS), "texts whose direction another text changes").toEqual([]);
      expect(page.errors).toEqual([]);
    });
  });
}
