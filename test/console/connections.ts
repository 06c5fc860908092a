import { describe, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { ConsoleBrowser } from "./consoleBrowser.ts";
import { RunningConsole } from "./runningConsole.ts";
import { expectHidden, expectShown, type Tested } from "./testedConsole.ts";

const CONSOLE_LOST = "The console does not respond. The page shows its last state and reconnects automatically.";
const CLUSTER_LOST = "The API server does not respond. The page shows the state from before.";

/** Stops the API server of the tests, and starts it again. */
export interface ApiServer {
  stop(): void;
  start(): Promise<void>;
}

/** Declares what pages show while the console or the API server does not respond, and afterwards. */
export function describeConnections(tested: Tested, chromium: string, apiServer: () => ApiServer): void {
  describe("without a connection", () => {
    test("the page says that the console stopped, and after a restart how to sign in", async () => {
      const { cluster, world } = tested();
      const first = await RunningConsole.start(cluster.programs, world);
      await using browser = await ConsoleBrowser.signIn(chromium, first);
      await using page = await browser.open();
      await page.goto("/extensions");
      await first[Symbol.asyncDispose]();
      await expectShown(page, CONSOLE_LOST, world.names.failedRollout);
      expect(await page.findViolations()).toEqual([]);
      await using second = await RunningConsole.start(cluster.programs, world, ["--port", new URL(first.url).port]);
      expect(second.url).toBe(first.url);
      await expectShown(page, "You are signed out", "Open the link that olmv1 ui printed.");
      await expectHidden(page, CONSOLE_LOST);
    });

    test("the page says that the API server does not respond, keeps its content, and resumes live updates", async () => {
      await using page = await tested().browser.open();
      await page.goto("/extensions");
      apiServer().stop();
      await expectShown(page, CLUSTER_LOST, "Disconnected since", tested().world.names.failedRollout);
      expect(await page.findViolations()).toEqual([]);
      await page.page.getByRole("link", { name: tested().world.names.deprecated, exact: true }).click();
      await expectShown(page, CLUSTER_LOST, "The Logging Operator reached its end of support");
      await apiServer().start();
      await expectHidden(page, CLUSTER_LOST);
      await tested().world.client.patch(
        { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: tested().world.names.deprecated },
        { spec: { suspend: true } },
        { type: "merge" },
      );
      await expectShown(page, "suspended");
    });
  });
}
