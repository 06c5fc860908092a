import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ANNOTATION_RECONCILE_REQUESTED_AT, API_VERSION, CLUSTER_EXTENSION, LABEL_OWNER_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { olmv1 } from "../support/runCli.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const THINGS = thingDefinition("kept.example.com");
const THING: KubeObject = { apiVersion: "kept.example.com/v1", kind: "Thing", metadata: { name: "mine", namespace: "default" } };
const KEPT = [{ name: "things.kept.example.com", message: "custom resources exist" }];

/** The content of each version of the only package. */
const BUNDLES: Readonly<Record<string, readonly KubeObject[]>> = { "1.0.0": [THINGS], "2.0.0": [], "3.0.0": [] };

describeWithPrivateCluster("definitions that an upgrade keeps", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { maxBackoffMs: 1_000, recheckIntervalMs: 1_000 });
    await world.serveVersions(BUNDLES);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const patch = (name: string, body: object): Promise<KubeObject> =>
    cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, body, { type: "merge" });
  const move = async (name: string, version: string): Promise<void> => {
    await patch(name, { spec: { source: { catalog: { version } } } });
    await world.until(name, ({ status }) => expect(status?.install?.bundle.version).toBe(version));
    await world.conditions(name, DONE);
  };
  const start = async (name: string, version = "1.0.0"): Promise<void> => {
    await world.extension(name, { catalog: { version, upgradeConstraintPolicy: "SelfCertified" } });
    await world.conditions(name, DONE);
  };
  /** Creates an extension whose upgrade kept a removed CRD because a custom resource exists. */
  const keeping = async (name: string): Promise<void> => {
    await start(name);
    await eventually(() => cluster.client.create(THING));
    await move(name, "2.0.0");
    await world.until(name, ({ status }) => expect(status?.keptCRDs).toEqual(KEPT));
  };
  const definition = (): Promise<KubeObject | undefined> => cluster.client.get(toObjectRef(THINGS));
  const request = (name: string): Promise<KubeObject> =>
    patch(name, { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: new Date().toISOString() } } });
  const isForgotten = (name: string): Promise<void> => world.until(name, ({ status }) => expect(status?.keptCRDs).toBeUndefined());

  test("a kept CRD is deleted when it is unused, even after further upgrades and a restart", async () => {
    await keeping("later");
    await move("later", "3.0.0");
    await world.until("later", ({ status }) => expect(status?.keptCRDs).toEqual(KEPT));
    await world.restart();
    await request("later");
    await world.until("later", ({ status }) => expect(status?.keptCRDs).toEqual(KEPT));
    expect(await definition()).toBeDefined();
    await cluster.client.delete(toObjectRef(THING));
    await request("later");
    await isForgotten("later");
    await eventually(async () => expect(await definition()).toBeUndefined()); // the finalizer is added after a moment
    await eventually(async () =>
      expect(await world.events("later")).toContain(
        "Pruned: deleted objects that were kept from an earlier bundle: CustomResourceDefinition things.kept.example.com",
      ),
    );
    await world.remove("later");
  });

  test("an uninstall with crdPolicy Delete deletes the CRDs that an upgrade kept, and their custom resources", async () => {
    await keeping("deleting");
    await move("deleting", "3.0.0");
    await patch("deleting", { spec: { uninstall: { crdPolicy: "Delete" } } });
    await request("deleting");
    await world.until("deleting", ({ status }) => expect(status?.lastHandledReconcileAt).toBeDefined());
    expect(await cluster.client.get(toObjectRef(THING))).toBeDefined();
    await world.remove("deleting");
    await eventually(async () => expect(await definition()).toBeUndefined());
  });

  test("neither an upgrade nor an uninstall deletes custom resources without a backup that is required", async () => {
    await keeping("saved");
    await serviceAccount(cluster.client, "saved-system", "saved-installer", [EVERYTHING]);
    await move("saved", "1.0.0");
    await patch("saved", { spec: { uninstall: { crdPolicy: "Delete", backup: "Required" } } });
    await move("saved", "2.0.0");
    const unsaved = "spec.uninstall.backup is Required: no backup is recorded, and Thing default/mine exists";
    await world.until("saved", ({ status }) => expect(status?.keptCRDs).toEqual([{ name: "things.kept.example.com", message: unsaved }]));
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "saved" });
    await world.conditions("saved", { Progressing: "False/BackupRequired" });
    const details = [{ name: "things.kept.example.com", message: "no backup is recorded, and Thing default/mine exists" }];
    await world.expectProblem("saved", "BackupRequired", { details, next: "olmv1 backup saved" });
    await eventually(async () =>
      expect(await world.events("saved")).toContain(`BackupRequired: not uninstalled: ${unsaved}; next: olmv1 backup saved`),
    );
    expect(await cluster.client.get(toObjectRef(THING))).toBeDefined();
    await using folder = await mkdtempDisposable(join(tmpdir(), "olmv1-required-backup-"));
    const saved = await olmv1("backup", "saved", "--file", join(folder.path, "saved.gz"), "--kubeconfig", cluster.kubeconfig);
    expect(saved).toMatchObject({ code: 0, out: expect.stringContaining("1 custom resource") });
    await world.gone("saved");
    await eventually(async () => expect(await definition()).toBeUndefined());
  });

  test("an uninstall keeps the CRDs that an upgrade kept, and the next extension adopts them", async () => {
    await keeping("leaving");
    await world.remove("leaving");
    expect(await definition()).toBeDefined();
    expect((await world.events("leaving")).filter((text) => text.startsWith("Kept: ")).length).toBeGreaterThan(0);
    await start("adopting");
    expect((await definition())?.metadata.labels?.[LABEL_OWNER_NAME]).toBe("adopting");
    await cluster.client.delete(toObjectRef(THING));
    await world.remove("adopting");
    await eventually(async () => expect(await definition()).toBeUndefined());
  });

  test("another extension can adopt a kept CRD, and a rollback of the first extension adopts the CRD again", async () => {
    await keeping("giving");
    await start("taking");
    expect((await definition())?.metadata.labels?.[LABEL_OWNER_NAME]).toBe("taking");
    await isForgotten("giving");
    await move("taking", "2.0.0");
    await world.until("taking", ({ status }) => expect(status?.keptCRDs).toEqual(KEPT));
    await move("giving", "1.0.0");
    expect((await definition())?.metadata.labels?.[LABEL_OWNER_NAME]).toBe("giving");
    await isForgotten("taking");
    expect(await cluster.client.get(toObjectRef(THING))).toBeDefined();
    await move("giving", "2.0.0");
    await move("giving", "1.0.0");
    await isForgotten("giving");
    await cluster.client.delete(toObjectRef(THING));
    await world.remove("giving");
    await world.remove("taking");
  });

  test("upgrade and uninstall succeed when the permissions to read and delete a kept CRD are missing", async () => {
    await keeping("denied");
    await cluster.client.delete(toObjectRef(THING));
    const others = { apiGroups: ["", "apps", "kept.example.com"], resources: ["*"], verbs: ["*"] };
    const account = async (verbs: string[]): Promise<unknown> =>
      (await serviceAccount(cluster.client, "denied-system", "denied-installer", [others])).grant([
        others,
        ...(verbs.length > 0 ? [{ apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs }] : []),
      ]);
    await account(["get"]);
    await move("denied", "3.0.0");
    await world.until("denied", ({ status }) =>
      expect(status?.keptCRDs?.[0]?.message).toMatch(/^unused, but deleting the CRD is forbidden \(.*cannot delete resource/),
    );
    await account([]);
    await request("denied");
    await world.until("denied", ({ status }) =>
      expect(status?.keptCRDs?.[0]?.message).toMatch(/^reading the CRD is forbidden \(.*cannot get resource/),
    );
    await world.conditions("denied", DONE);
    await world.remove("denied");
    expect(await definition()).toBeDefined();
    await cluster.client.delete(toObjectRef(THINGS));
  });
});
