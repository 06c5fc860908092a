import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConsoleBrowser } from "../console/consoleBrowser.ts";
import { describePages } from "../console/pageChecks.ts";
import { RunningConsole } from "../console/runningConsole.ts";
import { findChromium } from "../support/chromium.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ConsoleWorld } from "../support/consoleWorld.ts";

const CHROMIUM = findChromium();
const PAGES = [
  { path: "/", shows: ["Needs attention"] },
  { path: "/extensions", shows: ["object-storage"] },
  { path: "/installation", shows: ["Installation"] },
  { path: "/no-such-page", shows: ["Page not found"] },
];

describe.skipIf(CHROMIUM === undefined && process.env["CI"] !== "true")("the console in a browser", () => {
  describeWithPrivateCluster("with extensions in different states", (cluster) => {
    const started = new AsyncDisposableStack();
    let world: ConsoleWorld;
    let browser: ConsoleBrowser;

    beforeAll(async () => {
      world = started.use(await ConsoleWorld.start(cluster));
      const console = started.use(await RunningConsole.start(cluster.programs, world));
      browser = started.use(await ConsoleBrowser.signIn(CHROMIUM ?? "chromium", console));
    });
    afterAll(() => started.disposeAsync());

    describePages(PAGES, () => ({ browser }));

    test("the start page names each extension in trouble, and not the healthy ones", async () => {
      await using page = await browser.open();
      await page.goto("/");
      const text = await page.mainText();
      const { healthy, ...troubled } = world.names;
      for (const name of Object.values(troubled)) expect(text).toContain(name);
      expect(text).not.toContain(`${healthy} Ready`);
    });

    test("the keys g e open the list of extensions when no field has the focus", async () => {
      await using page = await browser.open();
      await page.goto("/");
      await page.page.keyboard.press("g");
      await page.page.keyboard.press("e");
      await page.page.waitForURL("**/extensions");
    });
  });
});
