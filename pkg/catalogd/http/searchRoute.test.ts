import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { ContentWorld, type Got } from "../../../test/support/contentWorld.ts";
import type { SearchResult } from "../search/searchCatalogs.ts";
import type { CatalogContent } from "../store/content.ts";

type Found = SearchResult & { continue?: string; missing?: string[] };

const lines = (...metas: object[]): string => metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
const gvk = (text: string): object => {
  const [group, version, kind] = text.split("/");
  return { type: "olm.gvk", value: { group, version, kind } };
};

interface BundleParts {
  apis?: string[];
  [metadata: string]: unknown;
}

const bundle = (pkg: string, version: string | undefined, { apis = [], ...metadata }: BundleParts = {}): object => ({
  schema: "olm.bundle",
  package: pkg,
  name: `${pkg}.v${version}`,
  properties: [
    ...(version === undefined ? [] : [{ type: "olm.package", value: { packageName: pkg, version } }]),
    { type: "olm.csv.metadata", value: metadata },
    ...apis.map(gvk),
  ],
});
const channel = (pkg: string, name: string, ...versions: string[]): object => ({
  schema: "olm.channel",
  package: pkg,
  name,
  entries: versions.map((version) => ({ name: `${pkg}.v${version}` })),
});
const deprecations = (pkg: string, ...references: object[]): object => ({
  schema: "olm.deprecations",
  package: pkg,
  entries: references.map((reference) => ({ reference, message: "do not use" })),
});

const DB = { displayName: "Example Database", keywords: ["db", "SQL"], provider: { name: "Example, Inc." } };
const FIPS = { "operators.openshift.io/infrastructure-features": '["fips"]' };
const ALPHA = lines(
  { schema: "olm.package", name: "db", defaultChannel: "stable" },
  channel("db", "stable", "1.0.0", "1.1.0"),
  channel("db", "next", "1.1.0", "2.0.0"),
  bundle("db", "1.0.0", { ...DB, apis: ["example.com/v1/Database"] }),
  bundle("db", "1.1.0", { ...DB, annotations: { ...FIPS, description: "With backups" }, apis: ["example.com/v1/Database"] }),
  bundle("db", "2.0.0", {
    ...DB,
    annotations: {
      ...FIPS,
      description: "With replication",
      capabilities: "Auto Pilot",
      "features.operators.openshift.io/disconnected": "true",
    },
    labels: { "operatorframework.io/arch.arm64": "supported", "operatorframework.io/arch.amd64": "supported" },
    apis: ["example.com/v1/Database", "example.com/v2/Database", "example.com/v1/Backup"],
  }),
  deprecations("db", { schema: "olm.bundle", name: "db.v1.0.0" }),
  { schema: "olm.package", name: "logging", description: "Runs Elasticsearch." },
  bundle("logging", "0.1.0", { labels: { "operatorframework.io/os.zos": "supported" } }),
  deprecations("logging", { schema: "olm.package" }),
);
const BETA = lines(
  { schema: "olm.package", name: "db", defaultChannel: "stable" },
  channel("db", "stable", "1.0.0", "1.0.0+1"),
  bundle("db", "1.0.0"),
  bundle("db", "1.0.0+1"),
  bundle("db", "1.0.0+2", { apis: ["other.io/v1/Database"] }),
  deprecations("db", { schema: "olm.channel", name: "stable" }),
  bundle("broken", undefined),
);

let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({ beta: BETA, alpha: ALPHA });
});
afterAll(() => world.close());

const search = (query: string): Promise<Got> => world.get(`/api/v1/search?${query}`);

async function found(query: string): Promise<Found> {
  const { status, headers, body } = await search(query);
  expect([status, headers["content-type"]], body.toString()).toEqual([200, "application/json"]);
  return JSON.parse(body.toString()) as Found;
}

async function refused(query: string): Promise<Record<string, unknown>> {
  const { headers, body } = await search(query);
  expect(headers["content-type"]).toBe("application/problem+json");
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

interface QueryCase extends CaseHead {
  query: string;
  found: Record<string, (string | null)[]>;
}

test.for(loadCases<QueryCase>("catalog-search"))("$name: $query", async ({ query, found: want }) => {
  const { items, total } = await found(query);
  const got = items.map((item) => [`${item.catalog}/${item.package}`, item.matches.map(({ version }) => version ?? null)]);
  expect(got).toEqual(Object.entries(want));
  expect(total).toBe(items.length);
  for (const { matchCount, matches } of items) expect(matchCount).toBe(matches.length);
});

test("search entry contains the package and the channels of its versions", async () => {
  const { items } = await found("package=db&catalog=alpha&matches=2");
  expect(items).toEqual([
    {
      catalog: "alpha",
      package: "db",
      displayName: "Example Database",
      description: "With replication",
      provider: "Example, Inc.",
      defaultChannel: "stable",
      defaultVersion: "2.0.0",
      latestVersion: "2.0.0",
      matchCount: 3,
      matches: [
        { bundle: "db.v2.0.0", version: "2.0.0", channels: ["next"] },
        { bundle: "db.v1.1.0", version: "1.1.0", channels: ["stable", "next"] },
      ],
    },
  ]);
  expect((await found("deprecated=true&catalog=beta&matches=1")).items[0]).toMatchObject({
    matchCount: 2,
    matches: [{ bundle: "db.v1.0.0+1", version: "1.0.0+1", release: "1", deprecated: true }],
  });
  expect((await found("matches=0")).items.flatMap(({ matches }) => matches)).toEqual([]);
});

test("search response supports conditional requests and has no body for HEAD", async () => {
  const { headers } = await search("text=db");
  const again = await world.get("/api/v1/search?text=db", { "if-none-match": String(headers["etag"]) });
  expect([again.status, again.body.length]).toEqual([304, 0]);
  const head = await world.call("HEAD", "/api/v1/search?text=db");
  expect([head.status, head.headers["etag"], head.body.length]).toEqual([200, headers["etag"], 0]);
});

describe("search errors", () => {
  test.for<[query: string, status: number, code: string, detail: RegExp]>([
    ["color=red", 400, "InvalidQuery", /unknown parameter "color" \(supported: text, package,/],
    ["limit=501", 400, "InvalidQuery", /^limit: /],
    ["limit=0", 400, "InvalidQuery", /^limit: /],
    ["matches=101", 400, "InvalidQuery", /^matches: /],
    ["deprecated=maybe", 400, "InvalidQuery", /^deprecated: /],
    ["text=a&text=b", 400, "InvalidQuery", /parameter "text" is set 2 times/],
    [`text=${"a".repeat(300)}`, 400, "InvalidQuery", /^text: /],
    [`text=${"a+".repeat(17)}`, 400, "InvalidQuery", /^text: too many words: 17, maximum 16$/],
    ["gvk=a/b", 400, "InvalidQuery", /^gvk: "a\/b" is not group\/version\/kind/],
    ["gvk=.x", 400, "InvalidQuery", /^gvk: /],
    [Array.from({ length: 9 }, (_, i) => `arch=a${i}`).join("&"), 400, "InvalidQuery", /^arch: /],
    ["continue=x", 400, "InvalidQuery", /^continue: invalid token$/],
    ["continue=%22", 400, "InvalidQuery", /^continue: /],
    ["catalog=gamma", 404, "CatalogNotFound", /^catalog "gamma" is not served\./],
    ["text=%zz", 400, "InvalidQuery", /invalid escape/],
  ])("search rejects query %s", async ([query, status, code, detail]) => {
    expect(await refused(query)).toMatchObject({ status, code, detail: expect.stringMatching(detail) });
  });
});

describe("pages", () => {
  async function pages(query: string, limit: number): Promise<Found[]> {
    const all = [await found(`${query}&limit=${limit}`)];
    for (let next = all[0]!.continue; next !== undefined; next = all.at(-1)!.continue) {
      expect(all.length).toBeLessThan(100);
      all.push(await found(`${query}&limit=${limit}&continue=${next}`));
    }
    return all;
  }
  const names = (results: readonly Found[]): string[] =>
    results.flatMap(({ items }) => items.map((item) => `${item.catalog}/${item.package}`));

  test.for([1, 2, 3, 4, 5])("search pages of %i entries contain all entries once, in order", async (limit) => {
    const whole = await found("");
    const all = await pages("", limit);
    expect(names(all)).toEqual(names([whole]));
    expect(all).toHaveLength(Math.ceil(whole.total / limit));
    expect(all.every(({ total }) => total === whole.total)).toBe(true);
  });

  test("search accepts a continue token with another page size, but not with another query", async () => {
    const first = await found("text=db&limit=1");
    expect((await found(`text=db&limit=500&matches=1&continue=${first.continue}`)).items).toHaveLength(1);
    expect(await refused(`text=other&continue=${first.continue}`)).toMatchObject({
      code: "InvalidQuery",
      detail: expect.stringMatching(/belongs to another query/),
    });
  });

  test("search returns 410 for a continue token only when a searched catalog has changed", async () => {
    const other = await ContentWorld.start({ a: lines(bundle("x", "1.0.0"), bundle("y", "1.0.0")), b: lines(bundle("z", "1.0.0")) });
    const next = async (query: string): Promise<string> => {
      const { body } = await other.get(`/api/v1/search?limit=1${query}`);
      return `/api/v1/search?limit=1${query}&continue=${(JSON.parse(body.toString()) as Found).continue}`;
    };
    const [all, onlyA] = [await next(""), await next("&catalog=a")];
    await other.put("b", lines(bundle("z", "1.0.1")));
    const { status, body } = await other.get(all);
    expect([status, (JSON.parse(body.toString()) as { code: string }).code]).toEqual([410, "ContinueExpired"]);
    expect((await other.get(onlyA)).status).toBe(200);
    await other.put("a", lines(bundle("x", "1.0.0"), bundle("y", "1.0.0")));
    expect((await other.get(onlyA)).status).toBe(200);
    await other.close();
  });
});

test("search finds new content as soon as the content is served", async () => {
  const other = await ContentWorld.start({ a: lines(bundle("x", "1.0.0")) });
  const names = async (): Promise<string[]> => {
    const { body } = await other.get("/api/v1/search");
    return (JSON.parse(body.toString()) as Found).items.map((item) => item.package);
  };
  expect(await names()).toEqual(["x"]);
  await other.put("a", lines(bundle("y", "1.0.0")));
  expect(await names()).toEqual(["y"]);
  await other.close();
});

test("search response lists catalogs that are not loaded yet", async () => {
  const get = (name: string): CatalogContent | undefined => (name === "alpha" ? world.store.get(name) : undefined);
  const other = await ContentWorld.start({}, { source: { get, catalogs: () => ["late", "alpha"] } });
  const { body } = await other.get("/api/v1/search?package=db");
  await other.close();
  expect(JSON.parse(body.toString())).toMatchObject({ total: 1, missing: ["late"] });
});
