import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { listWrites } from "./actionDialog.ts";
import { expectShown, type Tested } from "./testedConsole.ts";

const SEQUENCES = [
  ["e", "/extensions"],
  ["c", "/catalogs"],
  ["p", "/packages"],
  ["d", "/dependencies"],
  ["u", "/cluster-upgrade"],
  ["i", "/installation"],
  ["a", "/"],
] as const;
/** More than the number of elements in a dialog. */
const TABS = 25;
const FOCUSED_NAME = "document.activeElement?.textContent";
const IS_FOCUS_IN_DIALOG = "document.activeElement?.closest('[role=dialog]') !== null";

/** Declares the tests of the keyboard, and of what the address and the back button restore. */
export function describeKeyboard(tested: Tested): void {
  test("the keys g and a letter open the pages, except while a field has the focus", async () => {
    await using page = await tested().browser.open();
    await page.goto("/");
    for (const [key, path] of SEQUENCES) {
      await press(page.page, "g", key);
      await page.page.waitForURL((url) => url.pathname === path);
    }
    await page.goto("/extensions");
    await press(page.page, "/", "g", "i");
    await page.page.waitForURL("**/extensions?q=gi");
  });

  test("the key ? shows the shortcuts, and Escape closes them", async () => {
    await using page = await tested().browser.open();
    await page.goto("/extensions");
    await press(page.page, "?");
    const dialog = page.page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await dialog.getByText("Go to Extensions").waitFor();
    expect(await page.findViolations()).toEqual([]);
    await press(page.page, "Escape");
    await dialog.waitFor({ state: "detached" });
  });

  test("the list of extensions is filtered, sorted and opened with the keyboard, and the back button restores it", async () => {
    await using page = await tested().browser.open();
    await page.goto("/extensions");
    const { page: browser } = page;
    await press(browser, "/");
    await browser.keyboard.type("operator");
    await browser.waitForURL("**/extensions?q=operator");
    await browser.getByRole("button", { name: "State" }).first().focus();
    await press(browser, "Enter");
    const states = browser.getByRole("checkbox");
    await states.first().waitFor();
    const steps = (await states.evaluateAll((all) => all.map((one) => one.closest("li")?.innerText))).findIndex((text) =>
      text?.startsWith("Ready"),
    );
    await press(browser, ...Array.from({ length: steps }, () => "ArrowDown"), " ", "Escape");
    await browser.waitForURL("**/extensions?q=operator&state=Ready");
    const rows = browser.locator("[data-row-link]");
    await expect.poll(() => rows.allInnerTexts()).toEqual(["gateway", "grafana", "logging", "object-storage", "redis"]);
    await browser.getByRole("columnheader", { name: "Name" }).getByRole("button").focus();
    await press(browser, "Enter");
    await expect.poll(() => rows.allInnerTexts()).toEqual(["redis", "object-storage", "logging", "grafana", "gateway"]);
    const filtered = browser.url();
    await rows.first().focus();
    await press(browser, "ArrowDown", "ArrowDown", "ArrowUp");
    expect(await browser.evaluate<string>(FOCUSED_NAME)).toBe("object-storage");
    await press(browser, "Enter");
    await browser.waitForURL("**/extensions/object-storage");
    await page.ready();
    await browser.getByRole("link", { name: "Objects", exact: true }).click();
    await browser.waitForURL("**/extensions/object-storage/objects");
    await browser.goBack();
    await browser.waitForURL("**/extensions/object-storage");
    await browser.goBack();
    await browser.waitForURL(filtered);
    await expect.poll(() => rows.allInnerTexts()).toEqual(["redis", "object-storage", "logging", "grafana", "gateway"]);
    await browser.reload();
    await expect.poll(() => rows.allInnerTexts()).toEqual(["redis", "object-storage", "logging", "grafana", "gateway"]);
    expect(await browser.getByRole("textbox", { name: "Search extensions" }).inputValue()).toBe("operator");
    expect(page.errors).toEqual([]);
  });

  test("arrow keys move in the object tree, Enter opens the details of an object, and Escape closes them", async () => {
    await using page = await tested().browser.open();
    const { failedRollout } = tested().world.names;
    await page.goto(`/extensions/${failedRollout}/objects`);
    const { page: browser } = page;
    const pod = browser.getByRole("treeitem", { name: /^Pod / });
    await pod.waitFor();
    await browser.getByRole("treeitem").first().focus();
    await press(browser, "ArrowDown");
    const deployment = browser.locator('[data-node$="Deployment/kafka-operator-system/kafka-cluster-operator"]');
    await press(browser, "ArrowLeft");
    await pod.waitFor({ state: "detached" });
    expect(await deployment.getAttribute("aria-expanded")).toBe("false");
    await press(browser, "ArrowRight");
    await pod.waitFor();
    await press(browser, "ArrowRight", "ArrowRight");
    expect(await browser.evaluate<string>(FOCUSED_NAME)).toContain("Pod");
    await press(browser, "Enter");
    await browser.getByRole("region", { name: /^Details of Pod / }).waitFor();
    expect(new URL(browser.url()).searchParams.get("object")).toMatch(/^v1 Pod kafka-operator-system kafka-cluster-operator-/);
    await expectShown(page, "CrashLoopBackOff");
    await browser
      .getByRole("region", { name: /^Details of Pod / })
      .getByRole("button", { name: "Close the details" })
      .focus();
    await press(browser, "Escape");
    await browser.waitForURL("**/objects");
    expect(page.errors).toEqual([]);
  });

  test("a dialog keeps the focus, Escape closes it without a change, and the focus returns", async () => {
    await using page = await tested().browser.open();
    const { page: browser } = page;
    const writes = await listWrites(tested);
    await page.goto(`/extensions/${tested().world.names.drift}`);
    const button = browser.getByRole("button", { name: "Correct drift" });
    await button.focus();
    await press(browser, "Enter");
    const dialog = browser.getByRole("dialog");
    await dialog.getByRole("heading", { name: "What happens" }).waitFor();
    for (let i = 0; i < TABS; i++) {
      await press(browser, i % 3 === 2 ? "Shift+Tab" : "Tab");
      expect(await browser.evaluate<boolean>(IS_FOCUS_IN_DIALOG)).toBe(true);
    }
    expect(await page.findViolations()).toEqual([]);
    await press(browser, "Escape");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => browser.evaluate<string>(FOCUSED_NAME)).toBe("Correct drift");
    expect(await listWrites(tested)).toEqual(writes);
    expect(page.errors).toEqual([]);
  });
}

async function press({ keyboard }: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await keyboard.press(key);
}
