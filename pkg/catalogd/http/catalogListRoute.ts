import * as z from "zod";
import type { CatalogContent } from "../store/content.ts";
import { FILE_SUFFIX } from "../store/encodings.ts";
import { asked, type ContentRouteDependencies } from "./contentRoutes.ts";
import { documentAnswer, jsonDocument } from "./documentAnswer.ts";
import type { Route } from "./route.ts";

/** One catalog as it is listed. */
const ListedCatalog = z
  .object({
    name: z.string().describe("name of the ClusterCatalog"),
    state: z.enum(["Serving", "Loading"]).describe("`Loading`: the content is not here yet, requests for it are answered with 503"),
    digest: z.string().optional().describe("digest of the image that the content is of"),
    ref: z.string().optional().describe("that image"),
    lastUnpacked: z.string().optional().describe("when the image was unpacked, RFC 3339"),
    lastModified: z.string().optional().describe("since when this content is served, RFC 3339"),
    objects: z.number().int().optional().describe("number of metas"),
    bytes: z.number().int().optional().describe("their size, uncompressed"),
    findings: z.number().int().optional().describe("how many errors and warnings the check of the content found"),
    encodings: z
      .array(z.enum(Object.keys(FILE_SUFFIX) as [string, ...string[]]))
      .optional()
      .describe("codings in which all of the content is ready"),
  })
  .meta({ id: "ListedCatalog", description: "A catalog and what is served of it; what is not known is left out." });
const CatalogList = z.object({ catalogs: z.array(ListedCatalog).describe("by name") }).meta({ id: "CatalogList" });

/** The endpoint that tells which catalogs are served. */
export function catalogListRoute({ source, cache }: ContentRouteDependencies): Route {
  return {
    path: "/catalogs",
    methods: ["GET", "HEAD"],
    failures: "problem",
    operation: {
      id: "listCatalogs",
      summary: "The catalogs that this server knows, with what it serves of each",
      responses: {
        200: { description: "The catalogs.", content: { "application/json": CatalogList } },
        304: { description: "They are as the client knows them." },
        412: { description: "They are not as the client knows them." },
      },
    },
    answer: (request) => {
      const catalogs = source.catalogs().toSorted((a, b) => (a < b ? -1 : 1));
      const list: z.infer<typeof CatalogList> = { catalogs: catalogs.map((name) => listed(name, source.get(name))) };
      return documentAnswer(jsonDocument(list), asked(request), cache);
    },
  };
}

function listed(name: string, content: CatalogContent | undefined): z.infer<typeof ListedCatalog> {
  if (!content) return { name, state: "Loading" };
  const { origin, catalog, lastModified } = content;
  return {
    name,
    state: "Serving",
    digest: origin.digest,
    ref: origin.ref,
    lastUnpacked: origin.lastUnpacked,
    lastModified: new Date(lastModified * 1_000).toISOString().replace(".000Z", "Z"),
    objects: catalog.index.lines,
    bytes: catalog.index.bytes,
    findings: content.findings.errors + content.findings.warnings,
    encodings: catalog.encodings.toSorted(),
  };
}
