import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { ConsoleBrowser } from "./consoleBrowser.ts";
import { RunningConsole } from "./runningConsole.ts";
import { expectShown, type Tested } from "./testedConsole.ts";

const READ: readonly PolicyRule[] = [
  { apiGroups: ["olm.operatorframework.io"], resources: ["clusterextensions", "clustercatalogs"], verbs: ["get", "list", "watch"] },
];

/** Declares what users without some permissions see: the reason at each part and each button, and no change. */
export function describeUsers(tested: Tested, chromium: string): void {
  describe("a read-only console", () => {
    const opened = openConsole(tested, chromium, { args: ["--read-only"] });

    test("disables the buttons that change the cluster, with the reason", async () => {
      await using page = await opened().open();
      await page.goto(`/extensions/${tested().world.names.failedRollout}`);
      expect(await page.page.getByRole("banner").innerText()).toContain("Read-only");
      await expectDisabled(page.page.getByRole("button", { name: /^Roll back/ }), "The console is read-only: it rejects all changes.");
      expect(await page.findViolations()).toEqual([]);
      expect(page.errors).toEqual([]);
    });
  });

  describe("a user who may only read extensions and catalogs", () => {
    const opened = openConsole(tested, chromium, { account: "reader", rules: READ });

    test("sees what needs attention, and the buttons disabled with the missing permission", async () => {
      await using page = await opened().open();
      await page.goto("/");
      await expectShown(page, "Unhealthy", "olmv1 tree kafka");
      await page.goto(`/extensions/${tested().world.names.drift}`);
      const missing = "You lack a permission: patch clusterextensions.olm.operatorframework.io grafana";
      await expectDisabled(page.page.getByRole("button", { name: "Correct drift" }), missing);
      expect(await page.findViolations()).toEqual([]);
    });

    test("sees why parts of a page cannot be shown", async () => {
      await using page = await opened().open();
      await page.goto(`/extensions/${tested().world.names.failedRollout}`);
      await expectShown(page, /cannot list resource "events"|The Events cannot be read/);
      await page.goto(`/extensions/${tested().world.names.healthy}/history`);
      await expectShown(page, /secrets/);
      expect(await page.findViolations()).toEqual([]);
    });
  });

  describe("a user without permissions", () => {
    const opened = openConsole(tested, chromium, { account: "stranger", rules: [] });

    test("sees on each page that the lists are forbidden, and never that everything works", async () => {
      await using page = await opened().open();
      for (const path of ["/", "/extensions"]) {
        await page.goto(path);
        await expectShown(page, "You may not list ClusterExtensions. You may not list ClusterCatalogs.");
        expect(await page.mainText()).not.toMatch(/Everything works|No extensions yet|No extension is installed/);
      }
      expect(await page.findViolations()).toEqual([]);
    });
  });
}

/** Checks that a button says why it is disabled, and opens no dialog. */
async function expectDisabled(button: Locator, reason: string): Promise<void> {
  await expect.poll(() => button.getAttribute("aria-disabled")).toBe("true");
  const described = await button.getAttribute("aria-describedby");
  expect(await button.page().locator(`[id="${described}"]`).textContent()).toBe(reason);
  await button.click({ force: true });
  await button.page().waitForTimeout(200);
  expect(await button.page().getByRole("dialog").count()).toBe(0);
}

interface ConsoleUser {
  readonly args?: readonly string[];
  /** Name of a ServiceAccount that uses the console; absent for the administrator. */
  readonly account?: string;
  readonly rules?: readonly PolicyRule[];
}

/** Runs another console for the tests of a `describe`. @returns its browser, while the tests run */
function openConsole(tested: Tested, chromium: string, { args = [], account, rules = [] }: ConsoleUser): () => ConsoleBrowser {
  const started = new AsyncDisposableStack();
  let browser: ConsoleBrowser | undefined;
  beforeAll(async () => {
    const { cluster, world } = tested();
    const folder = await mkdtemp(join(tmpdir(), "olmv1-console-user-"));
    started.defer(() => rm(folder, { recursive: true, force: true }));
    const kubeconfig = account === undefined ? world.kubeconfig : join(folder, "kubeconfig");
    if (account !== undefined) await writeFile(kubeconfig, await buildKubeconfig(tested, account, rules));
    const console = started.use(
      await RunningConsole.start(cluster.programs, { ...world, kubeconfig, registriesConf: world.registriesConf }, args),
    );
    browser = started.use(await ConsoleBrowser.signIn(chromium, console));
  });
  afterAll(() => started.disposeAsync());
  return () => {
    if (!browser) throw new Error("the console does not run");
    return browser;
  };
}

/** Returns the administrator's kubeconfig with the token of a ServiceAccount in place of the certificate. */
async function buildKubeconfig(tested: Tested, account: string, rules: readonly PolicyRule[]): Promise<string> {
  const { client, kubeconfig } = tested().world;
  await serviceAccount(client, "default", account, rules);
  const token = await new ServiceAccountTokens(client).tokenFor("default", account)();
  const config = parseYaml(await readFile(kubeconfig, "utf8")) as { users: { name: string; user: object }[] };
  return JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { token } })) });
}
