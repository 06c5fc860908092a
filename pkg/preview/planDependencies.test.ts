import { afterAll, expect, test } from "vitest";
import { propertiesFrom } from "../../test/support/dependencyFixture.ts";
import { createExtension } from "../../test/support/extensions.ts";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { Client } from "../kube/client.ts";
import { filterCandidates } from "../resolve/resolve.ts";
import { readPackage } from "../sources/catalogContent.ts";
import { createClusterCatalog } from "../sources/clusterCatalogs.ts";
import { createPlanDependencies } from "./planDependencies.ts";
import { createDependencySearch, type DependencySearch } from "./previewChoice.ts";

const folder = new TempFolder();
afterAll(() => folder[Symbol.dispose]());

const bundle = (packageName: string, version: string, requires: string[] = []): object => ({
  schema: "olm.bundle",
  package: packageName,
  name: `${packageName}.v${version}`,
  image: `registry.example/${packageName}:${version}`,
  properties: [{ type: "olm.package", value: { packageName, version } }, ...propertiesFrom({ requires })],
});
const METAS = [
  ...["p", "q", "r"].map((name) => ({ schema: "olm.package", name })),
  bundle("p", "1.0.0", ["q >=1.0.0"]),
  bundle("q", "1.0.0", ["p >=1.0.0"]),
  bundle("q", "1.1.0", ["p >=1.0.0"]),
  bundle("r", "1.0.0"),
];
const DIR = folder.write("c", { "catalog.json": METAS.map((meta) => JSON.stringify(meta)).join("\n") });

const planned = (packageName: string, version: string) => ({
  bundle: { name: `${packageName}.v${version}`, version },
  catalog: "c",
  image: `registry.example/${packageName}:${version}`,
  wave: 1,
});
/** The plan of extension p with the lower version of q. */
const PLAN = {
  digest: "stored",
  ...planned("p", "1.0.0"),
  members: [{ ...planned("q", "1.0.0"), extension: "q", packageName: "q", created: true }],
};

function create(name: string, status?: ClusterExtension["status"]): ClusterExtension {
  const extension = createExtension(name, { packageName: name });
  return { ...extension, spec: { ...extension.spec, dependencies: { policy: "Install" } }, ...(status ? { status } : {}) };
}

const LIST = "/apis/olm.operatorframework.io/v1/clusterextensions";

/** Chooses the bundle of an extension; `list` is the answer to a request for all extensions. */
async function choose(extension: ClusterExtension, list: Answer, search?: DependencySearch) {
  const asked: string[] = [];
  await using api = await LoopbackApi.start(({ url }) => {
    const [path = ""] = url.split("?");
    asked.push(path);
    if (path === LIST) return list;
    if (path === "/api" || path === "/apis") return { json: { kind: "APIGroupDiscoveryList", items: [] } };
    const resources = [{ name: "clusterextensions", kind: "ClusterExtension", namespaced: false, verbs: ["list"] }];
    return path === "/apis/olm.operatorframework.io/v1" ? { json: { resources } } : statusAnswer(403, "Forbidden", "forbidden");
  });
  const client = Client.of(api.credentials());
  const catalogs = [createClusterCatalog("c", DIR)];
  const { packageName } = extension.spec.source.catalog ?? { packageName: "" };
  const content = await readPackage(DIR, packageName);
  const filtered = filterCandidates({ source: { packageName }, catalogs: [{ name: "c", priority: 0, content }] });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const reader = { catalogFolder: (ref: string) => Promise.resolve(ref) };
  const dependencies = createPlanDependencies({ client, catalogs, usesClusterCatalogs: true, reader, search });
  try {
    const { resolution, plan } = await dependencies.choose(extension, filtered, catalogs, AbortSignal.timeout(20_000));
    const name = resolution.kind === "resolved" ? resolution.bundle.name : undefined;
    const images = plan?.members.map(({ image }) => image);
    return { name, digest: plan?.status.digest, images, hasBundles: plan?.bundles !== undefined, unchecked: dependencies.unchecked, asked };
  } finally {
    await client.close();
  }
}

const listing = (...items: ClusterExtension[]): Answer => ({ json: { metadata: {}, items } });
const FORBIDDEN = statusAnswer(403, "Forbidden", "clusterextensions is forbidden");

test("PlanDependencies plans the missing dependencies of a new extension, with the images of the catalog", async () => {
  const found = await choose(create("p"), listing());
  expect(found).toMatchObject({ name: "p.v1.0.0", images: ["registry.example/p:1.0.0", "registry.example/q:1.1.0"], hasBundles: true });
});

test("PlanDependencies keeps the plan in the status when the catalogs still contain it", async () => {
  const root = create("p", { dependencyPlan: PLAN });
  expect(await choose(root, listing(root))).toMatchObject({ digest: "stored", hasBundles: true, unchecked: undefined });
});

test("PlanDependencies makes another plan when the image of a planned bundle has changed", async () => {
  const [member] = PLAN.members;
  const root = create("p", { dependencyPlan: { ...PLAN, members: [{ ...member!, image: "registry.example/other" }] } });
  const found = await choose(root, listing(root));
  expect([found.digest === "stored", found.images]).toEqual([false, ["registry.example/p:1.0.0", "registry.example/q:1.1.0"]]);
});

test("PlanDependencies chooses the planned bundle when the extension is in the plan of another one", async () => {
  const member = create("q", {});
  const found = await choose(member, listing(create("p", { dependencyPlan: PLAN }), member));
  expect(found).toMatchObject({ name: "q.v1.0.0", digest: "stored", hasBundles: true });
});

test("PlanDependencies returns the plan in the status, and why it was not checked, when listing extensions is forbidden", async () => {
  const found = await choose(create("p", { dependencyPlan: PLAN }), FORBIDDEN);
  expect(found).toMatchObject({ name: "p.v1.0.0", digest: "stored", hasBundles: false });
  expect(found.unchecked).toMatch(/the installed bundles of other extensions cannot be read: .*forbidden/);
});

test("PlanDependencies reads nothing from the cluster for a new extension without dependencies", async () => {
  expect(await choose(create("r"), FORBIDDEN)).toMatchObject({ name: "r.v1.0.0", unchecked: undefined, asked: [] });
});

test("createPlanDependencies uses the given search when a bundle needs another one", async () => {
  const { constraints, search } = createDependencySearch();
  const searched: string[] = [];
  const find: typeof search.find = (request) => {
    searched.push(request.bundle.name);
    return search.find(request);
  };
  const found = await choose(create("p"), { json: { metadata: {}, items: [] } }, { constraints, search: { find } });
  expect([found.name, searched]).toEqual(["p.v1.0.0", ["p.v1.0.0"]]);
});
