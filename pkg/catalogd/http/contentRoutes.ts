import * as z from "zod";
import { formatTime } from "../../golang/time.ts";
import { compareText } from "../../text/compare.ts";
import type { CatalogContent } from "../store/content.ts";
import { FILE_SUFFIX } from "../store/encodings.ts";
import { createJsonDocument, respondWithAll, respondWithDocument, respondWithMetas } from "./contentResponse.ts";
import { ProblemError } from "./problem.ts";
import { FIRST_OF_EACH } from "./queryParameters.ts";
import type { ResponseCache } from "./responseCache.ts";
import { CatalogPath, type CatalogServer } from "./route.ts";

/** Provides content to the server. */
export interface ContentSource {
  get(name: string): CatalogContent | undefined;
  /**
   * Names of all known catalogs in any order, including catalogs whose content is still loading.
   */
  catalogs(): readonly string[];
  /**
   * Returns whether content that is missing should exist, for example because this replica is still
   * loading it. Default: never.
   */
  expects?(name: string): boolean;
}

/** Dependencies of the content endpoints. */
export interface ContentRouteDependencies {
  source: ContentSource;
  cache: ResponseCache;
}

/** Short, because another replica may already have the content. */
const RETRY_LATER = { "retry-after": 5 };
const JSON_LINES = "application/jsonl";
const MetaQuery = z
  .strictObject({
    schema: z.string().optional().describe("return only metas with this schema, such as `olm.bundle`"),
    package: z.string().optional().describe("return only metas that belong to this package"),
    name: z.string().optional().describe("return only metas with this name"),
  })
  .meta(FIRST_OF_EACH);

/** Registers the endpoint of all metas of a catalog. @see operator-controller df2c201d internal/catalogd/server/handlers.go */
export function registerAllRoute(server: CatalogServer, { source }: Pick<ContentRouteDependencies, "source">): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs/:catalog/api/v1/all",
    schema: { params: CatalogPath },
    config: {
      failures: "text",
      operation: {
        id: "getAllMetas",
        summary: "All metas (objects) of a catalog",
        description:
          "JSON Lines, one meta per line, in file order. With `Accept-Encoding: zstd` or `gzip`, the server sends a stored compressed file.",
        responses: {
          200: { description: "The metas.", content: { [JSON_LINES]: undefined } },
          206: {
            description: "The requested ranges of the metas.",
            content: { [JSON_LINES]: undefined, "multipart/byteranges": undefined },
          },
          304: { description: "The metas have not changed." },
          412: { description: "The metas do not match the precondition." },
          416: { description: "The ranges are not satisfiable." },
        },
      },
    },
    handler: (request, reply) =>
      withContent(source, request.params.catalog, (content) =>
        reply.respond(respondWithAll({ content, artifact: content.catalog }, request)),
      ),
  });
}

/**
 * Registers the endpoint of the metas of a catalog that match a filter. @see operator-controller
 * df2c201d internal/catalogd/server/handlers.go
 */
export function registerMetasRoute(server: CatalogServer, { source, cache }: ContentRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs/:catalog/api/v1/metas",
    schema: { params: CatalogPath, querystring: MetaQuery },
    config: {
      failures: "text",
      operation: {
        id: "findMetas",
        summary: "Metas of a catalog that match a filter",
        description:
          "JSON Lines, in catalog order. A meta must match all parameters exactly. If a parameter is repeated, only its first value counts. " +
          "An `olm.package` meta has no `package` field: request it with `schema=olm.package&name=NAME`.",
        responses: {
          200: { description: "The matching metas; empty if there are none.", content: { [JSON_LINES]: undefined } },
          304: { description: "The metas have not changed." },
          412: { description: "The metas do not match the precondition." },
        },
      },
    },
    handler: (request, reply) =>
      withContent(source, request.params.catalog, async (content) =>
        reply.respond(await respondWithMetas({ content, artifact: content.catalog }, request.query, request, cache)),
      ),
  });
}

/**
 * Calls `respond` with the content of a catalog and holds it until the response has been sent.
 * @throws ProblemError if there is no content with that name, or it is not loaded yet.
 */
export async function withContent(source: ContentSource, name: string, respond: (content: CatalogContent) => Promise<void>): Promise<void> {
  const content = findContent(source, name);
  content.hold();
  try {
    await respond(content);
  } finally {
    content.release();
  }
}

function findContent(source: ContentSource, name: string): CatalogContent {
  const content = source.get(name);
  if (content) return content;
  const shown = JSON.stringify(name);
  if (source.expects?.(name))
    throw new ProblemError("CatalogNotLoaded", `the content of catalog ${shown} is still loading. Try again later`, {
      headers: RETRY_LATER,
    });
  throw createCatalogNotFoundError(name);
}

/** Creates the error for a request for an unknown catalog. */
export function createCatalogNotFoundError(name: string): ProblemError {
  return new ProblemError("CatalogNotFound", `catalog ${JSON.stringify(name)} is not served. For the served catalogs, see /catalogs`);
}

/** Registers the endpoint of the findings of a catalog's content. */
export function registerFindingsRoute(server: CatalogServer, { source }: Pick<ContentRouteDependencies, "source">): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs/:catalog/findings",
    schema: { params: CatalogPath },
    config: {
      failures: "problem",
      operation: {
        id: "getFindings",
        summary: "Findings in the content of a catalog",
        description:
          "JSON Lines, one finding per line: `rule` (a stable code), `severity` (`error` if opm rejects the catalog, otherwise `warning`), `message`, `place` " +
          "(`file`, `document` and `line`, counted from 1) and `schema`, `package` and `name` of the meta. Errors come first. Findings of the same severity are sorted by file and document. " +
          "The response contains at most 1,000 findings.",
        responses: {
          200: { description: "The findings.", content: { "application/jsonl": undefined } },
          206: {
            description: "The requested ranges of the findings.",
            content: { "application/jsonl": undefined, "multipart/byteranges": undefined },
          },
          304: { description: "The findings have not changed." },
          412: { description: "The findings do not match the precondition." },
          416: { description: "The ranges are not satisfiable." },
        },
      },
    },
    handler: (request, reply) =>
      withContent(source, request.params.catalog, async (content) => {
        const artifact = content.artifacts.get("findings");
        if (!artifact)
          throw new ProblemError("Unavailable", "no findings available, because the content of this catalog has not been checked");
        await reply.respond(respondWithAll({ content, artifact }, request));
      }),
  });
}

/** An entry in the list of catalogs. */
const ListedCatalog = z
  .object({
    name: z.string().describe("ClusterCatalog name"),
    state: z.enum(["Serving", "Loading"]).describe("`Loading` if this replica has not stored the content yet; requests for it return 503"),
    digest: z.string().optional().describe("digest of the catalog image"),
    ref: z.string().optional().describe("reference of the catalog image"),
    lastUnpacked: z.string().optional().describe("when the image was unpacked, RFC 3339"),
    lastModified: z.string().optional().describe("when the content was first served, RFC 3339"),
    objects: z.number().int().optional().describe("number of metas"),
    bytes: z.number().int().optional().describe("uncompressed size of the metas in bytes"),
    findings: z.number().int().optional().describe("number of errors and warnings"),
    encodings: z
      .array(z.enum(Object.keys(FILE_SUFFIX) as [string, ...string[]]))
      .optional()
      .describe("content codings in which the whole content is available"),
  })
  .meta({ id: "ListedCatalog", description: "A catalog and its served content; unknown values are omitted." });
const CatalogList = z.object({ catalogs: z.array(ListedCatalog).describe("sorted by name") }).meta({ id: "CatalogList" });

/** Registers the endpoint that lists the catalogs. */
export function registerCatalogListRoute(server: CatalogServer, { source, cache }: ContentRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/catalogs",
    config: {
      failures: "problem",
      operation: {
        id: "listCatalogs",
        summary: "Catalogs and their served content",
        responses: {
          200: { description: "The catalogs.", content: { "application/json": CatalogList } },
          304: { description: "The list has not changed." },
          412: { description: "The list does not match the precondition." },
        },
      },
    },
    handler: async (request, reply) => {
      const catalogs = source.catalogs().toSorted(compareText);
      const list: z.infer<typeof CatalogList> = { catalogs: catalogs.map((name) => describeCatalog(name, source.get(name))) };
      await reply.respond(await respondWithDocument(createJsonDocument(list), request, cache));
    },
  });
}

function describeCatalog(name: string, content: CatalogContent | undefined): z.infer<typeof ListedCatalog> {
  if (!content) return { name, state: "Loading" };
  const { origin, catalog, lastModified } = content;
  return {
    name,
    state: "Serving",
    digest: origin.digest,
    ref: origin.ref,
    lastUnpacked: origin.lastUnpacked,
    lastModified: formatTime(new Date(lastModified * 1_000)),
    objects: catalog.index.lines,
    bytes: catalog.index.bytes,
    findings: content.findings.errors + content.findings.warnings,
    encodings: catalog.encodings.toSorted(),
  };
}
