import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { ContentWorld, type Got } from "../../../test/support/contentWorld.ts";
import { PackageDetails } from "../../consoleapi/packages.ts";

const bundle = (name: string, version: string, csv: object = {}): object => ({
  schema: "olm.bundle",
  package: "db",
  name,
  image: `registry.example/db:${version}`,
  relatedImages: [{ name: "", image: "registry.example/db-server:1" }],
  properties: [
    { type: "olm.package", value: { packageName: "db", version } },
    { type: "olm.gvk", value: { group: "db.example", version: "v1", kind: "Database" } },
    { type: "olm.package.required", value: { packageName: "storage", versionRange: ">=1.0.0" } },
    { type: "olm.csv.metadata", value: csv },
  ],
});
const CSV = {
  displayName: "Database",
  description: "# Database\n\nStores rows.",
  provider: { name: "Example" },
  keywords: ["sql"],
  annotations: { capabilities: "Full Lifecycle", "operatorframework.io/suggested-namespace": "databases" },
  links: [
    { name: "Home", url: "https://db.example" },
    { name: "Bad", url: "javascript:alert(1)" },
  ],
  crdDescriptions: {
    owned: [{ name: "databases.db.example", version: "v1", kind: "Database", displayName: "Database", description: "A database." }],
  },
};
const METAS = [
  { schema: "olm.package", name: "db", defaultChannel: "stable", icon: { mediatype: "image/png", base64data: "aWNvbg==" } },
  { schema: "olm.channel", package: "db", name: "fast", entries: [{ name: "db.v2", replaces: "db.v1" }, { name: "db.v1" }] },
  { schema: "olm.channel", package: "db", name: "stable", entries: [{ name: "db.v1" }] },
  bundle("db.v1", "1.0.0"),
  bundle("db.v2", "2.0.0", CSV),
  { schema: "olm.deprecations", package: "db", entries: [{ reference: { schema: "olm.bundle", name: "db.v1" }, message: "Too old." }] },
  { schema: "olm.package", name: "empty", defaultChannel: "stable" },
];
const toLines = (metas: readonly object[]): string => metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");

let world: ContentWorld;
beforeAll(async () => {
  const many = '{"schema":"a","package":"many"}\n'.repeat(100_000);
  const main = `${toLines(METAS)}{"schema":"olm.package","name":"many"}\n${many}`;
  world = await ContentWorld.start({ main, other: toLines(METAS.slice(0, 5)) });
});
afterAll(() => world.close());

const PATH = "/api/v1/catalogs/main/packages/db";
const parse = ({ body }: Got): PackageDetails => z.parse(PackageDetails, JSON.parse(String(body)));

test("package endpoint describes the default version, with all channels and versions", async () => {
  const { status, headers, body } = await world.get(PATH);
  expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
  const details = parse({ status, headers, body });
  expect(details).toMatchObject({
    package: "db",
    catalog: "main",
    displayName: "Database",
    longDescription: "# Database\n\nStores rows.",
    defaultChannel: "stable",
    defaultVersion: "2.0.0",
    versionCount: 2,
    suggestedNamespace: "databases",
    links: [{ name: "Home", url: "https://db.example" }],
    channels: [{ name: "stable" }, { name: "fast", heads: [{ bundle: "db.v2", version: "2.0.0" }] }],
    versions: [
      { bundle: "db.v2", version: "2.0.0", channels: ["fast"], headOf: ["fast"] },
      { bundle: "db.v1", version: "1.0.0", channels: ["fast", "stable"], headOf: ["stable"], deprecated: "Too old." },
    ],
    described: {
      bundle: "db.v2",
      image: "registry.example/db:2.0.0",
      relatedImages: ["registry.example/db-server:1"],
      provided: [{ group: "db.example", version: "v1", kind: "Database", displayName: "Database", description: "A database." }],
      dependencies: [expect.stringContaining("storage")],
    },
    install: { range: ">=2.0.0", command: "olmv1 install db --catalog main --version '>=2.0.0'" },
  });
  expect(details.install.yaml).toContain("version: '>=2.0.0'");
});

test.for(["1.0.0", "db.v1"])("package endpoint describes version %s, and how to install exactly that version", async (version) => {
  const details = parse(await world.get(`${PATH}?version=${version}`));
  expect(details.described).toMatchObject({ bundle: "db.v1", deprecated: "Too old." });
  expect(details.install.command).toBe("olmv1 install db --catalog main --version 1.0.0");
});

test.for<[path: string, status: number, code: string]>([
  ["/api/v1/catalogs/main/packages/none", 404, "PackageNotFound"],
  ["/api/v1/catalogs/none/packages/db", 404, "CatalogNotFound"],
  [`${PATH}?version=9.9.9`, 404, "VersionNotFound"],
  ["/api/v1/catalogs/main/packages/empty", 404, "VersionNotFound"],
  [`${PATH}?versions=1`, 400, "InvalidQuery"],
])("%s returns %i with code %s", async ([path, status, code]) => {
  const got = await world.get(path);
  expect([got.status, JSON.parse(String(got.body))]).toEqual([status, expect.objectContaining({ code })]);
});

test("package endpoint rejects a package with more than 100,000 objects", async () => {
  const { status, body } = await world.get("/api/v1/catalogs/main/packages/many");
  const detail = 'package "many" has 100001 objects, maximum 100000';
  expect([status, JSON.parse(String(body))]).toEqual([413, expect.objectContaining({ code: "PackageTooLarge", detail })]);
});

test("package endpoint returns 304 until the package changes", async () => {
  const { headers } = await world.get("/api/v1/catalogs/other/packages/db");
  const again = (): Promise<Got> => world.get("/api/v1/catalogs/other/packages/db", { "if-none-match": String(headers["etag"]) });
  expect((await again()).status).toBe(304);
  await world.put("other", toLines(METAS));
  const changed = await again();
  expect([changed.status, parse(changed).versions.at(-1)?.deprecated]).toEqual([200, "Too old."]);
});
