import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { ConsoleBrowser } from "./consoleBrowser.ts";
import { RunningConsole } from "./runningConsole.ts";
import { expectHidden, expectShown, type Tested } from "./testedConsole.ts";

const CONSOLE_LOST = "The console does not respond. The page shows its last state and reconnects automatically.";
const CLUSTER_LOST = /API server 127\.0\.0\.1:\d+ does not respond\./;
const SHOWS_EARLIER = "The page shows the state from before, and reconnects automatically. Disconnected since";

/** A kubeconfig of an API server that does not run. */
const UNREACHABLE = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "away",
  contexts: [{ name: "away", context: { cluster: "away", user: "away" } }],
  clusters: [{ name: "away", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "away", user: { token: "token" } }],
};

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

    test("the page says that it has not loaded anything yet when the API server did not respond from the start", async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "olmv1-console-"));
      const kubeconfig = join(folder.path, "kubeconfig");
      await writeFile(kubeconfig, JSON.stringify(UNREACHABLE));
      const { cluster, world } = tested();
      await using console = await RunningConsole.start(cluster.programs, { kubeconfig, registriesConf: world.registriesConf });
      await using browser = await ConsoleBrowser.signIn(chromium, console);
      for (const path of ["", "extensions", "catalogs"]) {
        await using page = await browser.open();
        await page.page.goto(console.url + path);
        await expectShown(page, "API server 127.0.0.1:1 does not respond.", "The page has not loaded anything yet");
        const text = await page.mainText();
        for (const other of ["ECONNREFUSED", "0 extensions", "fine", "No catalog"]) expect(text).not.toContain(other);
        await page.page.getByRole("button", { name: "Details" }).click();
        await expectShown(page, "ECONNREFUSED");
      }
    });

    test("the page says that the API server does not respond, keeps its content, and resumes live updates", async () => {
      await using page = await tested().browser.open();
      await page.goto("/extensions");
      apiServer().stop();
      await expectShown(page, CLUSTER_LOST, SHOWS_EARLIER, tested().world.names.failedRollout);
      expect(await page.findViolations()).toEqual([]);
      await page.page.getByRole("link", { name: tested().world.names.deprecated, exact: true }).click();
      await expectShown(page, CLUSTER_LOST, "The Logging Operator reached its end of support");
      await apiServer().start();
      await expectHidden(page, SHOWS_EARLIER);
      await tested().world.client.patch(
        { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: tested().world.names.deprecated },
        { spec: { suspend: true } },
        { type: "merge" },
      );
      await expectShown(page, "suspended");
    });
  });
}
