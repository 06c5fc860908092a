import { expect, test } from "vitest";
import { catalogMetas, readCatalogTable } from "./catalogTable.ts";

const TABLE = `
  | package | version | channel | replaces | contents        |
  | p       | 1.0.0   | alpha   |          | CRD, Deployment |
  | p       | 1.1.0   | alpha   | 1.0.0    | Deployment      |
  | p       | 1.1.0   | beta    |          |                 |
`;

test("parseCatalogTable returns packages with channels and bundles", () => {
  const table = readCatalogTable(TABLE);
  expect(table.bundles).toEqual([
    { package: "p", version: "1.0.0", contents: ["CRD", "Deployment"] },
    { package: "p", version: "1.1.0", contents: ["Deployment"] },
  ]);
  const [first, alpha, beta, ...bundles] = catalogMetas(table, ({ version }) => `example.com/p:${version}`);
  expect(first).toEqual({ schema: "olm.package", name: "p", defaultChannel: "alpha" });
  expect(alpha).toMatchObject({ name: "alpha", entries: [{ name: "p.1.0.0" }, { name: "p.1.1.0", replaces: "p.1.0.0" }] });
  expect(beta).toMatchObject({ name: "beta", entries: [{ name: "p.1.1.0" }] });
  expect(bundles).toMatchObject([
    { name: "p.1.0.0", image: "example.com/p:1.0.0" },
    { name: "p.1.1.0", image: "example.com/p:1.1.0" },
  ]);
});

test.for([
  ["package | version\np | 1.0.0", "must begin with the line package | version | channel | replaces | contents"],
  ["package | version | channel | replaces | contents\np | 1.0.0 | alpha | CRD", "p | 1.0.0 | alpha | CRD"],
  ["package | version | channel | replaces | contents\np | | alpha | | CRD", "p |  | alpha |  | CRD"],
])("parseCatalogTable rejects %j", ([text, message]) => {
  expect(() => readCatalogTable(text ?? "")).toThrow(message);
});
