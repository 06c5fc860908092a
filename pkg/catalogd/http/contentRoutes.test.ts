import { expect, test } from "vitest";
import { type ContentSource, withContent } from "./contentRoutes.ts";

test.for([
  { what: "is expected but not loaded yet", expected: ["c"], statusCode: 503, code: "CatalogNotLoaded", headers: { "retry-after": 5 } },
  { what: "is unknown", expected: ["other"], statusCode: 404, code: "CatalogNotFound", headers: {} },
])("a request for a catalog that $what gets status $statusCode", async ({ expected, statusCode, code, headers }) => {
  const source: ContentSource = { get: () => undefined, catalogs: () => expected, expects: (name) => expected.includes(name) };
  await expect(withContent(source, "c", () => expect.unreachable())).rejects.toMatchObject({ statusCode, code, headers });
});
