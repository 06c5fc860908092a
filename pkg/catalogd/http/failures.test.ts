import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ContentWorld, WORLD_DIGEST } from "../../../test/support/contentWorld.ts";
import { QueryThreads } from "../graphql/queryThreads.ts";
import { MAKER } from "../store/encodings.ts";
import { createCatalogRoutes } from "./catalogRoutes.ts";
import { buildOpenApiDocument } from "./openApi.ts";
import { wantsProblemDetails } from "./problem.ts";
import { ResponseCache } from "./responseCache.ts";

const LINE = '{"name":"p","schema":"olm.package"}\n';
let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({ "b-catalog": LINE, "a-catalog": `${LINE}{"name":"c","package":"p","schema":"olm.channel"}\n` });
});
afterAll(() => world.close());

const WANTED = { accept: "application/problem+json, text/plain;q=0.5" };
const BASE = "/catalogs/a-catalog/api/v1";

describe("problem details for clients that request them", () => {
  test.for<[method: string, path: string, headers: Record<string, string>, status: number, code: string]>([
    ["GET", "/nothing", {}, 404, "PathNotFound"],
    ["GET", "/catalogs/", {}, 404, "PathNotFound"],
    ["DELETE", `${BASE}/all`, {}, 405, "MethodNotAllowed"],
    ["GET", "/catalogs/unknown/api/v1/all", {}, 404, "CatalogNotFound"],
    ["GET", "/catalogs/UPPER/api/v1/metas", {}, 400, "InvalidCatalogName"],
    ["GET", `${BASE}/metas?other=1`, {}, 400, "InvalidQuery"],
    ["GET", `${BASE}/metas?schema=%zz`, {}, 400, "InvalidQuery"],
    ["GET", "/catalogs/%zz/api/v1/all", {}, 400, "BadRequest"],
    ["GET", `${BASE}/all`, { range: "bytes=99999-" }, 416, "RangeNotSatisfiable"],
    ["GET", `${BASE}/all`, { "if-match": '"x"' }, 412, "PreconditionFailed"],
    ["GET", `${BASE}/metas`, { "if-match": '"x"' }, 412, "PreconditionFailed"],
  ])(
    "%s %s with headers %j fails with problem details if the client accepts problem details",
    async ([method, path, headers, status, code]) => {
      const got = await world.call(method, path, { ...WANTED, ...headers });
      expect(got.headers).toMatchObject({
        "content-type": "application/problem+json",
        "x-content-type-options": "nosniff",
        vary: "Accept-Encoding, Accept",
        "content-length": String(got.body.length),
      });
      const details = JSON.parse(got.body.toString()) as Record<string, unknown>;
      expect(details).toEqual({
        type: `urn:olmv1:problem:${code}`,
        title: expect.stringMatching(/^[A-Z]/),
        status,
        detail: expect.stringMatching(/./),
        instance: path.split("?", 1)[0],
        code,
      });
      expect(got.status).toBe(status);
      const plain = await world.call(method, path, headers);
      expect([plain.status, plain.headers["vary"]]).toEqual([status, "Accept-Encoding"]);
      expect(plain.headers["content-type"]).not.toBe("application/problem+json");
      if (status === 416) expect(got.headers["content-range"]).toBe(plain.headers["content-range"]);
    },
  );

  test.for<[string | undefined, boolean]>([
    [undefined, false],
    ["*/*", false],
    ["application/*", false],
    ["application/json", false],
    ["application/problem+json", true],
    ["text/html, Application/Problem+JSON;q=0.1", true],
    ["application/problem+json;q=0", false],
    ["application/problem+json-seq", false],
  ])("wantsProblemDetails with Accept header %j returns %s", ([accept, wanted]) => {
    expect(wantsProblemDetails(accept)).toBe(wanted);
  });
});

describe("routes that Go does not have always report errors as problem details", () => {
  test.for(["/catalogs", "/openapi.json"])("%s reports an unsupported method with problem details", async (path) => {
    const { status, headers, body } = await world.call("POST", path, {}, "x");
    expect([status, headers["content-type"], headers["allow"]]).toEqual([405, "application/problem+json", "GET, HEAD"]);
    expect(JSON.parse(body.toString())).toMatchObject({ code: "MethodNotAllowed", instance: path });
  });
});

describe("/catalogs", () => {
  test("/catalogs lists served catalogs, sorted by name", async () => {
    const { status, headers, body } = await world.get("/catalogs");
    expect([status, headers["content-type"], headers["vary"]]).toEqual([200, "application/json", "Accept-Encoding"]);
    const { catalogs } = JSON.parse(body.toString()) as { catalogs: Record<string, unknown>[] };
    expect(catalogs.map(({ name }) => name)).toEqual(["a-catalog", "b-catalog"]);
    expect(catalogs[0]).toMatchObject({
      name: "a-catalog",
      state: "Serving",
      digest: WORLD_DIGEST,
      ref: `registry.example/catalog@${WORLD_DIGEST}`,
      lastUnpacked: "2026-02-03T04:05:06Z",
      lastModified: "2026-02-03T04:05:06Z",
      objects: 2,
      bytes: 86,
      encodings: expect.arrayContaining(["gzip"]),
    });
  });

  test("/catalogs supports conditional requests", async () => {
    const { headers, body } = await world.get("/catalogs");
    const etag = String(headers["etag"]);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const known = await world.get("/catalogs", { "if-none-match": etag });
    expect([known.status, known.body.length, known.headers["etag"]]).toEqual([304, 0, etag]);
    expect((await world.get("/catalogs", { "if-match": '"x"' })).status).toBe(412);
    const head = await world.call("HEAD", "/catalogs");
    expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([200, 0, String(body.length)]);
  });

  test("/catalogs lists known catalogs that are not loaded yet", async () => {
    const other = await ContentWorld.start({}, { source: { get: () => undefined, catalogs: () => ["z", "later"] } });
    const { body } = await other.get("/catalogs");
    await other.close();
    expect(JSON.parse(body.toString())).toEqual({
      catalogs: [
        { name: "later", state: "Loading" },
        { name: "z", state: "Loading" },
      ],
    });
  });
});

test("/openapi.json returns the OpenAPI document of all routes", async () => {
  const { status, headers, body } = await world.get("/openapi.json");
  expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
  const routes = createCatalogRoutes({ source: world.store, cache: new ResponseCache(), graphs: new QueryThreads() });
  expect(JSON.parse(body.toString())).toEqual(buildOpenApiDocument(routes));
  const etag = String(headers["etag"]);
  expect((await world.get("/openapi.json", { "if-none-match": etag })).status).toBe(304);
  const zipped = await world.get("/openapi.json", { "accept-encoding": "gzip" });
  expect(zipped.headers["content-encoding"]).toBe("gzip");
  expect(zipped.headers["etag"]).toBe(`${etag.slice(0, -1)}.${MAKER.gzip}-gzip"`);
});
