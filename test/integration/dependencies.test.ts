import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { LABEL_DEPENDENCY } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { listDependencyNames } from "../../pkg/operatorcontroller/dependencies/dependencyLabels.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { type CatalogWorld, packageFrom } from "../support/dependencyFixture.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { problemText } from "../support/problems.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const MISSING = { Installed: "False/Failed", Progressing: "False/UnsatisfiedDependencies", Ready: "False/UnsatisfiedDependencies" };

/** The definition of a kind of group example.com. */
function crd(kind: string): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
}

// Source: O-09, S2-02, S2-42, S3-35, S3-36.
describeWithPrivateCluster("dependencies", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Serves packages whose bundles contain the definitions that they provide. */
  async function serve(packages: CatalogWorld["packages"]): Promise<void> {
    for (const [packageName, fixture] of Object.entries(packages)) {
      for (const bundle of fixture.bundles) {
        const { name, provides = [] } = typeof bundle === "string" ? { name: bundle } : bundle;
        world.bundle(name, tinyBundle(name.slice(name.indexOf(".v") + 2), { name: packageName, objects: provides.map(crd) }));
      }
      await world.servePackage(packageFrom(fixture, packageName), packageName);
    }
  }

  const buildSpec = (packageName: string, spec: Partial<ClusterExtensionSpec> = {}) => ({ ...spec, catalog: { packageName } });

  test("policy Require installs the bundle only when its dependencies are installed, and reports which package provides them", async () => {
    await serve({
      needy: { bundles: [{ name: "needy.v1.0.0", requires: ["giver >=1.0.0"] }] },
      giver: { bundles: ["giver.v1.0.0"] },
    });
    await world.extension("needy", buildSpec("needy"));
    const { Progressing } = await world.conditions("needy", MISSING);
    await world.expectProblem("needy", "UnsatisfiedDependencies", {
      details: expect.arrayContaining([{ bundle: "needy.v1.0.0", message: 'it requires package "giver" >=1.0.0' }]),
    });
    expect(Progressing).toBe(
      'bundle "needy.v1.0.0" cannot be installed: it requires package "giver" >=1.0.0; bundle "giver.v1.0.0" (catalog "c") would satisfy the requirements: ' +
        'create a ClusterExtension for package "giver", or set spec.dependencies.policy to Install',
    );
    await eventually(async () =>
      expect((await world.events("needy")).filter((text) => text.startsWith("UnsatisfiedDependencies"))).toHaveLength(1),
    );
    await world.extension("giver", buildSpec("giver"));
    await world.conditions("giver", DONE);
    await world.conditions("needy", DONE);
  });

  test("policy Require also resumes when the cluster serves the missing API", async () => {
    await serve({ reader: { bundles: [{ name: "reader.v1.0.0", requires: ["API Book"] }] } });
    await world.extension("reader", buildSpec("reader"));
    await world.conditions("reader", MISSING);
    await cluster.client.apply(crd("Book"), { fieldManager: "test" });
    await world.conditions("reader", DONE);
  });

  test("the controller keeps the installed bundle when an update would break a dependent", async () => {
    const versions = {
      channels: { stable: ["library.v1.0.0", { name: "library.v2.0.0", replaces: "library.v1.0.0" }] },
      bundles: [{ name: "library.v1.0.0", provides: ["Shelf"] }],
    };
    await serve({ library: versions, lender: { bundles: [{ name: "lender.v1.0.0", requires: ["API Shelf"] }] } });
    await world.extension("library", buildSpec("library"));
    await world.conditions("library", DONE);
    await world.extension("lender", buildSpec("lender"));
    await world.conditions("lender", DONE);
    await serve({ library: { ...versions, bundles: [...versions.bundles, { name: "library.v2.0.0", provides: ["Rack"] }] } });
    const message =
      'bundle "library.v2.0.0" is not chosen: ClusterExtension "lender" (bundle "lender.v1.0.0") would lose dependencies: API example.com/v1 Shelf';
    await world.until("library", ({ status }) => {
      expect(status?.install?.bundle.version).toBe("1.0.0");
      expect(problemText(status)).toContain(`Warning UpgradeWarning: ${message}`);
      expect(status?.blockedUpdate).toMatchObject({ version: "2.0.0", reason: "Dependencies" });
    });
    const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "shelfs.example.com" };
    await world.remove("lender");
    await world.until("library", ({ status }) => expect(status?.install?.bundle.version).toBe("2.0.0"));
    await eventually(async () => expect(await cluster.client.get(definition)).toBeUndefined());
  });

  test("policy Ignore installs the bundle, and a problem reports that dependencies are not checked", async () => {
    await serve({ careless: { bundles: [{ name: "careless.v1.0.0", requires: ["API Nothing"] }] } });
    await world.extension("careless", buildSpec("careless", { dependencies: { policy: "Ignore" } }));
    await world.conditions("careless", DONE);
    await world.expectProblem("careless", "UnsatisfiedDependencies", {
      severity: "Info",
      message: 'the dependencies of bundle "careless.v1.0.0" are not checked: spec.dependencies.policy is Ignore',
    });
  });

  test("policy Install installs missing packages first, and uninstalls the packages with their last dependent", async () => {
    await serve({
      shop: { bundles: [{ name: "shop.v1.0.0", requires: ["API Till"] }] },
      stall: { bundles: [{ name: "stall.v1.0.0", requires: ["API Till"] }] },
      till: { bundles: [{ name: "till.v1.0.0", provides: ["Till"], requires: ["power >=1.0.0 <2.0.0"] }] },
      power: { bundles: ["power.v1.0.0", "power.v2.0.0"] },
    });
    await world.extension("shop", buildSpec("shop", { dependencies: { policy: "Install" } }));
    await world.conditions("shop", DONE);
    const [till, power] = [await world.get("till"), await world.get("power")];
    expect(till.spec).toMatchObject({
      namespace: "shop-system",
      serviceAccount: { name: "shop-installer" },
      source: { catalog: { packageName: "till", selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "c" } } } },
      dependencies: { policy: "Install" },
    });
    expect(till.metadata.labels).toMatchObject({ "olm.operatorframework.io/dependency": "true" });
    expect(power.spec.source.catalog?.version).toBeUndefined();
    expect(power.status?.install?.bundle.version).toBe("1.0.0");
    await eventually(async () =>
      expect((await world.events("shop")).filter((text) => text.startsWith("DependencyCreated")).sort()).toEqual([
        'DependencyCreated: created ClusterExtension "power" for package "power" from catalog "c"',
        'DependencyCreated: created ClusterExtension "till" for package "till" from catalog "c"',
      ]),
    );
    await world.extension("stall", buildSpec("stall"));
    await world.conditions("stall", DONE);
    await world.remove("shop");
    await world.conditions("till", DONE);
    await world.conditions("power", DONE);
    await world.remove("stall");
    await world.gone("till");
    await world.gone("power");
  });

  test("an update is installed when a catalog adds its dependencies", async () => {
    const band = { channels: { stable: ["band.v1.0.0", { name: "band.v2.0.0", replaces: "band.v1.0.0" }] } };
    await serve({ band: { ...band, bundles: ["band.v1.0.0", { name: "band.v2.0.0", requires: ["API Drum"] }] } });
    await world.extension("band", buildSpec("band", { dependencies: { policy: "Install" } }));
    await world.conditions("band", DONE);
    await world.expectProblem("band", "UpgradeWarning", {
      message: 'bundle "band.v2.0.0" is not chosen: band 2.0.0 requires API example.com/v1 Drum',
    });
    await serve({ drummer: { bundles: [{ name: "drummer.v1.0.0", provides: ["Drum"] }] } });
    await world.until("band", ({ status }) => expect(status?.install?.bundle.version).toBe("2.0.0"));
    await world.conditions("drummer", DONE);
  });

  test("policy Install never changes an extension that a user created, and does not uninstall an extension that a user takes over", async () => {
    await serve({
      poet: { bundles: [{ name: "poet.v1.0.0", requires: ["verse 1.0.0"] }] },
      verse: { bundles: ["verse.v1.0.0"] },
      prose: { bundles: ["prose.v1.0.0"] },
    });
    await world.extension("verse", buildSpec("prose"));
    await world.conditions("verse", DONE);
    await world.extension("poet", buildSpec("poet", { dependencies: { policy: "Install" } }));
    await world.conditions("poet", DONE);
    const [, name = ""] = listDependencyNames("verse");
    const created = await world.get(name);
    expect(created.spec.source.catalog).toMatchObject({ packageName: "verse" });
    await cluster.client.patch({ ...created, name }, { metadata: { labels: { [LABEL_DEPENDENCY]: null } } }, { type: "merge" });
    await world.remove("poet");
    await world.conditions(name, DONE);
    expect((await world.get("verse")).spec.source.catalog?.packageName).toBe("prose");
  });

  test("policy Install respects the spec of an existing extension of the package without changing it", async () => {
    await serve({
      writer: { bundles: [{ name: "writer.v1.0.0", requires: ["ink 1.0.0"] }] },
      ink: { bundles: ["ink.v1.0.0", "ink.v2.0.0"] },
    });
    await world.extension("ours", { ...buildSpec("ink"), catalog: { packageName: "ink", version: "9.9.9" } });
    await world.conditions("ours", { Progressing: "True/Retrying" });
    await world.extension("writer", buildSpec("writer", { dependencies: { policy: "Install" } }));
    const { Progressing } = await world.conditions("writer", MISSING);
    expect(Progressing).toBe(
      'bundle "writer.v1.0.0" cannot be installed: writer 1.0.0 requires package "ink" 1.0.0; catalog "c" has only ink 1.0.0 and 2.0.0, but ink 1.0.0 is not allowed by spec.source.catalog of ClusterExtension "ours"',
    );
    const ours = await world.get("ours");
    expect([ours.spec.source.catalog?.version, ours.metadata.labels]).toEqual(["9.9.9", undefined]);
    await cluster.client.patch({ ...ours, name: "ours" }, { spec: { source: { catalog: { version: "1.0.0" } } } }, { type: "merge" });
    await world.conditions("writer", DONE);
    await world.remove("writer");
    await world.conditions("ours", DONE);
  });

  test("policy Install reports when all names for the new extension are taken", async () => {
    await serve({ gist: { bundles: [{ name: "gist.v1.0.0", requires: ["pith 1.0.0"] }] }, pith: { bundles: ["pith.v1.0.0"] } });
    for (const name of listDependencyNames("pith")) await world.extension(name, { ...buildSpec("prose"), suspend: true });
    await world.extension("gist", buildSpec("gist", { dependencies: { policy: "Install" } }));
    await world.conditions("gist", { Installed: "False/Failed", Progressing: "True/Retrying" });
    await world.expectProblem("gist", "ReconcileFailed", {
      message:
        /cannot create a ClusterExtension for package "pith": extensions of other packages use the names "pith" and "pith-\w+"\. Create a ClusterExtension for package "pith" with another name$/,
    });
    for (const name of ["gist", ...listDependencyNames("pith")]) await world.remove(name);
  });
});
