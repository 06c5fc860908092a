import { describe, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE, API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { SeededState } from "../support/consoleWorld/extensions.ts";
import { eventually } from "../support/eventually.ts";
import { makeChange, type ShownChange } from "./actionDialog.ts";
import type { ConsolePage } from "./consoleBrowser.ts";
import { expectHidden, expectShown, type Tested } from "./testedConsole.ts";

/** What the browser reports while the page of a deleted extension still asks for it. */
const IS_GONE = /status of 404/;

/**
 * Declares that a person repairs the extensions that can be repaired from the console. Each test changes its own extension: it finds the button on
 * the page, checks the requests of the dialog, and then the cluster and the page, which is not loaded again.
 */
export function describeRepairs(tested: Tested): void {
  const nameOf = (state: SeededState): string => tested().world.names[state];
  const get = async (state: SeededState): Promise<ClusterExtension> => {
    const found = await tested().world.client.get<ClusterExtension>({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      name: nameOf(state),
    });
    if (!found) throw new Error(`ClusterExtension ${nameOf(state)} does not exist`);
    return found;
  };
  const buttonOf = ({ page }: ConsolePage, name: string | RegExp) => page.locator("main").getByRole("button", { name });

  test("the approval of a plan upgrades the extension", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("pendingApproval")}/plan`);
    await expectShown(page, "3 to create");
    const digest = (await get("pendingApproval")).status?.plan?.digest;
    const change = await makeChange(tested, page, buttonOf(page, /^Approve/), { confirm: "Approve" });
    expect(change.title).toContain("postgres");
    expect(readBody(change)).toEqual({ metadata: expect.objectContaining({ annotations: { [ANNOTATION_APPROVE]: digest } }) });
    await expectShown(page, "postgres Ready", "postgres-operator.v1.1.0 (1.1.0)");
    expect((await get("pendingApproval")).status?.install?.bundle.version).toBe("1.1.0");
    expect(page.errors).toEqual([]);
  });

  test("a rollback replaces the version whose Pods crash", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("failedRollout")}`);
    const change = await makeChange(tested, page, buttonOf(page, "Roll back to revision 1"), { confirm: "Roll back" });
    expect(change.text).toContain("3.2.0");
    await expectShown(page, "kafka-operator.v3.2.0 (3.2.0)", "kafka Ready");
    await expectShown(page, "8 objects, all ready", "Remove the pin");
    expect((await get("failedRollout")).status?.install?.bundle.version).toBe("3.2.0");
    expect(page.errors).toEqual([]);
  });

  test("the drift policy Correct reverts the fields that a user changed", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("drift")}`);
    const change = await makeChange(tested, page, buttonOf(page, "Correct drift"), { confirm: "Set policy" });
    expect(readBody(change)).toMatchObject({ spec: { drift: { policy: "Correct" } } });
    await expectHidden(page, "DriftDetected");
    const deployment = await tested().world.client.get({
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "grafana-operator-system",
      name: "grafana-operator",
    });
    expect(deployment?.["spec"]).toMatchObject({ replicas: 1 });
    expect((await get("drift")).spec.drift?.policy).toBe("Correct");
    expect(page.errors).toEqual([]);
  });

  test("a larger quota and a retry install the extension", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("quota")}`);
    await tested().world.client.patch(
      { apiVersion: "v1", kind: "ResourceQuota", namespace: "ml-training", name: "team-budget" },
      { spec: { hard: { "count/deployments.apps": "5", "limits.memory": "64Gi", pods: "20" } } },
      { type: "merge" },
    );
    await makeChange(tested, page, buttonOf(page, "Try again now"), { confirm: "Reconcile" });
    await expectShown(page, "training-operator.v0.14.0 (0.14.0)", "training Ready");
    await expectHidden(page, "QuotaExceeded");
    expect(page.errors).toEqual([]);
  });

  describe("a what-if", () => {
    test("shows how a blocked version is reached, writes nothing, and then changes the extension", async () => {
      await using page = await tested().browser.open();
      const before = await get("blockedUpgrade");
      await page.goto(`/extensions/${nameOf("blockedUpgrade")}/why`);
      await page.page.locator("main").getByRole("button", { name: "Try what would select it" }).click();
      await page.page.waitForURL(/policy=SelfCertified/);
      await expectShown(page, "This is a trial with other limits. Nothing is written.", "Version 2.1.0");
      expect((await get("blockedUpgrade")).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
      const change = await makeChange(tested, page, buttonOf(page, "Change the extension"), { confirm: "Change" });
      expect(readBody(change)).toMatchObject({ spec: { source: { catalog: { upgradeConstraintPolicy: "SelfCertified" } } } });
      await expectShown(page, "redis-operator.v2.1.0 (2.1.0)");
      const { spec, status } = await get("blockedUpgrade");
      expect(spec.source.catalog?.upgradeConstraintPolicy).toBe("SelfCertified");
      expect(status?.install?.bundle.version).toBe("2.1.0");
      expect(page.errors).toEqual([]);
    });

    test("finds a range without the version whose CRD would lose data", async () => {
      await using page = await tested().browser.open();
      await page.goto(`/extensions/${nameOf("crdFinding")}/why`);
      const range = page.page.getByRole("textbox", { name: "Version range" });
      await range.fill("1.8.x");
      await page.page.getByRole("button", { name: "Try", exact: true }).click();
      await expectShown(page, "Version 1.8.0 stays installed.");
      const change = await makeChange(tested, page, buttonOf(page, "Change the extension"), { confirm: "Change" });
      expect(readBody(change)).toMatchObject({ spec: { source: { catalog: { version: "1.8.x" } } } });
      await expectShown(page, "backup Ready");
      await eventually(async () => expect((await get("crdFinding")).status?.problems ?? []).toEqual([]));
      expect(page.errors).toEqual([]);
    });
  });

  test("the approval of permissions installs the extension", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("permissionsPending")}/permissions`);
    await expectShown(page, "create pods/exec: all", "Root-equivalent: RoleEscalation");
    await makeChange(tested, page, buttonOf(page, "Approve these permissions"), { confirm: "Approve" });
    await expectShown(page, "mesh-operator.v2.6.0 (2.6.0)", "mesh Ready");
    await expectHidden(page, "Rules that wait for approval");
    expect((await get("permissionsPending")).status?.install?.bundle.version).toBe("2.6.0");
    expect(page.errors).toEqual([]);
  });

  test("one approval of permissions also covers a dependency, and installs both", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("planPermissionsPending")}/permissions`);
    const label = "Also approve the permissions of its dependencies: payments-operator";
    const change = await makeChange(tested, page, buttonOf(page, "Approve these permissions"), { confirm: "Approve", choice: label });
    expect(change.text).toContain("permission-manager grants 1 rule to the ServiceAccount of payments-operator.");
    expect(change.requests.map(({ path }) => /extensionpermissions\/([^?]+)/.exec(path)?.[1])).toEqual(["payments-operator", "orders"]);
    await expectShown(page, "orders-operator.v1.0.0 (1.0.0)", "orders Ready");
    await page.goto("/extensions/payments-operator");
    await expectShown(page, "payments-operator.v1.0.0 (1.0.0)", "payments-operator Ready");
    expect(page.errors).toEqual([]);
  });

  test("an uninstall that custom resources block ends when they are deleted", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("conversionNeeded")}/uninstall`);
    await expectShown(page, "The uninstall would stop");
    const queue = { apiVersion: "queues.example.com/v1", kind: "Queue", namespace: "shop-queues", name: "orders" };
    await tested().world.client.delete(queue);
    await expectShown(page, `Extension ${nameOf("conversionNeeded")} does not exist`);
    expect(page.errors.filter((error) => !IS_GONE.test(error))).toEqual([]);
  });

  test("the roles that the page prepares grant the missing permissions", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("missingPermission")}/permissions`);
    await expectShown(page, "The controller changes nothing until these permissions are granted.", "ServiceAccount, roles and bindings");
    const change = await makeChange(tested, page, buttonOf(page, "Apply …"), { confirm: "Apply", overwrite: true });
    expect(change.requests.every(({ method }) => method === "PATCH")).toBe(true);
    await expectShown(page, "secrets-sync-operator.v2.3.0 (2.3.0)", "secrets-sync Ready");
    await expectHidden(page, "The controller changes nothing until these permissions are granted.");
    expect((await get("missingPermission")).status?.install?.bundle.version).toBe("2.3.0");
    expect(page.errors).toEqual([]);
  });

  test("the uninstall of the dependent also ends the uninstall that waited for it", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("uninstallWaiting")}`);
    await page.page.locator("main").getByRole("link", { name: "gateway", exact: true }).click();
    await page.page.getByRole("link", { name: "Uninstall", exact: true }).click();
    await expectShown(page, "The controller deletes gateway-operator.v0.9.1 with 7 objects.");
    const change = await makeChange(tested, page, buttonOf(page, "Uninstall …"), { confirm: "Uninstall" });
    expect(change.requests.at(0)?.method).toBe("DELETE");
    await expectShown(page, "Extension gateway does not exist");
    await page.page.goBack();
    await page.page.goBack();
    await expectShown(page, `Extension ${nameOf("uninstallWaiting")} does not exist`);
    for (const name of ["gateway", nameOf("uninstallWaiting")])
      expect(await tested().world.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name })).toBeUndefined();
    expect(page.errors.filter((error) => !IS_GONE.test(error))).toEqual([]);
  });

  test("an uninstall that deletes data needs the typed name, and deletes the custom resources", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/extensions/${nameOf("healthy")}/uninstall`);
    await page.page.getByRole("radio", { name: /^Delete all, with their data/ }).click();
    await expectShown(page, "3 custom resources");
    const button = buttonOf(page, "Uninstall …");
    const change = await makeChange(tested, page, button, { confirm: "Uninstall", typed: nameOf("healthy") });
    expect(change.text).toContain("object-storage");
    await expectShown(page, `Extension ${nameOf("healthy")} does not exist`);
    const { client } = tested().world;
    const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "buckets.storage.example.com" };
    await eventually(async () => expect(await client.get(definition)).toBeUndefined());
    expect(page.errors.filter((error) => !IS_GONE.test(error))).toEqual([]);
  });
}

function readBody({ requests: [request] }: ShownChange): unknown {
  return JSON.parse(request?.body ?? "null");
}
