import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { type DependentFixture, propertiesFrom, toApi } from "../support/dependencyFixture.ts";
import { createExtension } from "../support/extensions.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

/** Properties of each package's version 1.0.0. */
const PACKAGES: Readonly<Record<string, DependentFixture & { crd?: string }>> = {
  engine: {
    crd: "engine.example.com",
    properties: [{ type: "olm.gvk", value: { group: "engine.example.com", version: "v1", kind: "Thing" } }],
  },
  car: { requires: ["engine >=1.0.0"] },
  boat: { properties: [{ type: "olm.gvk.required", value: { group: "engine.example.com", version: "v1", kind: "Thing" } }] },
  lonely: { requires: ["API Nowhere"] },
};
const CATALOG = "motors";

function buildFiles(packageName: string): ReadonlyMap<string, Uint8Array> {
  const { crd } = PACKAGES[packageName] ?? {};
  const files = tinyBundle("1.0.0", { name: packageName, objects: crd === undefined ? [] : [thingDefinition(crd)] });
  return new Map(Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)]));
}

// Source: O-09, S2-02, S3-35, S3-36: catalogd, operator-controller and their permissions as installed.
describeWithPrivateCluster("dependencies", (cluster) => {
  let world: World;

  beforeAll(async () => {
    const flags = ["--max-backoff", "2s", "--recheck-interval", "1s"];
    world = await World.start(cluster, { extraArgs: { "operator-controller": flags } });
    const metas: object[] = [];
    for (const [name, fixture] of Object.entries(PACKAGES)) {
      const image = await world.pushBundle(`bundles/${name}`, "1.0.0", name, buildFiles(name));
      const properties: Property[] = [{ type: "olm.package", value: { packageName: name, version: "1.0.0" } }, ...propertiesFrom(fixture)];
      metas.push(
        { schema: "olm.package", name, defaultChannel: "stable" },
        { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1.0.0` }] },
        { schema: "olm.bundle", package: name, name: `${name}.v1.0.0`, image, properties },
      );
    }
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    await world.pushCatalog("catalogs/motors", "latest", new Map([["catalog.json", new TextEncoder().encode(text)]]));
    await world.serve(CATALOG, "quay.io/catalogs/motors:latest");
  });

  afterAll(async () => {
    await world?.stop();
    expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
  });

  /** Applies an extension with an installer that has permissions for all packages. */
  async function apply(name: string, policy?: "Require" | "Install"): Promise<ClusterExtension> {
    const created = createExtension(name, { packageName: name });
    const objects = Object.keys(PACKAGES).flatMap((one) =>
      renderBundle(loadBundle(new Map(buildFiles(one))), { installNamespace: getNamespace(created) }),
    );
    await grantInstaller(cluster.client, created, objects);
    const extension = { ...created, spec: { ...created.spec, ...(policy ? { dependencies: { policy } } : {}) } };
    await world.apply(extension);
    return extension;
  }

  test("operator-controller reports a dependency that no catalog contains, and does not install the bundle", async () => {
    await apply("lonely");
    await world.condition("ClusterExtension", "lonely", (condition) => {
      const { status, reason, message = "" } = condition("Progressing") ?? {};
      return (
        status === "False" &&
        reason === "UnsatisfiedDependencies" &&
        message.includes(`${toApi("").group}/v1 Nowhere, which no bundle of the selected catalogs provides`)
      );
    });
    await world.removed("ClusterExtension", "lonely");
  });

  test("operator-controller installs a dependency first, and uninstalls the dependency together with its last dependent", async () => {
    await apply("boat");
    await world.condition("ClusterExtension", "boat", (condition) => {
      const { status, message = "" } = condition("Progressing") ?? {};
      return status === "False" && message.includes(`bundle "engine.v1.0.0" (catalog "${CATALOG}") would satisfy the requirements`);
    });
    await apply("car", "Install");
    await world.installed("car", "1.0.0");
    await world.installed("engine", "1.0.0");
    await world.installed("boat", "1.0.0");
    await world.removed("ClusterExtension", "car");
    await world.installed("engine", "1.0.0");
    await world.removed("ClusterExtension", "boat");
    const engine = { apiVersion: API_VERSION, kind: "ClusterExtension", name: "engine" };
    await eventually(async () => expect(await cluster.client.get(engine)).toBeUndefined());
  });
});
