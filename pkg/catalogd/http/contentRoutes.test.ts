import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { type ContentSource, ofContent } from "./contentRoutes.ts";
import { NO_BODY } from "./response.ts";
import type { RouteRequest } from "./route.ts";

const REQUEST: RouteRequest = {
  method: "GET",
  url: "/catalogs/c/api/v1/all",
  params: { catalog: "c" },
  query: "",
  headers: {},
  body: Readable.from([]),
  signal: new AbortController().signal,
};

test.for([
  { what: "is expected here and not here yet", expected: ["c"], status: 503, code: "CatalogNotLoaded", retry: { "retry-after": 5 } },
  { what: "is unknown", expected: ["other"], status: 404, code: "CatalogNotFound", retry: {} },
])("a catalog that $what is answered with $status", async ({ expected, status, code, retry }) => {
  const source: ContentSource = { get: () => undefined, catalogs: () => expected, expects: (name) => expected.includes(name) };
  const made = await ofContent(source, REQUEST, () => ({ status: 200, headers: {}, body: NO_BODY }));
  expect(made).toMatchObject({ status, headers: retry, problem: { code } });
});
