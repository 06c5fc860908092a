import { expect, test } from "vitest";
import { buildCatalogMetas, readCatalogTable } from "./catalogTable.ts";

const TABLE = `
  | package | version | channel | replaces | skips       | skipRange | contents        |
  | p       | 1.0.0   | alpha   |          |             |           | CRD, Deployment |
  | p       | 1.1.0   | alpha   | 1.0.0    | 1.0.1,1.0.2 | <1.1.0    | Deployment      |
  | p       | 1.1.0   | beta    |          |             |           |                 |
`;

test("readCatalogTable returns bundles, and buildCatalogMetas their packages and channels", () => {
  const table = readCatalogTable(TABLE);
  expect(table.bundles).toEqual([
    { package: "p", version: "1.0.0", contents: ["CRD", "Deployment"] },
    { package: "p", version: "1.1.0", contents: ["Deployment"] },
  ]);
  const content = { table, properties: { "p.1.1.0": [{ type: "x", value: 1 }] }, metas: [{ schema: "olm.deprecations" }] };
  const [first, alpha, beta, ...bundles] = buildCatalogMetas(content, ({ version }) => `example.com/p:${version}`);
  expect(first).toEqual({ schema: "olm.package", name: "p", defaultChannel: "alpha" });
  expect(alpha).toMatchObject({
    name: "alpha",
    entries: [{ name: "p.1.0.0" }, { name: "p.1.1.0", replaces: "p.1.0.0", skips: ["p.1.0.1", "p.1.0.2"], skipRange: "<1.1.0" }],
  });
  expect(beta).toMatchObject({ name: "beta", entries: [{ name: "p.1.1.0" }] });
  expect(bundles).toMatchObject([
    { name: "p.1.0.0", image: "example.com/p:1.0.0" },
    { name: "p.1.1.0", image: "example.com/p:1.1.0", properties: [{ type: "olm.package" }, { type: "x", value: 1 }] },
    { schema: "olm.deprecations" },
  ]);
});

test.for([
  ["package | version\np | 1.0.0", "the first three always: package | version"],
  ["package | version | channel | color\np | 1.0.0 | a | red", "package | version | channel | color"],
  ["package | version | channel | contents\np | 1.0.0 | alpha", "p | 1.0.0 | alpha"],
  ["package | version | channel | contents\np | | alpha | CRD", "p |  | alpha | CRD"],
])("readCatalogTable rejects %j", ([text, message]) => {
  expect(() => readCatalogTable(text ?? "")).toThrow(message);
});
