import { createHash } from "node:crypto";
import * as z from "zod";
import { getErrorMessage } from "../../errors/errors.ts";
import {
  formatContinueToken,
  parsePosition,
  type SearchEntry,
  type SearchMatch,
  type SearchPosition,
  searchCatalogs,
} from "../search/searchCatalogs.ts";
import { SearchIndexes } from "../search/searchIndex.ts";
import { parseSearchQuery, type SearchQuery } from "../search/searchQuery.ts";
import type { CatalogContent } from "../store/content.ts";
import { createJsonDocument, respondWithDocument } from "./contentResponse.ts";
import { type ContentRouteDependencies, type ContentSource, createCatalogNotFoundError } from "./contentRoutes.ts";
import { namedVersionShape } from "./packagesRoutes.ts";
import { ProblemError } from "./problem.ts";
import { createDisconnectSignal } from "./request.ts";
import type { CatalogServer } from "./route.ts";

const word = z.string().min(1).max(256);
const all = (what: string): z.ZodOptional<z.ZodArray<z.ZodString>> =>
  z.array(word).max(8).optional().describe(`${what}; repeatable, all values must match`);
const any = (what: string): z.ZodOptional<z.ZodArray<z.ZodString>> =>
  z.array(word).max(64).optional().describe(`${what}; repeatable, one value must match`);

const Query = z.strictObject({
  text: word.optional().describe("words that must all occur in the name, display name, descriptions, keywords, provider or provided kinds"),
  package: any("package name"),
  gvk: all("provided API: `group/version/kind`, `kind.group` or `kind`"),
  keyword: all("whole keyword"),
  channel: any("channel that contains the version"),
  arch: all("supported architecture, such as `arm64`"),
  os: all("supported operating system"),
  feature: all("declared infrastructure feature, such as `disconnected`"),
  capability: word.optional().describe("capability level, such as `Full Lifecycle`"),
  deprecated: z
    .enum(["true", "false"])
    .optional()
    .describe("`true` or `false`; a version is deprecated if it, its package or all its channels are deprecated"),
  catalog: any("ClusterCatalog name; default: all catalogs"),
  matches: z.coerce.number().int().min(0).max(100).default(10).describe("maximum number of versions per package"),
  limit: z.coerce.number().int().min(1).max(500).default(100).describe("maximum number of entries per page"),
  continue: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe("`continue` token of the previous page; of the other parameters, only `limit` and `matches` may change"),
});

const Match: z.ZodType<SearchMatch> = z
  .object({
    ...namedVersionShape,
    channels: z.array(z.string()).describe("channels that contain the version"),
    deprecated: z.literal(true).optional().describe("true if the version, its package or all its channels are deprecated"),
  })
  .meta({ id: "SearchMatch", description: "A matching version." });

const Entry: z.ZodType<SearchEntry> = z
  .object({
    catalog: z.string().describe("ClusterCatalog name"),
    package: z.string().describe("package name"),
    displayName: z.string().optional().describe("display name of the default version"),
    description: z.string().optional().describe("short description"),
    provider: z.string().optional().describe("provider name"),
    defaultChannel: z.string().optional().describe("channel for users without a preference"),
    defaultVersion: z.string().optional().describe("default version to install"),
    latestVersion: z.string().optional().describe("latest version, deprecated or not"),
    deprecated: z.string().optional().describe("why the package is deprecated"),
    matchCount: z.number().int().describe("number of matching versions"),
    matches: z.array(Match).describe("matching versions, highest first"),
  })
  .meta({ id: "SearchEntry", description: "A package with a matching version." });

const Result = z
  .object({
    items: z.array(Entry).describe("sorted by catalog, then package"),
    total: z.number().int().describe("total number of entries on all pages"),
    continue: z.string().optional().describe("token for the next page; absent on the last page"),
    missing: z.array(z.string()).optional().describe("catalogs that were not searched because their content is still loading"),
    incomplete: z.array(z.string()).optional().describe("catalogs that are too large for a complete search"),
  })
  .meta({ id: "SearchResult", description: "The result of a search." });

type Parameters = z.output<typeof Query>;

/** Registers the endpoint that searches all catalogs. */
export function registerSearchRoute(server: CatalogServer, { source, cache }: ContentRouteDependencies): void {
  const indexes = new SearchIndexes();
  server.route({
    method: ["GET", "HEAD"],
    url: "/api/v1/search",
    schema: { querystring: Query },
    config: {
      failures: "problem",
      operation: {
        id: "search",
        summary: "Packages with a matching version, in all catalogs",
        description:
          "One version of a package must match all parameters; without parameters, all packages match. Matching is case-insensitive, except for names of " +
          "packages, channels and catalogs.",
        responses: {
          200: { description: "The matching packages; empty if there are none.", content: { "application/json": Result } },
          304: { description: "The result has not changed." },
          404: { description: "The catalog does not exist." },
          410: { description: "A catalog has changed since the previous page: search again without `continue`." },
          412: { description: "The result does not match the precondition." },
        },
      },
    },
    handler: async (request, reply) => {
      const found = await search({ source, indexes }, request.query, createDisconnectSignal(reply.raw));
      await reply.respond(await respondWithDocument(createJsonDocument(found), request, cache));
    },
  });
}

/** The catalogs to search. */
interface Searched {
  source: ContentSource;
  indexes: SearchIndexes;
}

/** @throws ProblemError if the query is invalid, a catalog is unknown, or a catalog has changed since the previous page. */
async function search(searched: Searched, parameters: Parameters, signal: AbortSignal): Promise<z.input<typeof Result>> {
  const query = readSearchQuery(parameters);
  const unknown = parameters.catalog?.find((name) => !searched.source.catalogs().includes(name));
  if (unknown !== undefined) throw createCatalogNotFoundError(unknown);
  const { contents, missing } = selectContents(searched.source, parameters.catalog);
  const here = { query: queryId(parameters), content: contentId(contents) };
  const after = parameters.continue === undefined ? undefined : parsePosition(parameters.continue);
  if (parameters.continue !== undefined) checkPosition(after, here);
  // Holds all contents at once, because content without a holder may be closed at the next await.
  const catalogs = await Promise.all(contents.map(async ([name, content]) => ({ name, index: await searched.indexes.of(content) })));
  const { limit, matches } = parameters;
  const { items, total, more } = await searchCatalogs(catalogs, query, { after, limit, matches, signal });
  const last = items.at(-1);
  const incomplete = catalogs.flatMap(({ name, index }) => (index.incomplete ? [name] : []));
  return {
    items,
    total,
    continue: more && last ? formatContinueToken({ ...here, catalog: last.catalog, package: last.package }) : undefined,
    missing: missing.length > 0 ? missing : undefined,
    incomplete: incomplete.length > 0 ? incomplete : undefined,
  };
}

function readSearchQuery({ deprecated, ...parameters }: Parameters): SearchQuery {
  try {
    return parseSearchQuery({ ...parameters, deprecated: deprecated === undefined ? undefined : deprecated === "true" });
  } catch (err) {
    throw new ProblemError("InvalidQuery", getErrorMessage(err), { cause: err });
  }
}

function checkPosition(position: SearchPosition | undefined, here: { query: string; content: string }): void {
  if (!position) throw new ProblemError("InvalidQuery", "continue: invalid token");
  if (position.query !== here.query)
    throw new ProblemError("InvalidQuery", "continue: the token belongs to another query. Between pages, change only limit and matches");
  if (position.content !== here.content)
    throw new ProblemError("ContinueExpired", "a catalog has changed since the previous page. Search again without continue");
}

/** Returns the catalogs to search, in order of name. */
function selectContents(
  source: ContentSource,
  names: readonly string[] | undefined,
): { contents: [string, CatalogContent][]; missing: string[] } {
  const contents: [string, CatalogContent][] = [];
  const missing: string[] = [];
  for (const name of [...new Set(names ?? source.catalogs())].sort()) {
    const content = source.get(name);
    if (content) contents.push([name, content]);
    else missing.push(name);
  }
  return { contents, missing };
}

function queryId({ limit: _limit, matches: _matches, continue: _continue, ...query }: Parameters): string {
  return computeHash(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns an id of the searched contents, which is equal as long as searches return the same results. */
function contentId(contents: readonly [string, CatalogContent][]): string {
  return computeHash(contents.map(([name, content]) => [name, content.artifacts.get("search")?.index.tag]));
}

function computeHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);
}
