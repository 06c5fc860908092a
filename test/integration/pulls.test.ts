import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const INSTALLED = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const UNPACKING = { Installed: "False/Failed", Progressing: "True/RollingOut", Ready: "False/RollingOut" };
/** More than the number of the controller's workers. */
const HANGING = ["hang-a", "hang-b", "hang-c", "hang-d"];

describeWithPrivateCluster("pulls of bundle images", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    for (const version of ["1.0.0", "2.0.0"]) world.bundle(`p.v${version}`, tinyBundle(version));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v2.0.0", replaces: "p.v1.0.0" }, "p.v3.0.0"] },
      bundles: ["p.v1.0.0", "p.v2.0.0", "p.v3.0.0"],
    });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const patch = async (name: string, spec: object): Promise<void> => {
    await cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, { spec }, { type: "merge" });
  };
  const install = (name: string, version: string): Promise<unknown> => world.extension(name, { catalog: { version } });

  test("pulls that hang do not block installs, uninstalls, suspensions and edits of any extension", async () => {
    const answer = world.hang("p.v2.0.0");
    for (const name of HANGING) await install(name, "2.0.0");
    for (const name of HANGING) {
      const { Progressing } = await world.conditions(name, UNPACKING);
      expect(Progressing).toBe("Unpacking bundle image registry.example/p.v2.0.0");
    }
    // The four extensions need the same image, which is pulled once at a time.
    expect(await world.metric("operator_controller_image_pulls")).toEqual({ running: 1, waiting: HANGING.length - 1 });
    await install("quick", "1.0.0");
    await world.conditions("quick", INSTALLED);
    await world.remove("quick");
    await world.remove("hang-a");
    await patch("hang-b", { suspend: true });
    await world.conditions("hang-b", { Progressing: "False/Suspended" });
    await patch("hang-c", { source: { catalog: { version: "1.0.0" } } });
    await world.conditions("hang-c", INSTALLED);
    await eventually(() => expect(world.cancelled).toContain("hang-a")); // one image is pulled only once at a time, here for the first extension
    answer();
    await world.conditions("hang-d", INSTALLED);
    await patch("hang-b", { suspend: false });
    await world.conditions("hang-b", INSTALLED);
    expect(await world.metric("operator_controller_image_pulls")).toEqual({ running: 0, waiting: 0 });
    for (const name of ["hang-b", "hang-c", "hang-d"]) await world.remove(name);
  });

  test("pulls that failed are still reported while the next attempt runs", async () => {
    await install("broken", "3.0.0");
    const failed = { Progressing: "True/Retrying" };
    const { Progressing } = await world.conditions("broken", failed);
    expect(Progressing).toBe('error for resolved bundle "p.v3.0.0" with version "3.0.0": manifest of registry.example/p.v3.0.0 unknown');
    const answer = world.hang("p.v3.0.0");
    const before = world.pulled.length;
    const { metadata } = await world.get("broken");
    await patch("broken", { source: { catalog: { version: "3.0.0 || 9.0.0" } } });
    await world.until("broken", ({ status }) => expect(status?.conditions?.[0]?.observedGeneration).toBe((metadata.generation ?? 0) + 1));
    expect(await world.conditions("broken", failed)).toMatchObject({ Progressing });
    world.bundle("p.v3.0.0", tinyBundle("3.0.0"));
    answer();
    await world.conditions("broken", INSTALLED);
    expect(world.pulled.length - before).toBeLessThan(5);
    await world.remove("broken");
  });

  test("pulls for an upgrade do not affect the installed bundle until they end", async () => {
    await install("upgraded", "1.0.0");
    await world.conditions("upgraded", INSTALLED);
    const answer = world.hang("p.v2.0.0");
    await patch("upgraded", { source: { catalog: { version: "2.0.0" } } });
    const { Installed } = await world.conditions("upgraded", { Installed: "True/Succeeded", Progressing: "True/RollingOut" });
    expect(Installed).toContain("registry.example/p.v1.0.0");
    answer();
    await world.until("upgraded", ({ status }) => expect(status?.install?.bundle.version).toBe("2.0.0"));
    await world.remove("upgraded");
  });

  // Each reconcile that waits for a pull occupies one of the two workers, or one of eight more.
  test("pulls of permission-manager that hang do not block the permissions of other extensions", async () => {
    await world[Symbol.asyncDispose]();
    world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await world.serveVersions({ "1.0.0": [], "2.0.0": [] });
    const create = (name: string, version: string): Promise<unknown> =>
      cluster.client.create({
        apiVersion: API_VERSION,
        kind: CLUSTER_EXTENSION,
        metadata: { name },
        spec: { namespace: `${name}-system`, source: { sourceType: "Catalog", catalog: { packageName: "p", version } } },
      });
    const names = Array.from({ length: 11 }, (_, i) => `managed-${i}`);
    const answer = world.hang("p.v2.0.0", "permission-manager");
    for (const name of names) await create(name, "2.0.0");
    const expectPulls = (count: number): Promise<void> =>
      eventually(async () => {
        const pulls = await world.metric("permission_manager_image_pulls", "permission-manager");
        expect(pulls).toEqual({ running: 1, waiting: count - 1 });
      });
    await expectPulls(names.length);
    await create("managed-quick", "1.0.0");
    await world.conditions("managed-quick", INSTALLED);
    await world.remove("managed-quick");
    await world.remove("managed-0");
    await expectPulls(names.length - 1);
    answer();
    for (const name of names.slice(1)) await world.conditions(name, INSTALLED);
    for (const name of names.slice(1)) await world.remove(name);
  });
});
