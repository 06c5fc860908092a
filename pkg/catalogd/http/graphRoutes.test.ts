import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CatalogStore } from "../catalogStore.ts";
import { type ContentServer, startContentServer } from "./contentServer.ts";

const log = createLogger({ component: "test", level: "silent" });
const folder = new TempFolder();
const agent = new Agent();
let store: CatalogStore;
let server: ContentServer;

function bundle(name: string, version: string): string {
  const properties = [{ type: "olm.package", value: { packageName: "p", version } }];
  return JSON.stringify({ schema: "olm.bundle", package: "p", name, image: `registry.example/p:${version}`, properties });
}

const METAS = [
  '{"schema":"olm.package","name":"p","defaultChannel":"stable"}',
  '{"schema":"olm.channel","package":"p","name":"stable","entries":[{"name":"p.v1.0.0"},{"name":"p.v1.1.0","replaces":"p.v1.0.0"},{"name":"p.v2.0.0","skipRange":">=1.0.0 <2.0.0"}]}',
  '{"schema":"olm.channel","package":"p","name":"old","entries":[{"name":"p.v1.0.0"}]}',
  '{"schema":"olm.deprecations","package":"p","entries":[{"reference":{"schema":"olm.channel","name":"old"},"message":"use stable"}]}',
  bundle("p.v1.0.0", "1.0.0"),
  bundle("p.v1.1.0", "1.1.0"),
  bundle("p.v2.0.0", "2.0.0"),
  '{"schema":"olm.package","name":"wide","defaultChannel":"c"}',
  `{"schema":"olm.channel","package":"wide","name":"c","entries":[{"name":"${"w".repeat(4_000)}","skips":[${Array.from({ length: 20_000 }, (_, i) => `"s${i}"`).join()}]}]}`,
  '{"schema":"olm.bundle","package":"wide","name":"w","image":"i","properties":[{"type":"olm.package","value":{"packageName":"wide","version":"1.0.0"}}]}',
  '{"schema":"olm.package","name":"huge","defaultChannel":"c"}',
  `{"schema":"olm.channel","package":"huge","name":"c","entries":[${Array.from({ length: 5_001 }, (_, i) => `{"name":"huge.v${i}"}`).join()}]}`,
  '{"schema":"olm.bundle","package":"huge","name":"huge.v0","image":"i","properties":[{"type":"olm.package","value":{"packageName":"huge","version":"1.0.0"}}]}',
];

beforeAll(async () => {
  store = await CatalogStore.open({ dir: `${folder.path}/catalogs`, log });
  const origin = { ref: "registry.example/c@sha256:1", digest: "sha256:1", lastUnpacked: "2026-01-02T03:04:05Z" };
  await store.store("cat", folder.write("c", { "a.json": METAS.join("\n") }), origin, new AbortController().signal);
  server = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: store, log });
});

afterAll(async () => {
  await server.close();
  await store.close();
  await agent.close();
  folder[Symbol.dispose]();
});

interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Got> {
  const url = `http://127.0.0.1:${server.address.port}/api/v1/catalogs/${path}`;
  const response = await request(url, { headers, dispatcher: agent });
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
}

test("graph endpoint returns JSON by default, with the bundles that each skipRange contains", async () => {
  const { status, headers, text } = await get("cat/packages/p/graph");
  expect([status, headers["content-type"], headers["vary"]]).toEqual([200, "application/json", "Accept, Accept-Encoding"]);
  expect(JSON.parse(text)).toEqual({
    package: "p",
    defaultChannel: "stable",
    channels: [
      { name: "old", deprecated: "use stable", nodes: [{ name: "p.v1.0.0", version: "1.0.0", head: true }], edges: [], ranges: [] },
      {
        name: "stable",
        nodes: [
          { name: "p.v2.0.0", version: "2.0.0", head: true },
          { name: "p.v1.1.0", version: "1.1.0", head: true },
          { name: "p.v1.0.0", version: "1.0.0" },
        ],
        edges: [{ from: "p.v1.0.0", to: "p.v1.1.0", type: "replaces" }],
        ranges: [{ to: "p.v2.0.0", range: ">=1.0.0 <2.0.0", covers: [{ first: 1, last: 2 }] }],
      },
    ],
  });
});

test.for<[string, Record<string, string>, string, RegExp]>([
  ["?format=svg", {}, "image/svg+xml", /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/],
  ["", { accept: "image/svg+xml" }, "image/svg+xml", /^<svg /],
  ["?format=mermaid", { accept: "image/svg+xml" }, "text/vnd.mermaid", /^graph LR\n/],
  ["", { accept: "text/*, application/json;q=0.5" }, "text/vnd.mermaid", /^graph LR\n/],
  ["", { accept: "image/png" }, "application/json", /^\{"package":"p"/],
  ["?format=json", { accept: "image/svg+xml" }, "application/json", /^\{"package":"p"/],
])("graph endpoint with query %j and headers %j returns %s", async ([query, headers, type, body]) => {
  const response = await get(`cat/packages/p/graph${query}`, headers);
  expect([response.status, response.headers["content-type"]]).toEqual([200, type]);
  expect(response.text).toMatch(body);
});

test("the Content-Security-Policy of an SVG graph forbids scripts and resources", async () => {
  const { headers } = await get("cat/packages/p/graph?format=svg");
  expect(headers["content-security-policy"]).toContain("default-src 'none'");
  expect(headers["x-content-type-options"]).toBe("nosniff");
});

test("graph endpoint returns only the requested channels, and only bundles from the requested minimum on", async () => {
  const channels = async (query: string): Promise<string[]> => {
    const { text } = await get(`cat/packages/p/graph?${query}`);
    const { channels: some } = JSON.parse(text) as { channels: { name: string; nodes: { name: string }[] }[] };
    return some.map(({ name, nodes }) => `${name}: ${nodes.map((node) => node.name).join(" ")}`);
  };
  expect(await channels("channel=old")).toEqual(["old: p.v1.0.0"]);
  expect(await channels("channel=old&channel=stable")).toHaveLength(2);
  expect(await channels("minimum=p.v1.1.0")).toEqual(["stable: p.v2.0.0 p.v1.1.0"]);
});

test("graph endpoint returns 304 when the entity tag matches", async () => {
  const { headers } = await get("cat/packages/p/graph");
  const again = await get("cat/packages/p/graph", { "if-none-match": String(headers["etag"]) });
  expect([again.status, again.text, again.headers["etag"]]).toEqual([304, "", headers["etag"]]);
});

test.for([
  ["cat/packages/q/graph", 404, "PackageNotFound"],
  ["dog/packages/p/graph", 404, "CatalogNotFound"],
  ["CAT/packages/p/graph", 400, "InvalidCatalogName"],
  ["cat/packages/p/graph?channel=new", 404, "ChannelNotFound"],
  ["cat/packages/p/graph?minimum=p.v9", 400, "InvalidQuery"],
  ["cat/packages/p/graph?format=png", 400, "InvalidQuery"],
  ["cat/packages/p/graph?depth=1", 400, "InvalidQuery"],
  ["cat/packages/huge/graph?format=svg", 413, "GraphTooLarge"],
  ["cat/packages/wide/graph", 413, "GraphTooLarge"],
] as const)("%s returns %d %s", async ([path, status, code]) => {
  const response = await get(path);
  expect([response.status, response.headers["content-type"]]).toEqual([status, "application/problem+json"]);
  expect(JSON.parse(response.text)).toMatchObject({ status, code });
});
