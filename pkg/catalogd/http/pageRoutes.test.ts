import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ContentWorld, type Got } from "../../../test/support/contentWorld.ts";
import { loadConsoleAssets } from "../../serving/consoleAssets.ts";

const page = loadConsoleAssets();
const SCRIPT = page.paths().find((path) => /^assets\/index-.*\.js$/.test(path)) ?? "";
const FONT = page.paths().find((path) => path.endsWith(".woff2")) ?? "";

let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({}, { page });
});
afterAll(() => world.close());

test.for<[path: string, type: string]>([
  ["/ui", "text/html; charset=utf-8"],
  [`/ui/${SCRIPT}`, "text/javascript; charset=utf-8"],
  [`/ui/${FONT}`, "font/woff2"],
  ["/ui/theme.js", "text/javascript; charset=utf-8"],
  ["/ui/favicon.svg", "image/svg+xml"],
])("%s has a Content-Security-Policy, and returns 304 when the entity tag matches", async ([path, type]) => {
  const { status, headers, body } = await world.get(path);
  expect([status, headers["content-type"], headers["x-content-type-options"]]).toEqual([200, type, "nosniff"]);
  const policy = String(headers["content-security-policy"]).split("; ");
  expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]));
  expect(policy.filter((rule) => /unsafe|\*|http/.test(rule))).toEqual([]);
  const again = await world.get(path, { "if-none-match": String(headers["etag"]) });
  expect([again.status, again.body.length]).toEqual([304, 0]);
  const head = await world.call("HEAD", path);
  expect([head.status, head.headers["content-length"], head.body.length]).toEqual([200, String(body.length), 0]);
});

test("/ui sends the compressed file of the build to clients that accept gzip", async () => {
  const path = `/ui/${SCRIPT}`;
  const gzip = (weight: string): Promise<Got> => world.get(path, { "accept-encoding": weight });
  const [plain, compressed] = [await gzip("gzip;q=0"), await gzip("zstd, gzip")];
  expect([plain.headers["content-encoding"], compressed.headers["content-encoding"]]).toEqual([undefined, "gzip"]);
  expect(gunzipSync(compressed.body).equals(plain.body)).toBe(true);
  expect(compressed.headers["etag"]).not.toBe(plain.headers["etag"]);
});

test("browsers keep files with a hash in their name, and check others for changes", async () => {
  const getCaching = async (path: string): Promise<unknown> => (await world.get(path)).headers["cache-control"];
  expect(await getCaching(`/ui/${SCRIPT}`)).toBe("public, max-age=31536000, immutable");
  expect([await getCaching("/ui"), await getCaching("/ui/theme.js")]).toEqual(["no-cache", "no-cache"]);
});

test("the page is in catalog mode, and its addresses are relative", async () => {
  const html = String((await world.get("/ui")).body);
  expect(html).toContain('<meta name="olmv1-mode" content="catalog"');
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address);
  expect(addresses.length).toBeGreaterThan(2);
  for (const address of addresses) expect(address).toMatch(/^ui\/[\w./-]+$/);
});

test.for(["/ui/index.html", "/ui/none.js", "/ui/assets/none.js", "/ui/assets/..%2Findex.html", "/ui/..%2f..%2fpackage.json", "/ui/%00"])(
  "%s returns 404",
  async (path) => {
    const { status, headers } = await world.get(path);
    expect([status, headers["content-type"]]).toEqual([404, "application/problem+json"]);
  },
);

test("/ui returns 404 with the reason when the page was not built", async () => {
  const unbuilt = await ContentWorld.start({});
  try {
    for (const path of ["/ui", `/ui/${SCRIPT}`]) {
      const { status, body } = await unbuilt.get(path);
      expect([status, String(body)]).toEqual([404, expect.stringContaining("the web console is not built: run npm run console")]);
    }
  } finally {
    await unbuilt.close();
  }
});

test.for<[accept: string | undefined, status: number, location: string | undefined]>([
  ["text/html,application/xhtml+xml,*/*;q=0.8", 302, "ui"],
  ["text/html;q=0", 404, undefined],
  ["*/*", 404, undefined],
  [undefined, 404, undefined],
])("/ with Accept header %s returns status %i", async ([accept, status, location]) => {
  const { status: found, headers } = await world.get("/", accept === undefined ? {} : { accept });
  expect([found, headers["location"]]).toEqual([status, location]);
});
