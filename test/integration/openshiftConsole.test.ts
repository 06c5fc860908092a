import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../../pkg/api/constants.ts";
import { ANNOTATION_MIGRATED_FROM } from "../../pkg/api/migration.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { ManagedWorld } from "../support/managedWorld.ts";
import { buildFormExtension, CATALOGD_HOST, createCatalogItems, OpenShiftConsole, walkMetas } from "../support/openshiftConsole.ts";
import { serverCertificate } from "../support/serverCertificate.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const PAGE = join(import.meta.dirname, "../../docs/reference/openshift-console.md");
/** http.TimeFormat of Go. */
const GO_TIME = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const ICON = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
const CSV = {
  displayName: "Lighthouse",
  description: "Guides ships",
  provider: { name: "Harbour" },
  keywords: ["light"],
  annotations: { capabilities: "Deep Insights", categories: "Networking, Monitoring", createdAt: "2026-01-01T00:00:00Z" },
};
const LIFECYCLE = {
  schema: "io.openshift.operators.lifecycles.v1alpha1",
  package: "p",
  versions: [{ name: "1.1", phases: [{ name: "Full support", startDate: "2026-01-01", endDate: "2036-01-01" }] }],
};
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment", name: "tiny" };

const contracts = (await readFile(PAGE, "utf8")).split("\n").flatMap((line) => /^\| `([a-z-]+)` \|/.exec(line)?.[1] ?? []);

describeWithPrivateCluster("OpenShift's console", (cluster) => {
  let folder: string;
  let world: ManagedWorld;
  let openshift: OpenShiftConsole;
  /** By version. */
  const images: Record<string, string> = {};

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "olmv1-openshift-console-"));
    const { cert, key } = await serverCertificate(CATALOGD_HOST, "127.0.0.1");
    await mkdir(join(folder, "ca"));
    await Promise.all([
      writeFile(join(folder, "tls.crt"), cert),
      writeFile(join(folder, "tls.key"), key),
      writeFile(join(folder, "ca/service-ca.crt"), cert),
    ]);
    const managed = ["--managed-permissions=always", "--catalogd-cas-dir", join(folder, "ca")];
    world = await ManagedWorld.start(cluster, {
      extraArgs: {
        catalogd: ["--tls-cert", join(folder, "tls.crt"), "--tls-key", join(folder, "tls.key"), "--metrics-bind-address=0"],
        "operator-controller": [...managed, "--max-backoff", "2s"],
        "permission-manager": managed,
      },
    });
    openshift = new OpenShiftConsole(new URL(world.world.installation.catalogs), cert, cluster.client);
    for (const version of ["1.0.0", "1.1.0"]) {
      const files = new Map(Object.entries(tinyBundle(version)).map(([path, text]) => [path, Buffer.from(text)]));
      images[version] = await world.world.pushBundle("bundles/p", version, "p", files);
    }
    await serve("harbour", [...metasOf("1.0.0", "1.1.0"), LIFECYCLE]);
    await serve("other", [{ schema: "olm.package", name: "q", defaultChannel: "stable" }, ...bundlesOf("q", [])]);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  function bundlesOf(packageName: string, versions: readonly string[]): object[] {
    const entries = versions.map((version, at) => {
      return { name: `${packageName}.v${version}`, ...(at > 0 ? { replaces: `${packageName}.v${versions[at - 1]}` } : {}) };
    });
    return [
      {
        schema: "olm.channel",
        package: packageName,
        name: "stable",
        entries: versions.length > 0 ? entries : [{ name: `${packageName}.v1.0.0` }],
      },
      ...(versions.length > 0 ? versions : ["1.0.0"]).map((version) => ({
        schema: "olm.bundle",
        package: packageName,
        name: `${packageName}.v${version}`,
        image: images[version],
        properties: [
          { type: "olm.package", value: { packageName, version } },
          ...(versions.length > 0 ? [{ type: "olm.csv.metadata", value: CSV }] : []),
        ],
      })),
    ];
  }

  function metasOf(...versions: readonly string[]): object[] {
    const icon = { base64data: ICON.toString("base64"), mediatype: "image/svg+xml" };
    return [{ schema: "olm.package", name: "p", defaultChannel: "stable", description: "p", icon }, ...bundlesOf("p", versions)];
  }

  async function serve(name: string, metas: readonly object[]): Promise<void> {
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    const ref = await world.world.pushCatalog(`catalogs/${name}`, "latest", new Map([["catalog.json", Buffer.from(text)]]));
    await world.world.apply({
      apiVersion: API_VERSION,
      kind: CLUSTER_CATALOG,
      metadata: { name },
      spec: { source: { type: "Image", image: { ref } } },
    });
    await world.world.condition("ClusterCatalog", name, (condition, object) => {
      const { resolvedSource } = (object as ClusterCatalog).status ?? {};
      return condition("Serving")?.status === "True" && resolvedSource?.image?.ref === ref;
    });
  }

  async function readCatalog(name: string): Promise<ClusterCatalog | undefined> {
    return cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name });
  }

  async function readExtension(name: string): Promise<ClusterExtension> {
    const found = await cluster.client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
    if (!found) throw new Error(`ClusterExtension ${name} does not exist`);
    return found;
  }

  /** Creates an extension with the form, unless it exists, and waits until it is ready. */
  async function install(name: string, version = "1.0.0"): Promise<ClusterExtension> {
    const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
    if (!(await cluster.client.get(ref))) await openshift.submitForm({ name, packageName: "p", version, catalogs: ["harbour"] });
    return (await world.ready(name, version)) as ClusterExtension;
  }

  /** Deletes an extension as the dialog of the console does, and waits until it is gone. */
  async function remove(name: string, propagationPolicy: "Foreground" | "Orphan"): Promise<void> {
    const path = `/apis/${API_VERSION}/clusterextensions/${name}`;
    await cluster.client.raw("DELETE", path, { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy });
    await eventually(async () =>
      expect(await cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name })).toBeUndefined(),
    );
  }

  const plays: Record<string, () => Promise<void>> = {
    "catalogd-address": async () => {
      expect((await openshift.fetchAll("harbour")).status).toBe(200);
      const { cert } = await serverCertificate(CATALOGD_HOST);
      const stranger = new OpenShiftConsole(new URL(world.world.installation.catalogs), cert, cluster.client);
      await expect(stranger.fetchAll("harbour")).rejects.toThrow(/certificate/);
    },
    "catalogd-credentials": async () => {
      const [without, withToken] = await Promise.all([
        openshift.fetchAll("harbour"),
        openshift.fetchAll("harbour", undefined, { Authorization: "Bearer any" }),
      ]);
      expect([withToken.status, withToken.text]).toEqual([200, without.text]);
    },
    all: async () => {
      const { status, headers, text } = await openshift.fetchAll("harbour");
      expect([status, typeof headers["last-modified"]]).toEqual([200, "string"]);
      expect(walkMetas(text).map(({ schema, name }) => [schema, name])).toEqual([
        ["olm.package", "p"],
        ["olm.channel", "stable"],
        ["olm.bundle", "p.v1.0.0"],
        ["olm.bundle", "p.v1.1.0"],
        [LIFECYCLE.schema, undefined],
      ]);
    },
    "all-not-modified": async () => {
      const { headers } = await openshift.fetchAll("harbour");
      const { status, text } = await openshift.fetchAll("harbour", String(headers["last-modified"]));
      expect([status, text]).toEqual([304, ""]);
    },
    "all-modified": async () => {
      await serve("changing", metasOf("1.0.0"));
      const before = await openshift.fetchAll("changing");
      const since = String(before.headers["last-modified"]);
      await serve("changing", metasOf("1.0.0", "1.1.0"));
      const after = await openshift.fetchAll("changing", since);
      expect([after.status, createCatalogItems("changing", walkMetas(after.text))[0]?.version]).toEqual([200, "1.1.0"]);
      expect(Date.parse(String(after.headers["last-modified"]))).toBeGreaterThan(Date.parse(since));
    },
    "all-date-format": async () => {
      const { headers } = await openshift.fetchAll("harbour");
      expect(headers["last-modified"]).toMatch(GO_TIME);
    },
    "all-removed": async () => {
      expect((await openshift.fetchAll("missing")).status).toBe(404);
    },
    items: async () => {
      const { text } = await openshift.fetchAll("harbour");
      expect(createCatalogItems("harbour", walkMetas(text))).toEqual([
        {
          id: "harbour/p/p.v1.1.0",
          name: "p",
          displayName: "Lighthouse",
          description: "Guides ships",
          version: "1.1.0",
          image: images["1.1.0"],
          provider: "Harbour",
          capabilities: "Deep Insights",
          categories: ["Networking", "Monitoring"],
        },
      ]);
    },
    "items-other-schemas": async () => {
      const { text } = await openshift.fetchAll("harbour");
      expect(walkMetas(text)).toContainEqual(LIFECYCLE);
      // Package q has no bundle with olm.csv.metadata.
      expect(createCatalogItems("other", walkMetas((await openshift.fetchAll("other")).text))).toEqual([]);
    },
    metas: async () => {
      const bundles = await openshift.fetchMetas("harbour", { schema: "olm.bundle", package: "p" });
      expect([bundles.status, walkMetas(bundles.text).map(({ name }) => name)]).toEqual([200, ["p.v1.0.0", "p.v1.1.0"]]);
      const phases = await openshift.fetchMetas("harbour", { schema: LIFECYCLE.schema });
      expect([phases.status, walkMetas(phases.text)]).toEqual([200, [LIFECYCLE]]);
      expect((await openshift.fetchMetas("missing", { schema: "olm.bundle" })).status).toBe(404);
    },
    icon: async () => {
      expect(await openshift.fetchIcon("harbour", "p")).toEqual({ data: ICON, mediaType: "image/svg+xml" });
      expect(await openshift.fetchIcon("other", "q")).toBeUndefined();
    },
    "api-kinds": async () => {
      const { resources } = (await cluster.client.raw("GET", `/apis/${API_VERSION}`)) as { resources: { name: string; kind: string }[] };
      const kinds = resources.filter(({ name }) => !name.includes("/")).map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining([CLUSTER_CATALOG, CLUSTER_EXTENSION]));
    },
    "catalog-url": async () => {
      expect((await readCatalog("harbour"))?.status?.urls?.base).toMatch(/^https:\/\/.*\/catalogs\/harbour$/);
    },
    "catalog-label": async () => {
      expect((await readCatalog("harbour"))?.metadata.labels?.[LABEL_METADATA_NAME]).toBe("harbour");
    },
    "installed-software": async () => {
      const { metadata, spec, status } = await install("form");
      expect([metadata.name, spec.namespace, spec.source.catalog?.packageName, spec.source.catalog?.version]).toEqual([
        "form",
        "form",
        "p",
        "1.0.0",
      ]);
      expect(findCondition(status?.conditions, "Installed")?.reason).toBe("Succeeded");
      await openshift.submitForm({ name: "broken", packageName: "missing" });
      await eventually(async () =>
        expect(findCondition((await readExtension("broken")).status?.conditions, "Installed")?.reason).toBe("Failed"),
      );
    },
    migrated: async () => {
      const { items } = await cluster.client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
      expect(items.filter(({ metadata }) => metadata.annotations?.["olm.operatorframework.io/migrated-from-subscription"])).toEqual([]);
      expect(ANNOTATION_MIGRATED_FROM).toBe("olm.operatorframework.io/migrated-from-subscription");
    },
    form: async () => {
      const { spec, status } = await install("form");
      expect(spec.serviceAccount?.name).toBe("form-service-account");
      expect(status?.install?.catalog).toBe("harbour");
      expect(await cluster.client.get({ ...DEPLOYMENT, namespace: "form" })).toBeDefined();
    },
    "form-catalogs": async () => {
      const created = await openshift.submitForm({
        name: "several",
        packageName: "q",
        channels: ["stable"],
        catalogs: ["other", "changing"],
        namespace: "elsewhere",
      });
      expect(created["spec"]).toMatchObject(
        buildFormExtension({
          name: "several",
          packageName: "q",
          channels: ["stable"],
          catalogs: ["other", "changing"],
          namespace: "elsewhere",
        })["spec"] as object,
      );
      await eventually(async () => expect((await readExtension("several")).status?.conditions).toBeDefined());
    },
    "form-edit": async () => {
      await install("form");
      // The console shows an error if the object has changed, and the user reloads it.
      await eventually(async () => {
        const read = await readExtension("form");
        const { catalog } = read.spec.source;
        const edited = { ...read, spec: { ...read.spec, source: { ...read.spec.source, catalog: { ...catalog, version: "1.1.0" } } } };
        await cluster.client.raw("PUT", `/apis/${API_VERSION}/clusterextensions/form`, edited);
      });
      const { status } = (await world.ready("form", "1.1.0")) as ClusterExtension;
      expect(status?.support).toMatchObject({ state: "Supported", phase: "Full support", endDate: "2036-01-01" });
    },
    delete: async () => {
      await install("doomed");
      await remove("doomed", "Foreground");
      await eventually(async () => expect(await cluster.client.get({ ...DEPLOYMENT, namespace: "doomed" })).toBeUndefined());
    },
    "delete-keeping": async () => {
      await install("kept");
      await remove("kept", "Orphan");
      const kept = await cluster.client.get({ ...DEPLOYMENT, namespace: "kept" });
      expect(kept?.metadata.ownerReferences ?? []).toEqual([]);
      expect(kept?.metadata.deletionTimestamp).toBeUndefined();
    },
  };

  test("each contract of the page has a test, and each test a contract", () => {
    expect(contracts.length).toBeGreaterThan(0);
    expect(Object.keys(plays).sort()).toEqual(contracts.toSorted());
  });

  describe("contract", () => {
    test.for(contracts)("%s holds", async (contract) => {
      const play = plays[contract];
      if (!play) throw new Error(`no test plays contract ${contract}`);
      await play();
    });
  });
});
