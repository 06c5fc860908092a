import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_CATALOG } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ManagedWorld } from "../support/managedWorld.ts";
import { OpenShift } from "../support/openShift.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

/** A registry that does not exist. */
const SOURCE = "registry.invalid";
const MIRRORS = "disconnected";

describeWithPrivateCluster("an extension whose images are only in a mirror of the cluster", (cluster) => {
  let world: ManagedWorld;
  let openShift: OpenShift;
  let mirror: RegistryProxy;

  beforeAll(async () => {
    openShift = new OpenShift(cluster.client);
    await openShift.installRegistries();
    await openShift.grantRegistries();
    mirror = await RegistryProxy.start(cluster.registry.host);
    await openShift.setImage({ registrySources: { insecureRegistries: [mirror.host] } });
    world = await ManagedWorld.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s"] } });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await mirror?.[Symbol.asyncDispose]();
  });

  const toSource = (image: string): string => image.replace(/^[^/]+/, SOURCE);

  test("all servers pull through an ImageDigestMirrorSet, as soon as it exists", async () => {
    const { world: programs } = world;
    const files = new Map(Object.entries(tinyBundle("1.0.0")).map(([path, text]) => [path, Buffer.from(text)]));
    const image = toSource(await programs.pushBundle("mirrored/p", "v1", "p", files));
    const metas = [
      { schema: "olm.package", name: "p", defaultChannel: "stable" },
      { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }] },
      {
        schema: "olm.bundle",
        package: "p",
        name: "p.v1.0.0",
        image,
        properties: [{ type: "olm.package", value: { packageName: "p", version: "1.0.0" } }],
      },
    ];
    const catalog = new Map([["catalog.json", Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"))]]);
    const ref = toSource(await programs.pushCatalog("mirrored/catalog", "v1", catalog));
    await programs.apply({
      apiVersion: API_VERSION,
      kind: CLUSTER_CATALOG,
      metadata: { name: MIRRORS },
      spec: { source: { type: "Image", image: { ref } } },
    });
    await programs.condition(CLUSTER_CATALOG, MIRRORS, (find) => find("Progressing")?.message.includes(SOURCE) === true);
    const mirrorSourcePolicy = "NeverContactSource" as const;
    await openShift.setMirrors("ImageDigestMirrorSet", MIRRORS, {
      [SOURCE]: { mirrors: [mirror.host], mirrorSourcePolicy },
    });
    await programs.condition(CLUSTER_CATALOG, MIRRORS, (find) => find("Serving")?.status === "True");
    await world.create("mirrored", "p");
    await programs.installed("mirrored", "1.0.0");
    expect(mirror.count("manifest", "mirrored/catalog")).toBeGreaterThan(0);
    // operator-controller and permission-manager have caches of their own.
    expect(mirror.count("manifest", "mirrored/p")).toBeGreaterThanOrEqual(2);
  });
});
