import { fastify } from "fastify";
import { afterAll, expect, test } from "vitest";
import { listPageFiles, loadConsoleAssets } from "../../serving/consoleAssets.ts";
import { registerPages } from "./pageRoutes.ts";

const assets = loadConsoleAssets();
const app = fastify();
registerPages(app, assets);
afterAll(() => app.close());

test.each([
  ["/", "/"],
  ["/extensions", "/extensions"],
  ["/extensions/?sort=name", "/extensions"],
  ["/extensions/a.b", "/extensions/:name"],
  ["/extensions/a/objects?object=v1+Pod", "/extensions/:name/objects"],
  ["/packages/a%2Fb/install", "/packages/:package/install"],
  ["/extensions/a/objects/b", "*"],
  ["/none", "*"],
])("the page of %s refers to the files of %s", async (url, path) => {
  const { body, headers } = await app.inject(url);
  expect(headers["content-type"]).toContain("text/html");
  const files = listPageFiles(assets, "console").find((page) => page.path === path)?.files ?? [];
  expect(files.length).toBeGreaterThan(5);
  expect(new Set([...body.matchAll(/"\/(assets\/[^"]+)"/g)].map(([, file]) => file))).toEqual(new Set(files));
});
