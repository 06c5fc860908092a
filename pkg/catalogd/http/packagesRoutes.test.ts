import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ContentWorld, WORLD_DIGEST } from "../../../test/support/contentWorld.ts";
import { PackageLine, PropertiesLine } from "./packagesRoutes.ts";

const lines = (...metas: object[]): string => metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
const property = (type: string, value: unknown): object => ({ type, value });
const bundle = (pkg: string, version: string, properties: object[] = []): object => ({
  schema: "olm.bundle",
  package: pkg,
  name: `${pkg}.v${version}`,
  image: `quay.io/example/${pkg}:${version}`,
  properties: [property("olm.package", { packageName: pkg, version }), ...properties],
});
const channel = (pkg: string, name: string, ...versions: string[]): object => ({
  schema: "olm.channel",
  package: pkg,
  name,
  entries: versions.map((version) => ({ name: `${pkg}.v${version}` })),
});

const METADATA = property("olm.csv.metadata", {
  displayName: "Etcd",
  annotations: { capabilities: "Full Lifecycle" },
  keywords: ["kv"],
  provider: { name: "CNCF" },
});
const OBJECT = property("olm.bundle.object", { data: Buffer.from('{"kind":"ConfigMap"}').toString("base64") });
const REQUIRED = property("olm.gvk.required", { group: "cert-manager.io", version: "v1", kind: "Certificate" });
const ETCD = [
  { schema: "olm.package", name: "etcd", defaultChannel: "stable" },
  channel("etcd", "stable", "1.0.0"),
  bundle("etcd", "1.0.0", [METADATA, OBJECT, REQUIRED]),
  bundle("etcd", "1.1.0+7"),
];
const OTHERS = Array.from({ length: 40 }, (_, i) => bundle(`other-${i}`, "1.0.0"));

let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({
    test: lines(...OTHERS, ...ETCD),
    changed: lines(...OTHERS.toReversed(), ...ETCD.slice(0, 3), bundle("etcd", "1.1.0+8")),
    empty: "",
  });
});
afterAll(() => world.close());

const parsed = (body: Buffer): Record<string, unknown>[] =>
  body
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("packages", () => {
  test("packages endpoint returns one line for each package, sorted by name", async () => {
    const { status, headers, body } = await world.get("/catalogs/test/packages");
    expect([status, headers["content-type"], headers["accept-ranges"], headers["olm-catalog-digest"]]).toEqual([
      200,
      "application/jsonl",
      "bytes",
      WORLD_DIGEST,
    ]);
    const names = parsed(body).map((line) => String(line["package"]));
    expect(names).toEqual(["etcd", ...OTHERS.map((_, i) => `other-${i}`)].toSorted());
    for (const line of parsed(body)) PackageLine.parse(line);
  });

  test("packages endpoint returns the summary fields of one package", async () => {
    const { body } = await world.get("/catalogs/test/packages?package=etcd");
    expect(parsed(body)).toEqual([
      expect.objectContaining({
        package: "etcd",
        defaultChannel: "stable",
        channels: [{ name: "stable", heads: [{ bundle: "etcd.v1.0.0", version: "1.0.0" }], entries: 1 }],
        versions: ["1.1.0+7", "1.0.0"],
        head: expect.objectContaining({ bundle: "etcd.v1.1.0+7", version: "1.1.0+7" }),
        latest: expect.objectContaining({ bundle: "etcd.v1.1.0+7" }),
      }),
    ]);
  });

  test("a package has the same digest in two catalogs unless one of its objects differs", async () => {
    const digests = async (catalog: string): Promise<Map<unknown, unknown>> =>
      new Map(parsed((await world.get(`/catalogs/${catalog}/packages`)).body).map((line) => [line["package"], line["digest"]]));
    const [before, after] = [await digests("test"), await digests("changed")];
    const different = [...before].filter(([name, digest]) => after.get(name) !== digest).map(([name]) => name);
    expect(different).toEqual(["etcd"]);
    expect(after.size).toBe(before.size);
  });
});

describe("properties", () => {
  test("properties endpoint returns one line for each bundle in catalog order, without manifests", async () => {
    const { body } = await world.get("/catalogs/test/properties");
    const found = parsed(body);
    expect(found.map((line) => line["bundle"])).toEqual([...OTHERS.map((_, i) => `other-${i}.v1.0.0`), "etcd.v1.0.0", "etcd.v1.1.0+7"]);
    for (const line of found) PropertiesLine.parse(line);
    expect(found.at(-2)).toEqual({
      package: "etcd",
      bundle: "etcd.v1.0.0",
      version: "1.0.0",
      image: "quay.io/example/etcd:1.0.0",
      properties: [property("olm.package", { packageName: "etcd", version: "1.0.0" }), REQUIRED],
    });
    expect(found.at(-1)).toMatchObject({ version: "1.1.0+7", release: "7" });
  });

  test.for([
    ["?package=etcd", 2],
    ["?name=etcd.v1.0.0", 1],
    ["?package=etcd&name=etcd.v1.0.0", 1],
    ["?package=other-1&name=etcd.v1.0.0", 0],
    ["?package=absent", 0],
  ] as const)("properties endpoint with query %s returns %i lines", async ([query, count]) => {
    const { status, body } = await world.get(`/catalogs/test/properties${query}`);
    expect([status, parsed(body).length]).toEqual([200, count]);
  });
});

describe.each(["packages", "properties"])("%s", (endpoint) => {
  const path = `/catalogs/test/${endpoint}`;

  test("artifact response is compressed if the client accepts it", async () => {
    const plain = await world.get(path);
    const zstd = await world.get(path, { "accept-encoding": "gzip, zstd" });
    const gzip = await world.get(path, { "accept-encoding": "gzip" });
    expect([zstd.headers["content-encoding"], gzip.headers["content-encoding"]]).toEqual(["zstd", "gzip"]);
    expect(zstdDecompressSync(zstd.body).equals(plain.body)).toBe(true);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
  });

  test.for(["", "?package=etcd"])(
    "artifact response to query '%s' supports conditional requests, and has no body for HEAD",
    async (query) => {
      const { headers, body } = await world.get(path + query);
      expect((await world.get(path + query, { "if-none-match": String(headers["etag"]) })).status).toBe(304);
      const head = await world.call("HEAD", path + query);
      expect([head.status, head.headers["etag"], head.body.length, body.length > 0]).toEqual([200, headers["etag"], 0, true]);
    },
  );

  test("artifact response supports ranges", async () => {
    const whole = (await world.get(path)).body;
    const { status, body } = await world.get(path, { range: "bytes=5-24" });
    expect([status, body.equals(whole.subarray(5, 25))]).toEqual([206, true]);
  });

  test("artifact response is empty for an empty catalog", async () => {
    const { status, body } = await world.get(`/catalogs/empty/${endpoint}`);
    expect([status, body.length]).toEqual([200, 0]);
  });

  test.for<[path: string, status: number, code: string]>([
    [`/catalogs/absent/${endpoint}`, 404, "CatalogNotFound"],
    [`/catalogs/-/${endpoint}`, 400, "InvalidCatalogName"],
    [`/catalogs/test/${endpoint}?schema=olm.bundle`, 400, "InvalidQuery"],
    [`/catalogs/test/${endpoint}?package=a&package=b`, 400, "InvalidQuery"],
    [`/catalogs/test/${endpoint}?package=`, 400, "InvalidQuery"],
    [`/catalogs/test/${endpoint}?package=${"x".repeat(2_000)}`, 400, "InvalidQuery"],
  ])("$0 fails with problem details", async ([wrong, status, code]) => {
    const { headers, body, ...got } = await world.get(wrong);
    expect([got.status, headers["content-type"]]).toEqual([status, "application/problem+json"]);
    expect(JSON.parse(body.toString())).toMatchObject({ status, code, detail: expect.stringMatching(/./) });
  });
});
