import { afterAll, beforeAll, expect, test } from "vitest";
import type { CatalogSource, ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { type CatalogFixture, contentFrom } from "../support/catalogFixture.ts";
import { createCatalog } from "../support/catalogs.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { configMap } from "../support/releases.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const FAILING = { Installed: "True/Succeeded", Progressing: "True/Retrying" };
const CHAIN: CatalogFixture = {
  channels: {
    stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v2.0.0", skips: ["p.v1.1.0"] }],
    old: ["p.v1.0.0"],
  },
  bundles: ["p.v1.0.0", "p.v1.1.0", "p.v2.0.0"],
};

const bundle = (version: string, readText = version): Record<string, string> =>
  tinyBundle(version, { objects: [configMap("phrases", undefined, { text: readText })] });

describeWithPrivateCluster("changes of catalogs", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { driftIntervalMs: 600_000 });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  async function serveChain(fixture: CatalogFixture = CHAIN): Promise<void> {
    for (const version of ["1.0.0", "1.1.0", "2.0.0"]) world.bundle(`p.v${version}`, bundle(version));
    await world.serve(fixture);
  }
  const edit = (name: string, spec: Record<string, unknown>): Promise<ClusterExtension> =>
    cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, { spec }, { type: "merge" });
  const editCatalog = (name: string, catalog: Partial<Record<keyof CatalogSource, unknown>>): Promise<ClusterExtension> =>
    edit(name, { source: { catalog } });
  const expectProgressing = (name: string, want: Readonly<Record<string, string>>, readText: string): Promise<void> =>
    eventually(async () => {
      const { Progressing, problems } = await world.conditions(name, want);
      expect(`${Progressing}\n${problems}`).toContain(readText);
    });
  const getBundleName = async (name: string): Promise<string | undefined> => (await world.get(name)).status?.install?.bundle.name;
  const expectInstalledBundle = (name: string, expected: string): Promise<void> =>
    eventually(async () => expect(await getBundleName(name)).toBe(expected));
  const toPhrasesRef = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", namespace: `${name}-system`, name: "phrases" });
  const readText = async (name: string): Promise<unknown> => {
    const found: KubeObject | undefined = await cluster.client.get(toPhrasesRef(name));
    return (found?.["data"] as Record<string, string> | undefined)?.["text"];
  };
  const expectCorrected = async (name: string, expected: string): Promise<void> => {
    await cluster.client.delete(toPhrasesRef(name));
    await eventually(async () => expect(await readText(name)).toBe(expected));
  };
  /** Waits until the Events of a reason are exactly these. */
  const expectEvents = (name: string, reason: string, ...texts: string[]): Promise<void> =>
    eventually(async () => {
      const events = (await world.events(name)).filter((event) => event.startsWith(`${reason}: `));
      expect(events.sort()).toEqual(texts.map((readText) => expect.stringContaining(readText)));
    });

  // Source: S3-39, H-20.
  test("a rebuilt image of the installed version is not installed, and the installed content is used for further changes", async () => {
    await serveChain();
    await world.extension("kept", { catalog: { version: "1.0.x" } });
    await world.conditions("kept", DONE);
    world.bundle("p.v1.0.0", bundle("1.0.0", "moved tag"));
    world.bundle("p.rebuilt", bundle("1.0.0", "rebuilt"));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: [{ name: "p.v1.0.0", image: "registry.example/p.rebuilt" }, "p.v1.1.0"],
    });
    const note =
      'catalog "c" now has image "registry.example/p.rebuilt" for bundle "p.v1.0.0": the controller keeps the content of "registry.example/p.v1.0.0" because it never replaces the content of an installed version';
    await expectProgressing("kept", DONE, "Desired state reached");
    await world.expectProblem("kept", "BundleContentChanged", { message: note });
    await expectEvents("kept", "BundleContentChanged", note);
    expect(await world.releases("kept")).toEqual(["v1 deployed"]);
    await expectCorrected("kept", "1.0.0");
    const pulled = world.pulled.length;
    await edit("kept", { install: { userRoles: "Aggregate" } });
    await eventually(() => expect(world.pulled.slice(pulled)).toEqual([expect.stringMatching(/^registry\.example\/p\.v1\.0\.0@sha256:/)]));
    await expectProgressing("kept", DONE, note);
    expect(await readText("kept")).toBe("1.0.0");
    await editCatalog("kept", { version: "1.1.0" });
    await expectInstalledBundle("kept", "p.v1.1.0");
    await eventually(async () => expect((await world.conditions("kept", DONE))["Progressing"]).toBe("Desired state reached"));
    expect(await readText("kept")).toBe("1.1.0");
    await world.remove("kept");
  });

  test("the controller keeps the installed bundle and reports a problem when the bundle's image no longer exists", async () => {
    await serveChain();
    await world.extension("gone", { catalog: { version: "1.0.0" } });
    await world.conditions("gone", DONE);
    world.withdraw("p.v1.0.0");
    await edit("gone", { install: { userRoles: "Aggregate" } });
    await expectProgressing("gone", DONE, "Desired state reached");
    const kept =
      /^cannot pull bundle image registry\.example\/p\.v1\.0\.0@sha256:\S+, so the controller keeps the installed objects: manifest of/;
    await world.expectProblem("gone", "ImagePullFailed", { severity: "Warning", message: kept });
    await expectCorrected("gone", "1.0.0");
    await world.remove("gone");
  });

  // Source: S3-40, S1-18.
  test("an extension is upgraded when its channel gets a new edge, but not when spec.version pins its version", async () => {
    await serveChain({ channels: { stable: ["p.v1.0.0"], candidate: ["p.v1.1.0"] }, bundles: ["p.v1.0.0", "p.v1.1.0"] });
    await world.extension("follows", { catalog: { channels: ["stable"] } });
    await world.extension("pinned", { catalog: { version: "1.0.0" } });
    await world.conditions("follows", DONE);
    await world.conditions("pinned", DONE);
    await world.serve({
      channels: { stable: ["p.v1.0.0", "p.v1.1.0"], candidate: ["p.v1.1.0"] },
      bundles: ["p.v1.0.0", "p.v1.1.0"],
    });
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }], candidate: ["p.v1.1.0"] },
      bundles: ["p.v1.0.0", "p.v1.1.0"],
    });
    await expectInstalledBundle("follows", "p.v1.1.0");
    await world.conditions("pinned", DONE);
    expect(await getBundleName("pinned")).toBe("p.v1.0.0");
    await world.remove("follows");
    await world.remove("pinned");
  });

  // Source: X-02, S1-26, S0-085.
  test("an upgrade that overrides upgrade constraints is reported in an Event, and as a problem while the bundle is installed", async () => {
    await serveChain();
    await world.extension("bold", { catalog: { version: "1.1.0" } });
    const skipped = 'bundle "p.v1.1.0" (version 1.1.0) was chosen although entry "p.v2.0.0" of channel "stable" skips it';
    await expectProgressing("bold", DONE, "Desired state reached");
    await world.expectProblem("bold", "UpgradeWarning", { message: skipped });
    await expectEvents("bold", "UpgradeConstraintOverridden", skipped);
    await editCatalog("bold", { version: null, channels: ["old"] });
    await expectProgressing(
      "bold",
      FAILING,
      'error upgrading from currently installed version "1.1.0": no bundles found for package "p" in channels [old]',
    );
    await world.expectProblem("bold", "BundleNotFound", {
      message: "error upgrading from",
      details: expect.arrayContaining([{ catalog: "c", bundle: "p.v2.0.0", rule: "channels" }]),
    });
    await expectCorrected("bold", "1.1.0");
    await editCatalog("bold", { upgradeConstraintPolicy: "SelfCertified" });
    await expectInstalledBundle("bold", "p.v1.0.0");
    const back = 'it has no upgrade edge from "p.v1.1.0" (version 1.1.0): upgradeConstraintPolicy SelfCertified allows it; a downgrade';
    await expectProgressing("bold", DONE, back);
    await cluster.client.delete(toPhrasesRef("bold"));
    await eventually(async () => expect(await readText("bold")).toBe("1.0.0"));
    await expectProgressing("bold", DONE, back);
    await expectEvents("bold", "UpgradeConstraintOverridden", back, skipped);
    await world.remove("bold");
  });

  // Source: S0-105.
  test("the controller still reconciles and can uninstall a bundle that its catalog no longer contains, and reports the error", async () => {
    await serveChain();
    await world.extension("orphan", { catalog: { version: "1.0.0" } });
    await world.conditions("orphan", DONE);
    await world.serve({ channels: { stable: ["p.v2.0.0"] }, bundles: ["p.v2.0.0"] });
    await expectProgressing(
      "orphan",
      FAILING,
      'no bundles found for package "p" matching version "1.0.0"; bundle "p.v1.0.0" (version 1.0.0) stays installed; ',
    );
    await expectCorrected("orphan", "1.0.0");
    await world.conditions("orphan", { ...FAILING, Available: "True/Healthy" });
    expect(await world.releases("orphan")).toEqual(["v1 deployed"]);
    await world.remove("orphan");
    expect(await readText("orphan")).toBeUndefined();
  });

  // Source: S0-091, S0-092.
  test("a problem reports each selected catalog that is not served, even if the extension does not need the catalog", async () => {
    await serveChain();
    const { status, ...silent } = createCatalog("silent", { serving: false, priority: -1 });
    await cluster.client.create(silent);
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "silent" },
      { status },
      { type: "merge", subresource: "status" },
    );
    await world.extension("noted");
    const because = 'catalog "silent" is not being served; catalogd has not reported its status yet';
    const left = `Desired state reached\nWarning CatalogUnavailable: unavailable catalogs: "silent" (${because})`;
    await expectProgressing("noted", DONE, left);
    await world.expectProblem("noted", "CatalogUnavailable", { details: [{ name: "silent", message: because }] });
    expect((await world.get("noted")).status?.install?.catalog).toBe("c");
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "silent" },
      { spec: { priority: 0 } },
      { type: "merge" },
    );
    await editCatalog("noted", { version: ">=1.0.0" });
    await eventually(async () => {
      const { metadata, status } = await world.get("noted");
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      expect([ready?.status, ready?.observedGeneration]).toEqual(["True", metadata.generation]);
    });
    await expectProgressing("noted", DONE, left);
    await expectCorrected("noted", "2.0.0");
    await world.extension("blocked");
    const blocked =
      'error walking catalogs: error getting package "p" from catalog "silent": catalog "silent" is not being served\nError CatalogUnavailable: ';
    await expectProgressing("blocked", { Installed: "False/Failed", Progressing: "True/Retrying" }, blocked);
    await expectProgressing("blocked", { Progressing: "True/Retrying" }, 'may have a better bundle than "p.v2.0.0" of catalog "c"');
    await world.expectProblem("blocked", "CatalogUnavailable", { severity: "Error", details: [{ name: "silent" }] });
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "silent" });
    await eventually(async () => expect((await world.conditions("noted", DONE))["problems"]).toBe(""));
    await world.remove("noted");
    await world.conditions("blocked", DONE);
    await world.remove("blocked");
  });

  test("resolution fails while two catalogs of the same priority contain the bundle, until the selector selects one catalog", async () => {
    await serveChain();
    const twin = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "twin" };
    await world.servePackage(contentFrom(CHAIN, "p"), "p", "twin");
    await world.extension("torn");
    await world.conditions("torn", { Installed: "False/Failed", Progressing: "True/Retrying" });
    await world.expectProblem("torn", "AmbiguousCatalogs", {
      details: [
        { name: "c", message: "p.v2.0.0" },
        { name: "twin", message: "p.v2.0.0" },
      ],
    });
    await editCatalog("torn", { selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "c" } } });
    await world.conditions("torn", DONE);
    await cluster.client.delete(twin);
    await world.remove("torn");
  });

  test("the controller keeps the installed bundle without an error when no catalog exists and the version range contains its version", async () => {
    await serveChain();
    await world.extension("alone", { catalog: { version: ">=1.0, <1.1" } });
    await world.conditions("alone", DONE);
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" });
    await expectProgressing(
      "alone",
      DONE,
      "Desired state reached\nWarning CatalogUnavailable: no ClusterCatalog matches: the controller keeps the installed bundle",
    );
    await expectCorrected("alone", "1.0.0");
    await editCatalog("alone", { version: ">=1.1" });
    await expectProgressing(
      "alone",
      FAILING,
      'no bundles found for package "p" matching version ">=1.1"; bundle "p.v1.0.0" (version 1.0.0) stays installed; ',
    );
    await expectCorrected("alone", "1.0.0");
    await world.conditions("alone", { ...FAILING, Available: "True/Healthy" });
    await world.remove("alone");
  });
});
