import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_CREATED_FOR } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { Client } from "../kube/client.ts";
import { toRenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import { BundleReader } from "../sources/bundleReader.ts";
import { createClusterCatalog } from "../sources/clusterCatalogs.ts";
import { type InstallPreview, type InstallRequest, previewInstall } from "./installPreview.ts";

const BUNDLE = join(import.meta.dirname, "../../test/goldens/bundles/scoped");
const folder = new TempFolder();
afterAll(() => folder[Symbol.dispose]());

const bundle = (version: string): object => ({
  schema: "olm.bundle",
  package: "scoped",
  name: `scoped.v${version}`,
  image: `registry.example/scoped:${version}`,
  properties: [{ type: "olm.package", value: { packageName: "scoped", version } }],
});
const METAS = [
  { schema: "olm.package", name: "scoped" },
  { schema: "olm.channel", name: "stable", package: "scoped", entries: [{ name: "scoped.v1.0.0" }, { name: "scoped.v1.1.0" }] },
  bundle("1.0.0"),
  bundle("1.1.0"),
];
const CATALOG = createClusterCatalog("c", folder.write("c", { "catalog.json": METAS.map((meta) => JSON.stringify(meta)).join("\n") }));

const OLM = "/apis/olm.operatorframework.io/v1";
const NOT_FOUND = statusAnswer(404, "NotFound", "not found");
const RESOURCES: Record<string, object[]> = {
  "/api/v1": [
    { name: "namespaces", kind: "Namespace", namespaced: false },
    { name: "serviceaccounts", kind: "ServiceAccount", namespaced: true },
  ],
  [OLM]: [
    { name: "clusterextensions", kind: "ClusterExtension", namespaced: false },
    { name: "clustercatalogs", kind: "ClusterCatalog", namespaced: false },
  ],
};

/** Previews an installation on a cluster with these objects. Also returns the writes. */
async function preview(
  request: Partial<InstallRequest>,
  { extensions = [], account }: { extensions?: ClusterExtension[]; account?: KubeObject } = {},
): Promise<InstallPreview & { writes: string[] }> {
  await using api = await LoopbackApi.start(({ url }): Answer => {
    const [path = ""] = url.split("?");
    if (RESOURCES[path]) return { json: { resources: RESOURCES[path] } };
    if (path === "/api" || path === "/apis") return { json: { kind: "APIGroupDiscoveryList", items: [] } };
    if (path === `${OLM}/clustercatalogs`) return { json: { metadata: {}, items: [CATALOG] } };
    if (path === `${OLM}/clusterextensions`) return { json: { metadata: {}, items: extensions } };
    const existing = extensions.find(({ metadata }) => path === `${OLM}/clusterextensions/${metadata.name}`);
    if (existing) return { json: existing };
    return account && path.endsWith(`/serviceaccounts/${account.metadata.name}`) ? { json: account } : NOT_FOUND;
  });
  const client = Client.of(api.credentials());
  const bundles = new BundleReader({}, AbortSignal.timeout(60_000));
  const reader = {
    bundleImage: async () => toRenderableBundle(await bundles.bundle(BUNDLE)),
    catalogFolder: (ref: string) => Promise.resolve(ref),
  };
  const whole = {
    packageName: "scoped",
    channel: [],
    catalog: [],
    watchNamespace: [],
    config: undefined,
    systemNamespace: "olm",
    ...request,
  };
  try {
    const found = await previewInstall(client, whole, { reader, signal: AbortSignal.timeout(20_000) });
    const writes = api.requests.filter(({ method }) => method !== "GET").map(({ method, url }) => `${method} ${url}`);
    return { ...found, writes };
  } finally {
    await client.close();
    await bundles.close();
  }
}

const kinds = ({ preparation }: InstallPreview): string[] => (preparation?.objects ?? []).map(({ kind }) => kind);

test("previewInstall returns the extension, its permissions and the configuration schema, and writes nothing", async () => {
  const found = await preview({ version: "1.0.x" });
  expect(kinds(found)).toEqual(["ClusterExtension"]);
  expect(found.preparation).toMatchObject({ bundle: "scoped.v1.0.0", image: "registry.example/scoped:1.0.0" });
  expect(found.preparation?.extension.spec.source.catalog).toEqual({ packageName: "scoped", version: "1.0.x" });
  expect(found.preparation?.permissions?.needed.clusterRules.length).toBeGreaterThan(0);
  expect(found.configSchema).toMatchObject({ type: "object" });
  expect([found.exists, found.writes]).toEqual([false, []]);
});

test("previewInstall includes the ServiceAccount and roles that an installation creates", async () => {
  const found = await preview({ createServiceAccount: true, namespace: "place" });
  expect(kinds(found)).toEqual(expect.arrayContaining(["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"]));
  expect(kinds(found).at(-1)).toBe("ClusterExtension");
  expect(found.preparation?.adopted).toBeUndefined();
});

test("previewInstall reports a ServiceAccount of another owner, and does not label it", async () => {
  const metadata = { name: "scoped-installer", namespace: "place", labels: { [LABEL_CREATED_FOR]: "other" } };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata };
  const found = await preview({ createServiceAccount: true, namespace: "place" }, { account });
  expect(found.preparation?.adopted).toEqual({ account: "place/scoped-installer", createdFor: "other" });
  expect(kinds(found)).not.toContain("ServiceAccount");
});

test("previewInstall explains why no bundle matches", async () => {
  const found = await preview({ version: ">2" });
  expect(found.preparation).toBeUndefined();
  expect(found.answer.record.outcome).toMatchObject({ kind: "unresolved" });
});

test("previewInstall rejects a package that another extension installs", async () => {
  const { preparation } = await preview({ name: "first" });
  const extensions = preparation ? [preparation.extension] : [];
  await expect(preview({}, { extensions })).rejects.toThrow('ClusterExtension "first" already installs package "scoped"');
  await expect(preview({ name: "first", version: "1.0.0" }, { extensions })).rejects.toThrow(
    "exists with another spec.source.catalog.version",
  );
  expect(kinds(await preview({ name: "first" }, { extensions }))).toEqual([]);
});
