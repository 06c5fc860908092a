import { createHash } from "node:crypto";
import * as z from "zod";
import { messageOf } from "../../errors/errors.ts";
import {
  continueToken,
  positionIn,
  type SearchEntry,
  type SearchMatch,
  type SearchPosition,
  searchCatalogs,
} from "../search/searchCatalogs.ts";
import { SearchIndexes } from "../search/searchIndex.ts";
import { type SearchQuery, searchQuery } from "../search/searchQuery.ts";
import type { CatalogContent } from "../store/content.ts";
import { documentResponse, jsonDocument } from "./contentResponse.ts";
import { type ContentRouteDependencies, type ContentSource, catalogNotFound } from "./contentRoutes.ts";
import { namedVersionShape } from "./packagesRoutes.ts";
import { ProblemError } from "./problem.ts";
import { goneSignal } from "./request.ts";
import type { CatalogServer } from "./route.ts";

const word = z.string().min(1).max(256);
const all = (what: string): z.ZodOptional<z.ZodArray<z.ZodString>> =>
  z.array(word).max(8).optional().describe(`${what}; repeated, all have to hold`);
const any = (what: string): z.ZodOptional<z.ZodArray<z.ZodString>> =>
  z.array(word).max(64).optional().describe(`${what}; repeated, any may hold`);

const Query = z.strictObject({
  text: word
    .optional()
    .describe("words that all occur in the name, display name, short description, keywords or provider, or in what the package says"),
  package: any("name of the package"),
  gvk: all("API that the version provides: `group/version/kind`, `kind.group` or `kind`"),
  keyword: all("one of its keywords, whole"),
  channel: any("channel that the version is in"),
  arch: all("machine architecture that it supports, such as `arm64`"),
  os: all("operating system that it supports"),
  feature: all("infrastructure feature that it claims, such as `disconnected`"),
  capability: word.optional().describe("its capability level, such as `Full Lifecycle`"),
  deprecated: z
    .enum(["true", "false"])
    .optional()
    .describe("`true`: only versions that are deprecated, or whose package or all whose channels are"),
  catalog: any("name of the ClusterCatalog; without it, all"),
  matches: z.coerce.number().int().min(0).max(100).default(10).describe("how many of the matching versions are listed of each package"),
  limit: z.coerce.number().int().min(1).max(500).default(100).describe("most entries on a page"),
  continue: z.string().min(1).max(4_096).optional().describe("the `continue` of the page before, with otherwise the same query"),
});

const Match: z.ZodType<SearchMatch> = z
  .object({
    ...namedVersionShape,
    channels: z.array(z.string()).describe("channels that it is in"),
    deprecated: z.literal(true).optional().describe("true when it, its package or all of its channels are deprecated"),
  })
  .meta({ id: "SearchMatch", description: "A version that matches." });

const Entry: z.ZodType<SearchEntry> = z
  .object({
    catalog: z.string().describe("name of the ClusterCatalog"),
    package: z.string().describe("name of the package"),
    displayName: z.string().optional().describe("name for people, of the version that the package is presented by"),
    description: z.string().optional().describe("what it does, in a few lines"),
    provider: z.string().optional().describe("who makes it"),
    defaultChannel: z.string().optional().describe("channel that is meant for users without a preference"),
    defaultVersion: z.string().optional().describe("the default version to install, which resolution chooses where nothing limits it"),
    latestVersion: z.string().optional().describe("the latest version, deprecated or not"),
    deprecated: z.string().optional().describe("why the package is deprecated"),
    matchCount: z.number().int().describe("how many of its versions match"),
    matches: z.array(Match).describe("the highest of them, the highest first"),
  })
  .meta({ id: "SearchEntry", description: "A package of a catalog with at least one version that matches." });

const Result = z
  .object({
    items: z.array(Entry).describe("in order of catalog, then package"),
    total: z.number().int().describe("how many entries there are on all pages"),
    continue: z.string().optional().describe("ask with it for the next page; absent on the last one"),
    missing: z.array(z.string()).optional().describe("catalogs whose content is not loaded here yet, so that nothing of them is found"),
    incomplete: z.array(z.string()).optional().describe("catalogs that are too large to be searched whole"),
  })
  .meta({ id: "SearchResult", description: "What was found." });

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
        summary: "Packages of all catalogs with a version that matches",
        description:
          "Every version is looked at, in whatever channel it is, and one version has to match all of the query. Letters match whatever their case, except in names of " +
          "packages, channels and catalogs. Without a parameter everything matches. Pages follow each other as long as no catalog that is searched changes.",
        responses: {
          200: { description: "What was found; nothing is an empty list.", content: { "application/json": Result } },
          304: { description: "It is what the client knows." },
          404: { description: "There is no such catalog." },
          410: { description: "A catalog has changed since the page before: begin anew." },
          412: { description: "It is not what the client knows." },
        },
      },
    },
    handler: async (request, reply) => {
      const found = await search({ source, indexes }, request.query, goneSignal(reply.raw));
      await reply.respond(await documentResponse(jsonDocument(found), request, cache));
    },
  });
}

/** Where a search looks. */
interface Searched {
  source: ContentSource;
  indexes: SearchIndexes;
}

/** @throws ProblemError for a query that cannot be read, an unknown catalog, and a page that no longer exists. */
async function search(searched: Searched, parameters: Parameters, signal: AbortSignal): Promise<z.input<typeof Result>> {
  const query = queryOf(parameters);
  const unknown = parameters.catalog?.find((name) => !searched.source.catalogs().includes(name));
  if (unknown !== undefined) throw catalogNotFound(unknown);
  const { contents, missing } = selected(searched.source, parameters.catalog);
  const here = { query: queryId(parameters), content: contentId(contents) };
  const after = parameters.continue === undefined ? undefined : positionIn(parameters.continue);
  if (parameters.continue !== undefined) checkPosition(after, here);
  // All at once, since a content that nobody holds may be closed at the next await.
  const catalogs = await Promise.all(contents.map(async ([name, content]) => ({ name, index: await searched.indexes.of(content) })));
  const { limit, matches } = parameters;
  const { items, total, more } = await searchCatalogs(catalogs, query, { after, limit, matches, signal });
  const last = items.at(-1);
  const incomplete = catalogs.flatMap(({ name, index }) => (index.incomplete ? [name] : []));
  return {
    items,
    total,
    continue: more && last ? continueToken({ ...here, catalog: last.catalog, package: last.package }) : undefined,
    missing: missing.length > 0 ? missing : undefined,
    incomplete: incomplete.length > 0 ? incomplete : undefined,
  };
}

function queryOf({ deprecated, ...parameters }: Parameters): SearchQuery {
  try {
    return searchQuery({ ...parameters, deprecated: deprecated === undefined ? undefined : deprecated === "true" });
  } catch (err) {
    throw new ProblemError("InvalidQuery", messageOf(err), { cause: err });
  }
}

function checkPosition(position: SearchPosition | undefined, here: { query: string; content: string }): void {
  if (!position) throw new ProblemError("InvalidQuery", "continue: not a value that a search gave");
  if (position.query !== here.query)
    throw new ProblemError("InvalidQuery", "continue: it belongs to another query; keep all parameters but limit and matches");
  if (position.content !== here.content)
    throw new ProblemError("ContinueExpired", "a catalog has changed since the page before; search again without continue");
}

/** The catalogs to search, in order of name. */
function selected(
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
  return hashOf(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Equal as long as searches find the same. */
function contentId(contents: readonly [string, CatalogContent][]): string {
  return hashOf(contents.map(([name, content]) => [name, content.artifacts.get("search")?.index.tag]));
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);
}
