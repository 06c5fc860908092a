import { expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { makeChange } from "./actionDialog.ts";
import { expectHidden, expectShown, type Tested } from "./testedConsole.ts";

const NAME = "monitoring";
const READ_CLIPBOARD = "navigator.clipboard.readText()";

/** Types a namespace, and returns the enabled buttons of the manifest in the next frame, when it is that of the earlier form. */
const CHANGE_AND_READ = `(async () => {
  const field = document.querySelector("input[id$=-namespace]");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "observability");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((resolve) => requestAnimationFrame(resolve));
  const buttons = [...document.querySelectorAll("main button")];
  return ["Apply", "Preview"].filter((label) => {
    const button = buttons.find(({ textContent }) => textContent.startsWith(label));
    return !button.disabled && button.getAttribute("aria-disabled") !== "true";
  });
})()`;

/** What the browser reports about the conflict. */
const IS_CONFLICT = /status of 409/;

/** Declares the test of an installation: from the search to an extension that works, with the version, the permissions and the YAML that the page shows. */
export function describeInstalls(tested: Tested): void {
  test("the filter for signatures finds the packages that the policy of the servers accepts only with a signature", async () => {
    const { client, systemNamespace } = tested().world;
    await using page = await tested().browser.open();
    await page.goto("/packages?text=billing&signed=true");
    await expectShown(page, "0 packages", "No package matches");
    const transports = {
      docker: { "quay.io/example/billing-operator-bundle": [{ type: "sigstoreSigned", keyPath: "/keys/example.pub" }] },
    };
    const policy = { default: [{ type: "insecureAcceptAnything" }], transports };
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: systemNamespace, name: "signatures" } };
    await client.create({ ...map, data: { "policy.json": JSON.stringify(policy) } });
    await page.goto("/packages");
    await page.page.getByRole("checkbox", { name: "Signature required" }).click();
    await expectShown(page, "1 package", "billing-operator");
    expect(page.page.url()).toContain("signed=true");
    await client.patch({ ...map, ...map.metadata }, { data: { "policy.json": "{" } }, { type: "merge" });
    await page.page.reload();
    await expectShown(page, "0 packages", "The signature policies of the cluster are unknown");
    await client.delete({ ...map, ...map.metadata });
    expect(page.errors).toEqual([]);
  });

  test("the page that installs a package links to the extension that installs it already, before and in the conflict", async () => {
    const { blockedUpgrade: name } = tested().world.names;
    await using page = await tested().browser.open();
    await page.goto("/packages/redis-operator/install");
    await expectShown(page, "The package is installed", `ClusterExtension "${name}" already installs package "redis-operator".`);
    expect(await page.findViolations()).toEqual([]);
    await page.page.getByRole("link", { name: `Open extension ${name}` }).click();
    await page.page.waitForURL(`**/extensions/${name}`);
    await page.page.goBack();
    await page.page.locator("main").getByRole("link", { name, exact: true }).click();
    await page.page.waitForURL(`**/extensions/${name}`);
    expect(page.errors.filter((error) => !IS_CONFLICT.test(error))).toEqual([]);
  });

  test("a person finds a package, chooses a version, checks the configuration and the preview, and installs exactly the shown manifest", async () => {
    await using page = await tested().browser.open();
    const { page: browser } = page;
    await page.goto("/packages");
    await browser.keyboard.press("/");
    await browser.keyboard.type("alerts");
    await browser.getByText("1 package", { exact: true }).waitFor();
    await browser.getByRole("link", { name: "Monitoring Operator" }).click();
    await browser.getByRole("link", { name: "Install", exact: true }).click();
    await expectShown(page, "Installs monitoring-operator.v1.0.0, version 1.0.0, from catalog community-operators.");

    await browser.getByRole("combobox", { name: "Version", exact: true }).selectOption("0.71.1");
    await browser.getByRole("checkbox", { name: "Also install later versions" }).uncheck();
    await browser.getByRole("textbox", { name: "Name of the ClusterExtension" }).fill(NAME);
    await expectShown(page, "Installs monitoring-operator.v0.71.1, version 0.71.1, from catalog community-operators.");
    expect(await browser.evaluate(CHANGE_AND_READ)).toEqual([]);
    await expectShown(page, "Installs monitoring-operator.v0.71.1, version 0.71.1, from catalog community-operators.");

    await browser.getByRole("button", { name: "YAML", exact: true }).click();
    const configuration = browser.getByRole("textbox", { name: "Configuration as YAML" });
    await configuration.fill("watchNamespace: [5]");
    await expectShown(page, "The configuration is invalid");
    await expect.poll(() => browser.getByRole("button", { name: "Apply" }).getAttribute("aria-disabled")).toBe("true");
    await configuration.fill("");
    await expectHidden(page, "The configuration is invalid");

    await browser.getByRole("button", { name: /^\d+ permissions$/ }).click();
    await expectShown(page, `ServiceAccount observability/olmv1-extension-${NAME} gets these permissions to install the bundle:`);
    await browser.getByRole("button", { name: "Preview" }).click();
    await expectShown(
      page,
      "Create Deployment observability/monitoring-operator-controller-manager",
      "permission-manager creates namespace",
    );
    expect(await page.mainText()).not.toContain("would reject");
    expect(await page.findViolations()).toEqual([]);

    const manifest = browser.getByRole("figure", { name: /^Manifest for Git/ });
    await manifest.getByRole("button", { name: "Copy" }).click();
    const copied = parseYaml(await browser.evaluate<string>(READ_CLIPBOARD));
    expect(copied).toMatchObject({
      metadata: { name: NAME },
      spec: { namespace: "observability", source: { catalog: { version: "0.71.1" } } },
    });
    const change = await makeChange(tested, page, browser.getByRole("button", { name: "Apply" }), { confirm: "Apply" });
    expect(change.title).toContain(NAME);
    expect(change.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([copied]);

    await browser.waitForURL(`**/extensions/${NAME}`);
    await expectShown(page, `${NAME} Ready`, "monitoring-operator.v0.71.1 (0.71.1)");
    const found = await tested().world.client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: NAME });
    expect(found?.status?.install).toMatchObject({ bundle: { version: "0.71.1" }, namespace: "observability" });
    expect(page.errors).toEqual([]);
  });
}
