import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { configMap } from "../support/releases.ts";
import { runCli } from "../support/runCli.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const GROUP = "things.example.com";
const CRD = `CustomResourceDefinition ${thingDefinition(GROUP).metadata.name}`;
const map = (name: string): KubeObject => configMap(name, undefined);
const other = { app: "other" };
const otherSelector = {
  selector: { matchLabels: other },
  template: { metadata: { labels: other }, spec: { containers: [{ name: "manager", image: "registry.example.com/tiny:2" }] } },
};

// Source: O-02, S0-097.
describeWithPrivateCluster("Events about an extension", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [map("a"), map("b")] }));
    world.bundle("p.v2.0.0", tinyBundle("2.0.0", { objects: [map("a")], deployment: otherSelector }));
    world.bundle("p.v3.0.0", tinyBundle("3.0.0", { objects: [thingDefinition(GROUP)] }));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v2.0.0", replaces: "p.v1.0.0" }, { name: "p.v3.0.0", replaces: "p.v2.0.0" }] },
      bundles: ["p.v1.0.0", "p.v2.0.0", "p.v3.0.0"],
    });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const version = (bundleVersion: string): { catalog: { version: string } } => ({ catalog: { version: bundleVersion } });
  const change = (name: string, body: object): Promise<unknown> =>
    cluster.client.patch({ apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name }, body, { type: "merge" });
  const upgrade = (name: string, bundleVersion: string): Promise<unknown> =>
    change(name, { spec: { source: { catalog: { version: bundleVersion } } } });
  /** Waits for Events of an extension, by full text or prefix. */
  const expectEvents = (name: string, ...texts: string[]): Promise<void> =>
    eventually(async () => {
      const events = await world.events(name);
      for (const text of texts) expect(events).toContainEqual(expect.stringMatching(new RegExp(`^${escapeRegExp(text)}`)));
    });

  test("an upgrade records Events that list deleted and recreated objects", async () => {
    await world.extension("grows", version("1.0.0"));
    await world.conditions("grows", DONE);
    await expectEvents("grows", 'Installed: installed bundle "p.v1.0.0": 3 created');
    await upgrade("grows", "2.0.0");
    await expectEvents(
      "grows",
      'Upgraded: upgraded to bundle "p.v2.0.0" from "p.v1.0.0": 1 unchanged, 1 recreated, 1 deleted',
      'Pruned: deleted objects that bundle "p.v2.0.0" does not contain: ConfigMap grows-system/b',
      'Recreated: recreated objects of bundle "p.v2.0.0" because an immutable field changed: Deployment grows-system/tiny',
    );
  });

  test("an approval records an Event when the extension waits for it, and when a user approves", async () => {
    await world.extension("asks", { ...version("1.0.0"), approval: "Manual" });
    await world.conditions("asks", { Progressing: "False/AwaitingApproval" });
    await expectEvents("asks", "AwaitingApproval: ");
    const { digest = "" } = (await world.get("asks")).status?.plan ?? {};
    await change("asks", { metadata: { annotations: { "olm.operatorframework.io/approve": digest } } });
    await expectEvents("asks", `Approved: applying the approved plan for bundle "p.v1.0.0": ${digest}`, "Installed: ");
  });

  test("a suspension records Events at its start and end", async () => {
    await world.extension("rests", { ...version("1.0.0"), suspend: true });
    await world.conditions("rests", { Progressing: "False/Suspended" });
    await world.expectProblem("rests", "Suspended", { message: "spec.suspend is true" });
    await expectEvents("rests", "Suspended: spec.suspend is true");
    await change("rests", { spec: { suspend: false } });
    await world.conditions("rests", DONE);
    await expectEvents("rests", "Resumed: reconciliation resumed");
  });

  // S0-098: a change of the ServiceAccount or its permissions applies to the next reconcile
  test("missing and granted permissions record Events, and a new ServiceAccount in the spec is used at once", async () => {
    const before = async (namespace: string): Promise<void> =>
      void (await serviceAccount(cluster.client, namespace, "lacks-installer", []));
    await world.extension("lacks", { ...version("1.0.0"), before });
    await expectEvents(
      "lacks",
      'PermissionsMissing: error for resolved bundle "p.v1.0.0" with version "1.0.0": pre-authorization failed: ',
    );
    expect((await world.events("lacks")).filter((text) => text.startsWith("PermissionsGranted"))).toEqual([]);
    await (await serviceAccount(cluster.client, "lacks-system", "lacks-installer", [])).grant([EVERYTHING]);
    await world.conditions("lacks", DONE);
    await expectEvents("lacks", "PermissionsGranted: ServiceAccount lacks-system/lacks-installer now has all required permissions");

    // A name cannot be changed directly, as in the Go implementation: it must be removed first.
    const poor = await serviceAccount(cluster.client, "lacks-system", "poor", []);
    await change("lacks", { spec: { serviceAccount: null } });
    await world.conditions("lacks", { Installed: "True/Succeeded", Progressing: "False/Blocked" });
    await expectEvents("lacks", "Blocked: ");
    await upgrade("lacks", "2.0.0");
    await change("lacks", { spec: { serviceAccount: { name: "poor" } } });
    await world.conditions("lacks", { Installed: "True/Succeeded", Progressing: "True/Retrying" });
    await world.expectProblem("lacks", "MissingPermissions", {
      message: "ServiceAccount lacks-system/poor lacks permissions that the bundle needs",
      next: "olmv1 rbac ",
      details: expect.arrayContaining([
        { namespace: "lacks-system", apiGroups: [""], resources: ["pods", "resourcequotas"], verbs: ["list"] },
      ]),
    });
    await poor.grant([EVERYTHING]);
    await world.conditions("lacks", DONE);
    expect((await world.get("lacks")).status?.install?.bundle.version).toBe("2.0.0");
    await expectEvents("lacks", "PermissionsGranted: ServiceAccount lacks-system/poor now has all required permissions");
  });

  test("a kept CRD records an Event, and so does its adoption by the next extension", async () => {
    await world.extension("first", version("3.0.0"));
    await world.conditions("first", DONE);
    await eventually(() =>
      cluster.client.create({ apiVersion: `${GROUP}/v1`, kind: "Thing", metadata: { name: "mine", namespace: "default" } }),
    );
    await world.remove("first");
    await expectEvents("first", `Kept: ${CRD}: custom resources exist`, "Uninstalled: ");
    await world.extension("second", version("3.0.0"));
    await world.conditions("second", DONE);
    await expectEvents("second", `Adopted: adopted objects into bundle "p.v3.0.0": ${CRD} (left by deleted ClusterExtension "first")`);
  });

  test("a reconcile without changes records no Event", async () => {
    await world.extension("quiet", version("1.0.0"));
    await world.conditions("quiet", { ...DONE, Available: "True/Healthy" });
    await expectEvents("quiet", "Installed: ", "Healthy: ");
    const before = await world.events("quiet");
    for (const at of ["1", "2"]) {
      await change("quiet", { metadata: { annotations: { "olm.operatorframework.io/reconcile-requested-at": at } } });
      await eventually(async () => expect((await world.get("quiet")).status?.lastHandledReconcileAt).toBe(at));
    }
    expect(await world.events("quiet")).toEqual(before);
  });

  test("olmv1 events and describe print no Events of an earlier extension with the same name", async () => {
    const listOwnEvents = async (): Promise<string[]> => {
      const { out } = await runCli(["events", "again", "-o", "json", "--kubeconfig", cluster.kubeconfig]);
      const { items } = JSON.parse(out) as { items: { involvedObject: { uid: string } }[] };
      return [...new Set(items.map(({ involvedObject }) => involvedObject.uid))];
    };
    const uids: (string | undefined)[] = [];
    let spec: ClusterExtension["spec"] | undefined;
    for (const bundleVersion of ["1.0.0", "2.0.0"]) {
      if (bundleVersion === "1.0.0") spec = (await world.extension("again", version(bundleVersion))).spec;
      else {
        const catalog = { ...spec?.source?.catalog, version: bundleVersion };
        const source = { sourceType: "Catalog", catalog };
        await cluster.client.create({
          apiVersion: "olm.operatorframework.io/v1",
          kind: "ClusterExtension",
          metadata: { name: "again" },
          spec: { ...spec, source },
        });
      }
      await world.conditions("again", DONE);
      uids.push((await world.get("again")).metadata.uid);
      await eventually(async () => expect(await listOwnEvents()).toEqual([uids.at(-1)]));
      if (bundleVersion === "1.0.0") await world.remove("again");
    }
    const described = await runCli(["describe", "again", "--system-namespace", "olmv1-system", "--kubeconfig", cluster.kubeconfig], {
      width: 200,
    });
    expect([described.code, described.err, described.out]).toEqual([0, "", expect.stringContaining('installed bundle "p.v2.0.0"')]);
    expect(described.out).not.toContain('"p.v1.0.0"');
    await world.remove("again");
    expect(await listOwnEvents()).toEqual([uids.at(-1)]);
  });
});

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
