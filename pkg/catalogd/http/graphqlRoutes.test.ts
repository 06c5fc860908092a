import { connect } from "node:net";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { buildClientSchema, getIntrospectionQuery } from "graphql";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CatalogStore } from "../catalogStore.ts";
import { type ContentServer, startContentServer } from "./contentServer.ts";

const METAS = [
  { schema: "olm.package", name: "foo", defaultChannel: "stable" },
  {
    schema: "olm.channel",
    package: "foo",
    name: "stable",
    entries: [{ name: "foo.v2", replaces: "foo.v1", skips: ["foo.v0"] }, { name: "foo.v1" }],
  },
  { schema: "olm.bundle", package: "foo", name: "foo.v1", image: "example.com/foo@sha256:1", properties: [] },
  {
    schema: "olm.bundle",
    package: "foo",
    name: "foo.v2",
    image: "example.com/foo@sha256:2",
    properties: [{ type: "olm.package", value: 1 }],
  },
  ...Array.from({ length: 60 }, (_, i) => ({ schema: "many", name: `m${i}`, text: "x".repeat(100) })),
];
const DIGEST = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const ORIGIN = { ref: `registry.example/catalog@${DIGEST}`, digest: DIGEST, lastUnpacked: "2026-01-02T03:04:05Z" };
const PATH = "/catalogs/test-catalog/api/v1/graphql";
const log = createLogger({ component: "test", level: "silent" });
const folder = new TempFolder();
const agent = new Agent({ keepAliveTimeout: 1_000 });
const dir = `${folder.path}/catalogs`;
let store: CatalogStore;
let server: ContentServer;
let withoutGraphql: ContentServer;

const jsonLines = (blobs: readonly unknown[]): string => blobs.map((blob) => JSON.stringify(blob)).join("\n");

beforeAll(async () => {
  store = await CatalogStore.open({ dir, log });
  await store.store("test-catalog", folder.write("a", { "all.json": jsonLines(METAS) }), ORIGIN, new AbortController().signal);
  await store.settled();
  server = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: store, log });
  withoutGraphql = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: store, log, graphql: false });
});

afterAll(async () => {
  await server.close();
  await withoutGraphql.close();
  await store.close();
  await agent.close();
  folder[Symbol.dispose]();
});

interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

async function call(method: string, path: string, body?: string | Buffer, headers: Record<string, string> = {}, of = server): Promise<Got> {
  const url = `http://127.0.0.1:${of.address.port}${path}`;
  const response = await request(url, { method: method as "POST", headers, dispatcher: agent, ...(body === undefined ? {} : { body }) });
  return { status: response.statusCode, headers: response.headers, body: Buffer.from(await response.body.arrayBuffer()) };
}
const post = (body: string | Buffer, path = PATH, headers: Record<string, string> = {}): Promise<Got> => call("POST", path, body, headers);

async function asked(query: string, more: Record<string, unknown> = {}): Promise<unknown> {
  return JSON.parse((await post(JSON.stringify({ query, ...more }))).body.toString());
}

const PADDING = " ".repeat(1024 * 1024);
const SUMMARY = '{"query":"{ summary { totalSchemas } }"}';

describe("checks, in order", () => {
  test.for(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])(
    "GraphQL endpoint rejects method %s even for an unknown catalog",
    async (method) => {
      for (const path of [
        PATH,
        `${PATH}?query={summary{totalSchemas}}`,
        "/catalogs/INVALID/api/v1/graphql",
        "/catalogs/unknown/api/v1/graphql",
      ]) {
        const { status, body, headers } = await call(method, path);
        expect([status, headers["content-type"]]).toEqual([405, "text/plain; charset=utf-8"]);
        if (method !== "HEAD") expect(body.toString()).toBe("Method Not Allowed\n");
      }
    },
  );

  test("GraphQL endpoint returns 503 when queries are disabled, even for an invalid catalog name", async () => {
    for (const path of [PATH, "/catalogs/INVALID/api/v1/graphql"]) {
      const { status, body } = await call("POST", path, SUMMARY, {}, withoutGraphql);
      expect([status, body.toString()]).toEqual([503, "GraphQL queries are not enabled\n"]);
    }
    const { status } = await call("GET", PATH, undefined, {}, withoutGraphql);
    expect(status).toBe(405);
  });

  test.for([
    [
      "/catalogs/INVALID-CATALOG-NAME/api/v1/graphql",
      "{invalid json",
      400,
      "invalid catalog name: a lowercase RFC 1123 subdomain must consist of",
    ],
    ["/catalogs/unknown/api/v1/graphql", "{invalid json", 400, "Invalid request body\n"],
    ["/catalogs/unknown/api/v1/graphql", '{"query":""}', 400, "Query cannot be empty\n"],
    ["/catalogs/unknown/api/v1/graphql", SUMMARY, 404, "404 Not Found\n"],
  ] as [string, string, number, string][])("POST %s with body %s gets status %i", async ([path, body, status, text]) => {
    const got = await post(body, path);
    expect([got.status, got.headers["content-type"], got.headers["vary"]]).toEqual([
      status,
      "text/plain; charset=utf-8",
      "Accept-Encoding",
    ]);
    expect(got.body.toString()).toContain(text);
  });

  test("GraphQL endpoint rejects a query that is too deep even for an unknown catalog", async () => {
    const { status, body } = await post(JSON.stringify({ query: "{ a ".repeat(11) + "}".repeat(11) }), "/catalogs/unknown/api/v1/graphql");
    expect([status, body.toString()]).toEqual([
      200,
      '{"data":null,"errors":[{"message":"query exceeds maximum depth of 10","locations":[]}]}\n',
    ]);
  });
});

describe("the body", () => {
  test.for([
    ["", "Invalid request body"],
    ["{invalid json", "Invalid request body"],
    ["[]", "Invalid request body"],
    ['"{ summary }"', "Invalid request body"],
    ['{"query":5}', "Invalid request body"],
    ['{"query":"{a}","variables":[]}', "Invalid request body"],
    ['{"query":"{a}","operationName":5}', "Invalid request body"],
    ["[".repeat(100_000), "Invalid request body"],
    [`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "Invalid request body"],
    [`${PADDING}${SUMMARY}`.slice(-1024 * 1024 - 1), "Invalid request body"],
    ["null", "Query cannot be empty"],
    ["{}", "Query cannot be empty"],
    ['{"query":null}', "Query cannot be empty"],
    ['{"query":""}', "Query cannot be empty"],
    [JSON.stringify({ query: `{a}${" ".repeat(99_998)}` }), "Query too large"],
    [JSON.stringify({ query: `{a} # ${"ä".repeat(50_000)}` }), "Query too large"],
  ] as const)("GraphQL endpoint rejects body $0: $1", async ([body, text]) => {
    const got = await post(body);
    expect([got.status, got.body.toString()]).toEqual([400, `${text}\n`]);
  });

  test.for([
    [SUMMARY],
    [`${SUMMARY} trailing`],
    [`  ${SUMMARY}{`],
    ['{"QUERY":"{ summary { totalSchemas } }","unknown":[1]}'],
    ['{"query":"{ nothing }","Query":"{ summary { totalSchemas } }"}'],
    ['{"query":"{ summary { totalSchemas } }","variables":null,"operationName":null}'],
    ['{"query":"{ summary { totalSchemas } }","variables":{},"operationName":""}'],
    [`${PADDING}${SUMMARY}`.slice(-1024 * 1024)],
    [JSON.stringify({ query: `{ summary { totalSchemas } }`.padEnd(100_000) })],
  ] as const)("GraphQL endpoint accepts body %.60s", async ([body]) => {
    const got = await post(body, PATH, { "content-type": "text/plain" });
    expect([got.status, got.body.toString()]).toEqual([200, '{"data":{"summary":{"totalSchemas":4}}}\n']);
    expect(got.headers).toMatchObject({ "content-type": "application/json", vary: "Accept-Encoding", "olm-catalog-digest": DIGEST });
  });

  test.for(["nonsense", "application/json; charset=nonsense", "multipart/form-data; boundary=x"])(
    "GraphQL endpoint ignores Content-Type %s",
    async (type) => {
      expect((await post(SUMMARY, PATH, { "content-type": type })).status).toBe(200);
    },
  );

  test("GraphQL endpoint responds with an error when the body does not end", { timeout: 30_000 }, async () => {
    const socket = connect(server.address.port, "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"query":`);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});

describe("answers", () => {
  test("GraphQL endpoint returns the objects that match the arguments of a query", async () => {
    const query =
      "query Page($package: String!) { olmbundles(package: $package, offset: 1) { name image } olmchannels { entries { name skips } } }";
    await expect(asked(query, { variables: { package: "foo" }, operationName: "Page" })).resolves.toEqual({
      data: {
        olmbundles: [{ name: "foo.v2", image: "example.com/foo@sha256:2" }],
        olmchannels: [
          {
            entries: [
              { name: "foo.v2", skips: ["foo.v0"] },
              { name: "foo.v1", skips: null },
            ],
          },
        ],
      },
    });
  });

  test("GraphQL endpoint supports the standard introspection query", async () => {
    const { data, errors } = (await asked(getIntrospectionQuery())) as { data: never; errors: unknown };
    expect(errors).toBeUndefined();
    const schema = buildClientSchema(data);
    expect(Object.keys(schema.getQueryType()!.getFields())).toEqual(["manys", "olmbundles", "olmchannels", "olmpackages", "summary"]);
  });

  test("GraphQL response is compressed if the client accepts it", async () => {
    const body = JSON.stringify({ query: "{ manys { name text } }" });
    const plain = await post(body);
    const gzip = await post(body, PATH, { "accept-encoding": "gzip" });
    const zstd = await post(body, PATH, { "accept-encoding": "gzip, zstd" });
    expect([plain, gzip, zstd].map(({ headers }) => headers["content-encoding"])).toEqual([undefined, "gzip", "zstd"]);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(zstdDecompressSync(zstd.body).equals(plain.body)).toBe(true);
    expect(gzip.body.length).toBeLessThan(plain.body.length / 4);
    const short = await post(SUMMARY, PATH, { "accept-encoding": "gzip" });
    expect(short.headers["content-encoding"]).toBeUndefined();
  });

  test("GraphQL endpoint uses a new GraphQL schema when the content changes", async () => {
    const origin = { ...ORIGIN, digest: `${DIGEST.slice(0, -1)}0` };
    const signal = new AbortController().signal;
    const query = "{ summary { schemas { name totalObjects } } }";
    const path = "/catalogs/changing/api/v1/graphql";
    const ask = async (): Promise<unknown> => JSON.parse((await post(JSON.stringify({ query }), path)).body.toString());
    await store.store("changing", folder.write("b", { "a.json": '{"schema":"one"}' }), ORIGIN, signal);
    await expect(ask()).resolves.toEqual({ data: { summary: { schemas: [{ name: "one", totalObjects: 1 }] } } });
    await store.store("changing", folder.write("c", { "a.json": '{"schema":"two"}{"schema":"two"}' }), origin, signal);
    await expect(ask()).resolves.toEqual({ data: { summary: { schemas: [{ name: "two", totalObjects: 2 }] } } });
    await store.remove("changing");
    expect((await post(JSON.stringify({ query }), path)).status).toBe(404);
  });

  test("GraphQL response is the same after catalogd restarts", async () => {
    const again = await CatalogStore.open({ dir, log });
    const other = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: again, log });
    const body = JSON.stringify({ query: "{ summary { schemas { name totalObjects totalFields } } olmbundles(limit: 1) { name } }" });
    const got = await call("POST", PATH, body, {}, other);
    expect(got.body.toString()).toBe((await post(body)).body.toString());
    await other.close();
    await again.close();
  });

  test("GraphQL endpoint renames catalog schemas and fields whose names are invalid or already used in GraphQL", async () => {
    const blobs = [
      { schema: "query" },
      { schema: "catalog.summary" },
      { schema: "a-b" },
      { schema: "a.b" },
      { schema: "_1a", __typename: "x" },
    ];
    await store.store("clashing", folder.write("d", { "a.json": jsonLines(blobs) }), ORIGIN, new AbortController().signal);
    const query = "{ querys { schema } catalogsummarys { schema } abs { schema } abs_2 { schema } field_1as { schema typename } }";
    const got = await post(JSON.stringify({ query }), "/catalogs/clashing/api/v1/graphql");
    expect(JSON.parse(got.body.toString())).toEqual({
      data: {
        querys: [{ schema: "query" }],
        catalogsummarys: [{ schema: "catalog.summary" }],
        abs: [{ schema: "a-b" }],
        abs_2: [{ schema: "a.b" }],
        field_1as: [{ schema: "_1a", typename: "x" }],
      },
    });
  });
});
