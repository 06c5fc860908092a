import { expect, test } from "vitest";
import * as z from "zod/mini";
import { type Answer, LoopbackApi, statusAnswer } from "../../../test/support/loopbackApi.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { CatalogContentOrigin, CatalogFindings, CatalogView } from "../../consoleapi/catalogs.ts";
import { Client } from "../../kube/client.ts";
import { CatalogConnections } from "../../operatorcontroller/catalogs/catalogConnections.ts";
import { ServiceProxyRequests, ServiceRequests } from "../../sources/catalogdRequests.ts";
import { createClusterCatalog } from "../../sources/clusterCatalogs.ts";
import type { CatalogOrigin } from "../../sources/contentSources.ts";
import { ServedCatalogs } from "../../sources/servedCatalogs.ts";
import { CatalogEditions } from "./catalogEditions.ts";
import { buildCatalogView } from "./catalogView.ts";
import { readContentOrigin } from "./contentOrigin.ts";
import { parseFindings, readServedFindings } from "./servedFindings.ts";

const FINDING = {
  rule: "channel-empty",
  severity: "error",
  message: "no bundles",
  place: { file: "a.yaml", document: 2, line: 7 },
  schema: "olm.channel",
  package: "a",
  name: "c",
};
const LINES = `${JSON.stringify(FINDING)}\n{"rule":1}\nnot json\n`;

/** Returns a served catalog. @param base address of its content */
function createCatalog(base: string, image = "quay.io/x/y@sha256:1"): ClusterCatalog {
  const catalog = createClusterCatalog("main", image);
  const condition = (type: string, status: "True" | "False", message: string) => ({
    type,
    status,
    reason: "X",
    message,
    lastTransitionTime: "",
  });
  return {
    ...catalog,
    metadata: { name: "main", uid: "u" },
    status: {
      ...catalog.status,
      urls: { base },
      conditions: [condition("Serving", "True", ""), condition("Valid", "False", "6 errors.\nAll findings: x\nerror: a\nerror: b")],
    },
  };
}

test("buildCatalogView shows whole sentences of conditions, and a manifest that switches the catalog off", () => {
  const view = z.parse(CatalogView, buildCatalogView(createCatalog("http://x/catalogs/main"), { installed: undefined, events: "no" }));
  expect(view.conditions.map(({ type, state, message }) => [type, state.mood, message])).toEqual([
    ["Serving", "good", ""],
    ["Valid", "bad", "6 errors."],
  ]);
  expect(view.toggle).toContain("availabilityMode: Unavailable");
  expect([view.extensions, view.events]).toEqual([undefined, { error: "no" }]);
});

test("parseFindings returns file and line, and skips lines of another form", () => {
  expect(parseFindings(LINES)).toEqual([
    {
      rule: "channel-empty",
      severity: "error",
      message: "no bundles",
      schema: "olm.channel",
      package: "a",
      name: "c",
      file: "a.yaml",
      line: 7,
    },
  ]);
});

/** Reads the findings of a catalog with this address from an API server with this answer. */
async function read(base: string, answer: Answer, isLaptop = true): Promise<CatalogFindings & { urls: string[] }> {
  await using api = await LoopbackApi.start(() => answer);
  const client = Client.of(api.credentials());
  const direct = new CatalogConnections();
  const requests = isLaptop ? new ServiceProxyRequests(client, direct, api.url) : new ServiceRequests(direct);
  const served = new ServedCatalogs({ requests, cluster: api.url });
  try {
    const found = await readServedFindings(served, createCatalog(base), AbortSignal.timeout(10_000));
    return { ...z.parse(CatalogFindings, found), urls: api.requests.map(({ url }) => url) };
  } finally {
    await served.close();
    await client.close();
  }
}

test("readServedFindings reads through the API server's proxy to the Service of catalogd", async () => {
  const { urls } = await read("https://catalogd-service.olmv1-system.svc/catalogs/main", { json: {} });
  expect(urls).toEqual(["/api/v1/namespaces/olmv1-system/services/https:catalogd-service:443/proxy/catalogs/main/findings"]);
});

test("readServedFindings explains a missing permission, and returns the first findings of the status", async () => {
  const found = await read("https://catalogd-service.olmv1-system.svc/catalogs/main", statusAnswer(403, "Forbidden", "no"));
  expect(found).toMatchObject({ findings: [], first: ["error: a", "error: b"], command: "olmv1 catalog validate quay.io/x/y@sha256:1" });
  expect(found.unavailable).toContain("get services/proxy");
});

test.for<[base: string, isLaptop: boolean]>([
  ["http://169.254.169.254/catalogs/main", true],
  ["http://intranet.example/catalogs/main", true],
  ["http://127.0.0.1:1/catalogs/main", false],
])("readServedFindings does not send requests to %s (laptop: %s)", async ([base, isLaptop]) => {
  const { unavailable, urls } = await read(base, { json: {} }, isLaptop);
  expect([unavailable, urls]).toEqual([expect.stringContaining("does not read catalogs from"), []]);
});

test.for<[what: string, origin: () => Promise<CatalogOrigin>, shown: object]>([
  ["catalogd", async () => ({ from: "catalogd" }), { from: "catalogd" }],
  ["the registry", async () => ({ from: "registry" }), { from: "registry" }],
  [
    "the registry with a reason",
    async () => ({ from: "registry", because: "status 403: no" }),
    { from: "registry", because: "status 403: no" },
  ],
  ["nowhere", () => Promise.reject(new Error("https://u:p@x/ failed")), { from: "nowhere", because: "https://[redacted]@x/ failed" }],
])("readContentOrigin reports content from %s, without secrets", async ([, origin, shown]) => {
  const found = await readContentOrigin(createCatalog("http://x/catalogs/main"), { origin }, AbortSignal.timeout(10_000));
  expect(z.parse(CatalogContentOrigin, found)).toEqual(shown);
});

test("readContentOrigin does not read a catalog that is not served", async () => {
  const catalog = { ...createCatalog("http://x/catalogs/main"), status: {} };
  const found = await readContentOrigin(catalog, { origin: () => Promise.reject(new Error("read")) }, AbortSignal.timeout(10_000));
  expect(found).toEqual({ from: "nowhere", because: 'catalog "main" is not being served' });
});

test("CatalogEditions compares the content with the content before, breaking differences first", async () => {
  using folder = new TempFolder();
  const packageOf = (name: string): string => `${JSON.stringify({ schema: "olm.package", name, defaultChannel: "a" })}\n`;
  const paths: Record<string, string> = {
    one: folder.write("one", { "catalog.json": packageOf("a") + packageOf("b") }),
    two: folder.write("two", { "catalog.json": packageOf("0") + packageOf("b") }),
  };
  const find = async (ref: string): Promise<string> => paths[ref] ?? "";
  const lease = { catalogFolder: find, replacedFolder: find };
  const editions = new CatalogEditions();
  const compare = (ref: string) => editions.compare(createCatalog("", ref), lease, AbortSignal.timeout(10_000));
  editions.note([createCatalog("", "one")]);
  expect(await compare("one")).toEqual({ differences: [], omitted: 0 });
  editions.note([createCatalog("", "two")]);
  editions.note([createCatalog("", "two")]);
  const { before, differences } = await compare("two");
  expect([before, differences.map(({ change, package: name, isBreaking }) => [change, name, isBreaking])]).toEqual([
    "one",
    [
      ["removed", "a", true],
      ["added", "0", false],
    ],
  ]);
});
