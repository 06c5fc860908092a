import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { CANARY } from "../support/consoleWorld/canary.ts";
import type { Tested } from "./testedConsole.ts";

const SOON = { timeout: 20_000, interval: 100 };
/** Longer than the interval of the lines of a simulated log. */
const QUIET_MS = 3_000;

/** Declares the tests of the logs of Pods. */
export function describePodLogs(tested: Tested): void {
  test("the log of a Pod is found from the object tree, followed, paused and searched", async () => {
    await using page = await tested().browser.open();
    const { page: browser } = page;
    await page.goto(`/extensions/${tested().world.names.healthy}/objects`);
    await browser.getByRole("textbox", { name: "Search objects" }).fill("Pod");
    await browser.getByRole("treeitem", { name: /^Pod / }).first().click();
    await browser.getByRole("navigation", { name: "Views of the object" }).getByRole("link", { name: "Log" }).click();
    await expect.poll(() => readLog(browser), SOON).toContain('"line": ');
    const before = await readLastLine(browser);
    await expect.poll(() => readLastLine(browser), SOON).toBeGreaterThan(before);
    await browser.getByRole("switch", { name: "Follow" }).uncheck({ force: true });
    await sleep(QUIET_MS / 3);
    const paused = await readLastLine(browser);
    await sleep(QUIET_MS);
    expect(await readLastLine(browser)).toBe(paused);
    const search = browser.getByRole("textbox", { name: "Search in the log" });
    await search.fill("starting manager");
    await browser.getByText("1 of 1").waitFor();
    await expect.poll(() => browser.locator("mark").allInnerTexts(), SOON).toEqual(["starting manager"]);
    await search.fill("no such text");
    await browser.getByText("no match").waitFor();
    expect(await page.findViolations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  test("the log before the last restart says why a Pod crashed", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${tested().world.names.failedRollout}/objects`);
    const { page: browser } = page;
    await browser.getByRole("treeitem", { name: /^Pod / }).first().click();
    await browser.getByRole("link", { name: "Log before the last restart" }).click();
    await browser.waitForURL(/previous=1/);
    await expect.poll(() => readLog(browser), SOON).toContain("panic: runtime error: invalid memory address");
    await browser.reload();
    await expect.poll(() => readLog(browser), SOON).toContain("E cannot load the cluster certificate");
    expect(page.errors).toEqual([]);
  });

  test("a log never shows terminal escapes", async () => {
    await using page = await tested().browser.open();
    const { page: browser } = page;
    const params = new URLSearchParams({ object: await findPod(tested, CANARY.namespace), view: "log" });
    await page.goto(`/extensions/${CANARY.extension}/objects?${params.toString()}`);
    await expect.poll(() => readLog(browser), SOON).toContain("red");
    const log = await readLog(browser);
    expect(log.split("").filter((unit) => unit < " " && unit !== "\n" && unit !== "\t")).toEqual([]);
    expect(log).not.toContain("[31m");
    expect(log).not.toContain("]8;;");
    expect(page.errors).toEqual([]);
  });
}

async function findPod(tested: Tested, namespace: string): Promise<string> {
  const { items } = await tested().world.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace });
  return `v1 Pod ${namespace} ${items[0]?.metadata.name}`;
}

function readLog(page: Page): Promise<string> {
  return page.getByRole("log").innerText();
}

/** Returns the number of the last line that is shown. */
async function readLastLine(page: Page): Promise<number> {
  const numbers = [...(await readLog(page)).matchAll(/"line": (\d+)/g)].map(([, number]) => Number(number));
  return numbers.at(-1) ?? -1;
}
